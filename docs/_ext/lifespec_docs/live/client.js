// The page's side of the worker that runs Python: `call(name, args, options)` is all a page needs.
// The worker starts at the first call, and is ended by a call that takes longer than its limit.

const START = 60_000; // milliseconds without news from a worker that starts

let current = null; // the worker, and its address
let calls = 0;
const waiting = new Map(); // calls that are not answered yet, by number

/** Whether this browser has what a run needs; a page from a file has no worker. */
export const available =
  typeof WebAssembly === "object" && typeof Worker === "function" && location.protocol !== "file:";

/** A call that took longer than its limit; `said` is what its program told until then. */
export class LimitPassed extends Error {
  constructor(limit, said) {
    super(`The program ran for more than ${limit / 1000} s.`);
    this.name = "LimitPassed";
    this.limit = limit;
    this.said = said;
  }
}

/** A file that could not be loaded. */
export class Unloaded extends Error {}

/**
 * Call a function of bridge.py and return a promise of what it returns.
 *
 * The limit, in milliseconds, counts from the moment the call begins to run: a download and the
 * import of packages have none.  `onProgress` is given {phase: "download", loaded, total},
 * {phase: "start"} and {phase: "run"}.
 */
export function call(name, args, {limit = 10_000, onProgress = () => {}} = {}) {
  const id = ++calls;
  return new Promise((resolve, reject) => {
    const pending = {resolve, reject, onProgress, limit, message: {id, call: name, args}, timer: 0, begun: false, said: []};
    waiting.set(id, pending);
    ask(pending);
  });
}

/** Start Python for a call that may follow and the packages that a text names, if an earlier page has loaded Python. */
export async function expect(text) {
  try {
    if (!(await caches.has("lifespec-live"))) return;
  } catch {
    return; // the page is not from a secure origin, or may keep nothing
  }
  current ??= started();
  current.worker.postMessage({expected: text});
}

function ask(pending) {
  current ??= started();
  watch(pending);
  current.worker.postMessage(pending.message);
}

// Until a call runs, the worker says how far it is.  Where a browser refuses WebAssembly it does not.
function watch(pending) {
  clearTimeout(pending.timer);
  pending.timer = setTimeout(() => end(pending, new Error("Python did not start.")), START);
}

// A worker has the policy of its own address, which a host without headers does not give.  One from
// a blob has that of the page: a program in it can ask no other host.
function started() {
  const source = `import ${JSON.stringify(new URL("worker.js", import.meta.url).href)};`;
  const address = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
  const made = {worker: new Worker(address, {type: "module"}), address};
  // an ended worker can still report an error
  made.worker.addEventListener("message", ({data}) => made === current && answered(data));
  made.worker.addEventListener("error", (event) => {
    if (made === current) end(null, new Error(event.message || "The worker ended."));
  });
  return made;
}

function answered({id, progress, said, result, error, unloaded}) {
  const pending = waiting.get(id);
  if (!pending) return;
  if (said !== undefined) {
    pending.said.push(said);
  } else if (progress) {
    if (progress.phase === "run") {
      clearTimeout(pending.timer);
      pending.begun = true;
      pending.timer = setTimeout(() => end(pending, new LimitPassed(pending.limit, pending.said)), pending.limit);
    } else {
      for (const each of waiting.values()) if (!each.begun) watch(each);
    }
    pending.onProgress(progress);
  } else {
    clearTimeout(pending.timer);
    waiting.delete(id);
    if (error === undefined) pending.resolve(result);
    else pending.reject(unloaded ? new Unloaded(error) : new Error(error));
    for (const each of waiting.values()) if (!each.begun) watch(each);
  }
}

// A program that does not end holds the worker: it ends with it, and calls that have not begun are
// asked of the next one.  Without a `culprit` the worker itself failed, and all end.
function end(culprit, reason) {
  current?.worker.terminate();
  if (current) URL.revokeObjectURL(current.address);
  current = null;
  const left = [...waiting.values()];
  for (const pending of left) clearTimeout(pending.timer);
  for (const pending of left) {
    if (culprit && !pending.begun && pending !== culprit) {
      ask(pending);
    } else {
      waiting.delete(pending.message.id);
      pending.reject(reason);
    }
  }
}
