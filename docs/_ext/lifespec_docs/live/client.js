// The page's side of the worker that runs Python: `call(name, args, options)` is all a page needs.
// The worker starts at the first call, and is ended by a call that takes longer than its limit.

let worker = null;
let calls = 0;
const waiting = new Map(); // calls that are not answered yet, by number

/** Whether this browser has what a run needs; a page from a file has no worker. */
export const available =
  typeof WebAssembly === "object" && typeof Worker === "function" && location.protocol !== "file:";

/** A call that took longer than its limit. */
export class LimitPassed extends Error {
  constructor(limit) {
    super(`The program ran for more than ${limit / 1000} s.`);
    this.name = "LimitPassed";
    this.limit = limit;
  }
}

/**
 * Call a function of bridge.py and return a promise of what it returns.
 *
 * The limit, in milliseconds, counts from the moment the call begins to run: a download has none.
 * `onProgress` is given {phase: "download", loaded, total}, {phase: "start"} and {phase: "run"}.
 */
export function call(name, args, {limit = 10_000, onProgress = () => {}} = {}) {
  worker ??= started();
  const id = ++calls;
  return new Promise((resolve, reject) => {
    waiting.set(id, {resolve, reject, onProgress, limit, timer: 0});
    worker.postMessage({id, call: name, args});
  });
}

function started() {
  const made = new Worker(new URL("worker.js", import.meta.url), {type: "module"});
  made.addEventListener("message", ({data}) => answered(data));
  made.addEventListener("error", (event) => end(new Error(event.message || "The worker ended.")));
  return made;
}

function answered({id, progress, result, error}) {
  const pending = waiting.get(id);
  if (!pending) return;
  if (progress) {
    if (progress.phase === "run") {
      pending.timer = setTimeout(() => end(new LimitPassed(pending.limit)), pending.limit);
    }
    pending.onProgress(progress);
    return;
  }
  clearTimeout(pending.timer);
  waiting.delete(id);
  if (error === undefined) pending.resolve(result);
  else pending.reject(new Error(error));
}

// A program that does not end holds the worker: all that wait for it end with it.
function end(reason) {
  worker?.terminate();
  worker = null;
  for (const {reject, timer} of waiting.values()) {
    clearTimeout(timer);
    reject(reason);
  }
  waiting.clear();
}
