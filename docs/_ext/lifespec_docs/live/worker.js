// Runs Python for a page.  It is sent {id, call, args} and answers {id, result} or {id, error};
// before that {id, progress} says how far the download is, and when the call begins.

const here = (name) => new URL(name, import.meta.url).href;
const fetched = fetch;
let bridge = null; // a promise, so that calls which come while Python starts wait for it
let manifest = null;
let packages = false;
let python = null;
const progress = {loaded: 0, total: 0};
let listener = () => {};

self.addEventListener("message", async ({data: {id, call, args}}) => {
  const tell = (told) => postMessage({id, progress: told});
  try {
    listener = tell;
    bridge ??= started();
    const answer = await bridge;
    const request = JSON.stringify(args);
    if (!packages && manifest.modules.some((name) => request.includes(name))) await addPackages();
    tell({phase: "run"});
    postMessage({id, result: JSON.parse(answer(call, request))});
  } catch (error) {
    if (!python) bridge = null; // what could not be loaded is tried again at the next call
    postMessage({id, error: String(error?.message ?? error)});
  }
});

async function started() {
  const answer = await fetched(here("manifest.json"), {cache: "no-cache"});
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
  manifest = await answer.json();
  const folder = here(manifest.runtime);
  const kept = await cache();
  const needed = manifest.needed.map(({name, size}) => [here(name), size]);
  progress.loaded = 0;
  progress.total = needed.reduce((sum, [, size]) => sum + size, 0);
  listener({phase: "download", ...progress});
  const files = new Map(needed.map(([address, size]) => [address, load(address, kept, size)]));
  // Pyodide fetches what it needs by its addresses: it is given what is kept, or on its way.
  self.fetch = async (address, ...rest) =>
    (await files.get(String(address?.url ?? address)))?.clone() ?? fetched(address, ...rest);
  const {loadPyodide} = await import(`${folder}pyodide.mjs`);
  const settings = {
    indexURL: folder,
    lockFileContents: JSON.stringify(manifest.lock),
    env: manifest.environment,
  };
  const sources = await (await files.get(here(manifest.sources))).arrayBuffer();
  const made = (await resumed(loadPyodide, settings, sources, kept))
    ?? (await begun(loadPyodide, settings, sources, kept));
  self.fetch = fetched;
  python = made;
  forget(kept);
  return made.pyimport("lifespec_docs.live.bridge").call;
}

// Python as an earlier page left it in the cache: its memory, when our modules had been imported.
async function resumed(loadPyodide, settings, sources, kept) {
  const memory = await kept?.match(snapshot());
  if (!memory) return null;
  try {
    const made = await loadPyodide({...settings, _loadSnapshot: await memory.arrayBuffer()});
    listener({phase: "start"});
    unpack(made, sources);
    return made;
  } catch (error) {
    console.warn(error);
    await kept.delete(snapshot());
    return null;
  }
}

async function begun(loadPyodide, settings, sources, kept) {
  const made = await loadPyodide({...settings, _makeSnapshot: Boolean(kept)});
  listener({phase: "start"});
  unpack(made, sources);
  made.runPython(`
    import sys
    sys.path.insert(0, "${manifest.path}")
    from lifespec_docs.live import bridge
    bridge.warm()
    del bridge
  `);
  if (kept) keep(kept, snapshot(), new Response(made.makeMemorySnapshot()));
  return made;
}

function snapshot() {
  return here(`${manifest.runtime}${manifest.sources}.memory`);
}

async function addPackages() {
  const answer = await load(here(manifest.packages), await cache());
  unpack(python, await answer.arrayBuffer());
  packages = true;
}

function unpack(made, zip) {
  made.unpackArchive(zip, "zip", {extractDir: manifest.path});
}

// Without a cache, say in a page that is not from a secure origin, the browser's own has to do.
async function cache() {
  try {
    return await caches.open("lifespec-live");
  } catch {
    return null;
  }
}

async function load(address, kept, size = 0) {
  const found = await kept?.match(address);
  if (found) {
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

// A page runs although there is no room to keep its files.
function keep(kept, address, response) {
  kept.put(address, response).catch(() => {});
}

// The files of an earlier site are not needed any more.
async function forget(kept) {
  const names = [...manifest.needed.map(({name}) => name), manifest.packages];
  const known = new Set([...names.map(here), snapshot()]);
  for (const {url} of (await kept?.keys()) ?? []) if (!known.has(url)) kept.delete(url);
}
