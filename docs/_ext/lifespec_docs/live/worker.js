// Runs Python for a page. It receives {token, manifest, programs} and answers with messages that
// have the same token: {loaded} while it downloads, {begins}, {text} as the last program prints,
// and {same, error, above} at the end, or {failed}. Without programs it only starts Python.

const send = postMessage.bind(self);
const download = fetch.bind(self);
const {parse, stringify} = JSON;
const MOST = 20_000; // characters of output that are passed on
const here = (name) => new URL(name, import.meta.url).href;
// A program may come from a stranger's link: of what a worker has it keeps the language and what
// Python needs. It cannot answer in our place, leave, load, store, or reach another host.
const KEPT = new Set(`
  globalThis self Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean
  String Symbol Date Promise RegExp Error AggregateError EvalError RangeError ReferenceError
  SyntaxError TypeError URIError SuppressedError JSON Math Intl Iterator ArrayBuffer
  SharedArrayBuffer Atomics DataView Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array
  Int32Array Uint32Array Float16Array Float32Array Float64Array BigInt BigInt64Array BigUint64Array
  Map Set WeakMap WeakSet WeakRef FinalizationRegistry Proxy Reflect eval isFinite isNaN
  decodeURI decodeURIComponent encodeURI encodeURIComponent WebAssembly console performance crypto
  setTimeout clearTimeout TextDecoder TextEncoder`.trim().split(/\s+/));
const owners = []; // the global object, and what it inherits from
for (let each = self; each !== Object.prototype; each = Object.getPrototypeOf(each)) owners.push(each);
const doors = owners.flatMap(Reflect.ownKeys).filter((name) => !KEPT.has(name));

let python = null; // a promise of the function that runs programs
let progress = () => {};

addEventListener("message", async ({data: {token, manifest, programs}}) => {
  const reply = (part) => send({token, ...part});
  progress = (loaded) => reply({loaded});
  try {
    python ??= started(manifest);
    const {run} = await python;
    if (!programs) return;
    let room = MOST;
    reply({begins: true});
    const answer = run(stringify(programs), (text) => {
      if (room > 0) reply({text: text.slice(0, room)});
      room -= text.length;
    });
    reply(parse(answer));
  } catch (error) {
    reply({failed: `${error?.message ?? error}`});
  }
});

async function started({version, info}) {
  const runtime = here(`pyodide-${version}/`);
  let loaded = 0;
  // Python fetches its parts by itself: what has come is counted on the way
  self.fetch = async (...request) => {
    const response = await download(...request);
    if (!response.ok) throw new Error(`${response.url}: ${response.status}`);
    const counted = new TransformStream({
      transform(part, onward) {
        loaded += part.length;
        progress(loaded);
        onward.enqueue(part);
      },
    });
    return new Response(response.body.pipeThrough(counted), {headers: response.headers});
  };
  const archive = self.fetch(here("sources.zip"), {cache: "no-cache"}).then((response) => response.arrayBuffer());
  const {loadPyodide} = await import(`${runtime}pyodide.mjs`);
  const made = await loadPyodide({
    indexURL: runtime,
    lockFileContents: stringify({info, packages: {}}),
    env: {HOME: "/", COLUMNS: "80", PYTHONUTF8: "1"},
    stdin: () => null,
  });
  made.unpackArchive(await archive, "zip", {extractDir: "/site"});
  made.runPython("import sys; sys.path.insert(0, '/site')");
  const browser = made.pyimport("lifespec_pages.browser");
  for (const owner of owners) for (const name of doors) Reflect.deleteProperty(owner, name);
  return {run: browser.run};
}
