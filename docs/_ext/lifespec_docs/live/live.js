// Gives the programs of a page that a browser can run their buttons, and draws what they print.
// All that comes from the worker is data, of which a program may have made anything: it is drawn as
// text, and nothing of it becomes HTML.

const START = 60_000; // milliseconds without news from a Python that starts
const LIMIT = 20_000; // milliseconds for a program with those above it
const MOST = 20_000; // characters that are drawn of an output, and of a traceback
const SHORT = 500; // milliseconds: a cache gives all that Python needs in less
const FRAGMENT = "#code=";
const LONGEST = 200_000; // characters of a link
const REASONS = ["absent", "exited", "input"]; // why a browser could not do what a program wanted
const words = JSON.parse(document.querySelector("script[data-words]").dataset.words);
const here = (name) => new URL(name, import.meta.url).href;
// A worker has the policy of its own address, which a host without headers does not give. One from
// a blob has that of the page: a program in it reaches no other host.
const address = URL.createObjectURL(
  new Blob([`import ${JSON.stringify(here("worker.js"))};`], {type: "text/javascript"}));
const programs = []; // of this page, in its order
let running = null; // the program that runs
let manifest = null; // the version of Python, and how many bytes are loaded
let parts = null; // a promise of what each worker needs: it is loaded once for a page
let progress = () => {};
let agreed = !navigator.connection?.saveData;
let worker = null; // that runs the next program
let reserve = null; // the one after it

// What is left out is said: who prints to see how far a program came would be misled.
const cut = (text) => (text.length > MOST ? `${text.slice(0, MOST)}\n${fill(words.cut, MOST)}\n` : text);
const fill = (text, ...values) => values.reduce((rest, value) => rest.replace("%s", () => value), text);
const megabytes = (bytes) => Math.round(bytes / 1e6);

/** A call of the worker: its parts are given to `take`; `end` ends it with its program, and says why. */
class Call {
  constructor(programs, take) {
    // What has been ended, or was never there, does not answer: only the token of this call counts.
    const token = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("");
    parts ??= load();
    this.answer = new Promise((resolve, reject) => {
      this.end = (sentence = words.unloaded) => {
        this.over = true;
        replaceWorker();
        reject(sentence);
      };
      const fail = (error) => this.end(error ? fill(words.failed, String(error)) : words.unloaded);
      const begin = (loaded) => {
        if (this.over) return;
        worker ??= newWorker(loaded);
        worker.onerror = (event) => fail(event.message);
        worker.onmessage = ({data}) => {
          if (data?.token !== token) return;
          if (data.begins) this.wait(LIMIT, fill(words.slow, LIMIT / 1000));
          if ("failed" in data) fail(data.failed);
          else if ("same" in data) resolve(data);
          else take(data);
        };
        this.wait(START);
        worker.postMessage({token, programs, most: MOST + 1}); // one more shows that there is more
      };
      parts.then(begin, () => {
        parts = null;
        this.end();
      });
    }).finally(() => clearTimeout(this.timer));
  }

  wait(limit, sentence) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.end(sentence), limit);
  }
}

// The next program gets a fresh worker; its Python starts before it is needed.
function replaceWorker() {
  worker?.terminate();
  worker = reserve;
  reserve = null;
  parts?.then(async (loaded) => {
    worker ??= newWorker(loaded);
    await worker.started;
    reserve ??= newWorker(loaded);
  }, () => {});
}

// It answers first when its Python has started.
function newWorker(loaded) {
  const made = new Worker(address, {type: "module"});
  made.started = new Promise((resolve) => made.addEventListener("message", resolve, {once: true}));
  made.addEventListener("error", () => { if (worker === made) worker = null; });
  made.postMessage({parts: loaded});
  return made;
}

async function load() {
  const began = performance.now();
  let bytes = 0;
  const transform = (part, onward) => {
    bytes += part.length;
    if (performance.now() - began > SHORT) progress(bytes);
    onward.enqueue(part);
  };
  const counted = async (name, how) => {
    const response = await fetch(here(name), how);
    if (!response.ok) throw new Error(response.url);
    return new Response(response.body.pipeThrough(new TransformStream({transform})), {headers: response.headers});
  };
  const runtime = `pyodide-${manifest.version}/`;
  const [python, library, sources] = await Promise.all([
    WebAssembly.compileStreaming(counted(`${runtime}pyodide.asm.wasm`)),
    counted(`${runtime}python_stdlib.zip`).then((response) => response.blob()),
    counted("sources.zip", {cache: "no-cache"}).then((response) => response.blob()),
  ]);
  return {...manifest, python, library, sources};
}

/** A program: its block and output on the page, its buttons, and what it printed here. */
class Program {
  constructor(block) {
    this.block = block;
    this.output = block.nextElementSibling?.matches(".output") ? block.nextElementSibling : null;
    this.source = block.querySelector("pre").textContent.trimEnd();
    this.runButton = button(words.run, () => this.press());
    this.editButton = button(words.edit, () => (this.editor ? this.reset() : this.edit()));
    this.status = element("span", {role: "status"});
    const title = block.closest("section").querySelector("h1, h2, h3").firstChild.textContent;
    this.bar = element("div", {className: "live-bar", role: "group", ariaLabel: title},
      this.runButton, this.editButton, this.status);
    this.result = element("pre", {className: "live-result", hidden: true, tabIndex: 0, role: "group", ariaLabel: words.output});
    (this.output ?? block).after(this.bar, this.result);
    // An edit stays through a reload, for as long as the tab is open and the page has this program.
    this.key = `${location.pathname} ${checksum(new TextEncoder().encode(this.source))}`;
    this.reopen();
  }

  reopen() {
    const edited = sessionStorage.getItem(this.key);
    if (edited !== null) this.edit(edited, false);
  }

  keep() {
    sessionStorage.setItem(this.key, this.editor.value.trimEnd());
  }

  press() {
    if (running === this) this.call?.end(words.stopped);
    else if (!running) this.run();
  }

  async run() {
    running = this;
    showRunning();
    this.text = "";
    this.draw("");
    this.output?.classList.remove("live-same");
    this.say(words.starting);
    try {
      if (await this.loads()) this.took(await this.ask());
    } catch (sentence) {
      this.draw(cut(this.text));
      this.say(String(sentence));
    } finally {
      running = this.call = null;
      showRunning();
    }
  }

  say(sentence) {
    this.status.textContent = sentence;
  }

  // If the browser saves data, the first press only shows the size of the download.
  async loads() {
    if (!manifest) {
      const response = await fetch(here("manifest.json"), {cache: "no-cache"}).catch(() => null);
      if (!response?.ok) throw words.unloaded;
      manifest = await response.json();
    }
    if (agreed) return true;
    agreed = true;
    this.say(fill(words.agree, megabytes(manifest.size)));
    return false;
  }

  ask() {
    const above = programs.slice(0, programs.indexOf(this) + 1);
    this.edited = above.some((each) => each.editor);
    progress = (bytes) => {
      if (running === this) this.say(fill(words.loading, megabytes(bytes), megabytes(manifest.size)));
    };
    const asked = above.map(({editor, output, source, block}) => ({
      source: editor?.value ?? source, output: (!editor && output?.querySelector("pre").textContent) || null,
      classes: [...block.classList],
    }));
    this.call = new Call(asked, ({begins, text}) => {
      if (begins) this.say(words.running);
      else this.text += String(text);
    });
    return this.call.answer;
  }

  took({same, error, above, why}) {
    const text = cut(this.text) + cut(String(error));
    if (this.edited || same !== true) replaceWorker();
    if (same === true && !this.edited) {
      this.output?.classList.add("live-same");
      this.say(this.output ? words.same : words.quiet);
      return;
    }
    this.draw(text);
    if (above) this.say(fill(words.above, String(above).slice(0, 200)));
    else if (REASONS.includes(why)) this.say(words[why]);
    else if (error) this.say(words.raised);
    else this.say(this.edited ? (text ? words.edited : words.silent) : words.different);
    if (text) this.result.scrollIntoView({block: "nearest"});
  }

  draw(text) {
    this.result.textContent = text;
    this.result.hidden = !text;
  }

  edit(source = this.source, focus = true) {
    this.editor = element("textarea", {
      className: "live-editor", value: `${source}\n`, spellcheck: false, autocapitalize: "off",
      rows: Math.min(source.split("\n").length + 1, 40), ariaLabel: words.program,
    });
    this.editor.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) this.press();
      else indent(this.editor);
    });
    this.editor.addEventListener("input", () => this.keep());
    this.block.after(this.editor);
    this.show(true);
    if (!focus) return;
    this.editor.setSelectionRange(0, 0);
    this.editor.focus({preventScroll: true});
  }

  reset() {
    sessionStorage.removeItem(this.key);
    this.editor.remove();
    this.editor = null;
    this.show(false);
  }

  // While a program is edited, the page shows neither the one that it was nor its output.
  show(edited) {
    for (const each of [this.block, this.output]) each?.classList.toggle("live-hidden", edited);
    this.editButton.textContent = edited ? words.reset : words.edit;
    this.say("");
    this.draw("");
  }
}

/** The program of the playground: it is edited from the start, and the address has it. */
class Shared extends Program {
  reopen() {} // from the address

  keep() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.save(), SHORT);
  }

  constructor(block) {
    super(block);
    this.editButton.before(button(words.share, () => this.share()));
    this.open();
    addEventListener("hashchange", () => location.hash.startsWith(FRAGMENT) && this.open());
  }

  // A program from a link does not run before the reader says so.
  open() {
    const source = unpacked(location.hash);
    this.editor?.remove();
    this.edit(source ?? this.source, false);
    if (source === null) this.say(words.damaged);
    this.editor.addEventListener("change", () => this.save()); // before a link is followed
  }

  // The address has the program, so that it is still here after a reload and in the other language.
  save() {
    clearTimeout(this.saving);
    const source = this.editor.value.trimEnd();
    const fragment = source === this.source ? "" : FRAGMENT + packed(source);
    this.long = fragment.length > LONGEST;
    if (!this.long) history.replaceState(null, "", location.pathname + location.search + fragment);
  }

  // It can be undone.
  reset() {
    this.show(true);
    this.editor.focus({preventScroll: true});
    this.editor.select();
    document.execCommand("insertText", false, `${this.source}\n`);
    this.editor.setSelectionRange(0, 0);
  }

  async share() {
    this.save();
    const copied = !this.long && await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    this.say(this.long ? words.long : copied ? words.shared : words.address);
  }
}

// While a program runs the others wait. A button that is disabled would lose the focus.
function showRunning() {
  for (const each of programs) {
    each.runButton.textContent = each === running ? words.stop : words.run;
    each.runButton.ariaDisabled = running && each !== running ? "true" : null;
  }
}

// A new line begins where the last one did, and further in after a colon.
function indent(editor) {
  const line = editor.value.slice(0, editor.selectionStart).split("\n").at(-1);
  const deeper = line.trimEnd().endsWith(":") ? "    " : "";
  document.execCommand("insertText", false, `\n${line.match(/^ */)[0]}${deeper}`); // can be undone
}

// A program in a link: a checksum of its bytes, and the bytes.
function packed(text) {
  const bytes = new TextEncoder().encode(text);
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `${checksum(bytes)}.${letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

const checksum = (bytes) => bytes.reduce((sum, byte) => (Math.imul(sum, 31) + byte) >>> 0, 0).toString(36);

// The program, undefined if there is none, or null if the link was cut; what follows a link in a
// sentence does no harm.
function unpacked(hash) {
  if (!hash.startsWith(FRAGMENT)) return undefined;
  const [, sum, letters] = hash.slice(0, LONGEST + 1).match(/^#code=([a-z\d]+)\.([\w-]+)/) ?? [];
  try {
    const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
    return checksum(bytes) === sum ? new TextDecoder("utf-8", {fatal: true}).decode(bytes) : null;
  } catch {
    return null;
  }
}

const button = (label, onclick) => element("button", {type: "button", onclick}, label);

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// A page from a file has no worker.
const blocks = location.protocol === "file:" ? [] : document.querySelectorAll(".runs-here");
for (const block of blocks) programs.push(new (block.matches(".playground") ? Shared : Program)(block));
