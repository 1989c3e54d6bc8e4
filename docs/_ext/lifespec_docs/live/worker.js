// Runs Python for a page.  It is sent {id, call, args} and answers {id, result} or {id, error};
// before that {id, progress} says how far the download is, and when the call begins, and {id, said}
// what the program has told so far.  {expected} names what the next call will need.

const here = (name) => new URL(name, import.meta.url).href;
const fetched = fetch.bind(self);
const opened = "caches" in self ? caches.open.bind(caches) : null; // only in a secure context
const {subtle} = crypto;
let bridge = null; // a promise, so that calls which come while Python starts wait for it
let manifest = null;
const added = new Map(); // promises of the packages, by the name of their file
let python = null;
const progress = {loaded: 0, total: 0};
let listener = () => {};

self.addEventListener("message", ({data}) => ("expected" in data ? expect(data.expected) : answer(data)));

async function answer({id, call, args}) {
  const tell = (told) => postMessage({id, progress: told});
  try {
    listener = tell;
    const request = JSON.stringify(args);
    const ready = await prepared(request);
    tell({phase: "run"});
    const said = (text) => postMessage({id, said: text});
    postMessage({id, result: JSON.parse(ready.call(call, request, said))});
  } catch (error) {
    const unloaded = error instanceof TypeError && !python; // as `fetch` fails
    postMessage({id, unloaded, error: String(error?.message ?? error)});
  }
}

// What fails here is told by the call.
async function expect(text) {
  try {
    await prepared(text);
  } catch (error) {
    console.warn(error);
  }
}

// Start Python if it has not been, and import the packages that a text names.
async function prepared(text) {
  bridge ??= startedAtLast();
  try {
    const found = await bridge;
    const used = manifest.packages.flatMap(({modules}) => modules).filter((name) => text.includes(name));
    await addPackages(used);
    found.prepare(JSON.stringify(used));
    return found;
  } catch (error) {
    if (!python) bridge = null; // what could not be loaded is tried again at the next call
    throw error;
  }
}

// What is kept may be spoiled: what does not start is loaded anew, once.
async function startedAtLast() {
  const kept = await cache();
  try {
    return await started(kept);
  } catch (error) {
    if (!kept || !(await kept.keys()).length) throw error;
    console.warn(error);
    await Promise.all((await kept.keys()).map((request) => kept.delete(request)));
    return started(kept);
  }
}

async function started(kept) {
  const answer = await fetched(here("manifest.json"), {cache: "no-cache"});
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
  manifest = await answer.json();
  const folder = here(manifest.runtime);
  progress.loaded = 0;
  progress.total = manifest.needed.reduce((sum, {size}) => sum + size, 0);
  listener({phase: "download", ...progress});
  const files = new Map(manifest.needed.map((file) => [here(file.name), load(file, kept)]));
  // Pyodide fetches what it needs by its addresses: it is given what is kept, or on its way.
  self.fetch = async (address, ...rest) =>
    (await files.get(String(address?.url ?? address)))?.clone() ?? fetched(address, ...rest);
  const {loadPyodide} = await import(`${folder}pyodide.mjs`);
  const settings = {
    indexURL: folder,
    lockFileContents: JSON.stringify(manifest.lock),
    env: manifest.environment,
  };
  const resuming = await resumed(loadPyodide, settings, files);
  const made = resuming ?? (await loadPyodide(settings));
  listener({phase: "start"});
  unpack(made, await (await files.get(here(manifest.sources))).arrayBuffer());
  if (!resuming) made.runPython(manifest.begin);
  python = made;
  forget(kept);
  close();
  return made.pyimport("lifespec_docs.live.bridge");
}

// A program may come from a stranger's link.  It reaches no host and nothing that is kept: a file
// that it changed would be run by every page.
function close() {
  const doors = ["caches", "indexedDB", "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "WebTransport",
    "Worker", "SharedWorker", "BroadcastChannel", "importScripts", "cookieStore", "webkitRequestFileSystem"];
  for (let owner = self; owner; owner = Object.getPrototypeOf(owner)) {
    for (const door of doors) Reflect.deleteProperty(owner, door);
  }
  Reflect.deleteProperty(WorkerNavigator.prototype, "storage");
}

// Python as the build of the site left it: its memory, when our modules had been imported.
async function resumed(loadPyodide, settings, files) {
  if (!manifest.memory) return null;
  try {
    const packed = await files.get(here(manifest.memory));
    const memory = new Response(packed.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    return await loadPyodide({...settings, _loadSnapshot: memory});
  } catch (error) {
    console.warn(error);
    return null;
  }
}

async function addPackages(used) {
  for (const file of manifest.packages) {
    if (!file.modules.some((name) => used.includes(name))) continue;
    if (!added.has(file.name)) added.set(file.name, addPackage(file));
    try {
      await added.get(file.name);
    } catch (error) {
      added.delete(file.name);
      throw error;
    }
  }
}

async function addPackage(file) {
  const answer = await load(file, await cache());
  unpack(python, await answer.arrayBuffer(), "/site-packages"); // what is not the author's own
  python.pyimport("importlib").invalidate_caches();
}

function unpack(made, zip, folder = "") {
  made.unpackArchive(zip, "zip", {extractDir: `${manifest.path}${folder}`});
}

// Without a cache, say in a page that is not from a secure origin, the browser's own has to do.
async function cache() {
  try {
    return await opened("lifespec-live");
  } catch {
    return null;
  }
}

async function load({name, size, sha256}, kept) {
  const address = here(name);
  const found = await kept?.match(address);
  if (found && (await digest(found.clone())) === sha256) {
    progress.loaded += size;
    return found;
  }
  const answer = await fetched(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  const counted = new TransformStream({
    transform(part, onward) {
      progress.loaded += part.length;
      listener({phase: "download", ...progress});
      onward.enqueue(part);
    },
  });
  const type = address.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  const response = new Response(answer.body.pipeThrough(counted), {headers: {"Content-Type": type}});
  if (kept) keep(kept, address, response.clone());
  return response;
}

async function digest(response) {
  const bytes = new Uint8Array(await subtle.digest("SHA-256", await response.arrayBuffer()));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// A page runs although there is no room to keep its files.
function keep(kept, address, response) {
  kept.put(address, response).catch(() => {});
}

// The files of an earlier site are not needed any more.
async function forget(kept) {
  const files = [...manifest.needed, ...manifest.packages];
  const known = new Set(files.map(({name}) => here(name)));
  for (const {url} of (await kept?.keys()) ?? []) if (!known.has(url)) kept.delete(url);
}
