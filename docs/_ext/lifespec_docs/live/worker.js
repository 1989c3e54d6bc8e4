// Runs Python for a page. It first receives {parts}, starts Python and answers. Then it receives
// {token, programs, most} and answers with messages that have the same token: {begins}, {text} as the
// last program prints, so many characters at most, and {same, error, above, why} at the end, or
// {failed}.

const send = postMessage.bind(self);
const {parse, stringify} = JSON;
const here = (name) => new URL(name, import.meta.url).href;
// A program may come from a stranger's link: of what a worker has it keeps the language and what
// Python needs. It cannot answer in our place, leave, load, store, or reach another host.
const KEPT = new Set(`
  globalThis self Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date
  Promise RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError
  SuppressedError JSON Math Intl Iterator ArrayBuffer SharedArrayBuffer Atomics DataView Int8Array Uint8Array
  Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float16Array Float32Array Float64Array BigInt
  BigInt64Array BigUint64Array Map Set WeakMap WeakSet WeakRef FinalizationRegistry Proxy Reflect eval isFinite isNaN
  decodeURI decodeURIComponent encodeURI encodeURIComponent WebAssembly console performance crypto setTimeout
  clearTimeout TextDecoder TextEncoder`.trim().split(/\s+/));
const owners = []; // the global object, and what it inherits from
for (let each = self; each !== Object.prototype; each = Object.getPrototypeOf(each)) owners.push(each);
const doors = owners.flatMap(Reflect.ownKeys).filter((name) => !KEPT.has(name));

let python = null; // a promise of the function that runs programs

addEventListener("message", async ({data: {token, parts, programs, most}}) => {
  const reply = (part) => send({token, ...part});
  try {
    python ??= started(parts);
    const {run} = await python;
    let room = most;
    reply({begins: true});
    if (!programs) return;
    const answer = run(stringify(programs), (text) => {
      if (text === "" || !(room > 0)) return; // a message without text costs the page time, too
      reply({text: text.slice(0, room)});
      room -= Math.max(1, text.length);
    });
    reply(parse(answer));
  } catch (error) {
    reply({failed: `${error?.message ?? error}`});
  }
});

async function started({version, info, python, library, sources}) {
  const runtime = here(`pyodide-${version}/`);
  // Python asks for its library and for WebAssembly, which the page has loaded.
  self.fetch = async () => new Response(library);
  WebAssembly.instantiateStreaming = async (_response, imports) => (
    {module: python, instance: await WebAssembly.instantiate(python, imports)});
  const {loadPyodide} = await import(`${runtime}pyodide.mjs`);
  const made = await loadPyodide({
    indexURL: runtime,
    lockFileContents: stringify({info, packages: {}}),
    env: {HOME: "/", COLUMNS: "80", PYTHONUTF8: "1"},
    stdin: () => null,
  });
  made.unpackArchive(await sources.arrayBuffer(), "zip", {extractDir: "/site"});
  made.runPython("import sys; sys.path.insert(0, '/site')");
  const browser = made.pyimport("lifespec_pages.browser");
  for (const owner of owners) for (const name of doors) Reflect.deleteProperty(owner, name);
  return {run: browser.run};
}
