// Gives the programs of a page that a browser can run their buttons, and draws what they print.
// All that comes from the worker is data, of which a program may have made anything: it is drawn as
// text, and nothing of it becomes HTML.

const START = 60_000; // milliseconds without news from a Python that starts
const LIMIT = 20_000; // milliseconds for a program with those above it
const MOST = 30_000; // characters that are drawn
const FRAGMENT = "#code=";
const words = JSON.parse(document.querySelector("script[data-words]").dataset.words);
const here = (name) => new URL(name, import.meta.url).href;
// A worker has the policy of its own address, which a host without headers does not give. One from
// a blob has that of the page: a program in it reaches no other host.
const address = URL.createObjectURL(
  new Blob([`import ${JSON.stringify(here("worker.js"))};`], {type: "text/javascript"}));
const programs = []; // of this page, in its order
let running = null; // the program that runs
let manifest = null; // what is loaded, and how many bytes that is
let agreed = !navigator.connection?.saveData;
let worker = null;

const fill = (text, ...values) => values.reduce((rest, value) => rest.replace("%s", () => value), text);
const megabytes = (bytes) => Math.round(bytes / 1e6);

class Ended extends Error {} // by the reader, or by the limit

/** A call of the worker: its parts are given to `take`; `end` ends it with its program. */
class Call {
  constructor(request, take) {
    // What has been ended, or was never there, does not answer: only the token of this call counts.
    const token = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("");
    worker ??= newWorker();
    this.answer = new Promise((resolve, reject) => {
      this.end = (error) => {
        replaceWorker();
        reject(error);
      };
      worker.onerror = (event) => this.end(new Error(String(event.message || "")));
      worker.onmessage = ({data}) => {
        if (data?.token !== token) return;
        this.wait(data.begins || this.begun ? LIMIT : START, data.begins);
        if ("failed" in data) this.end(new Error(String(data.failed)));
        else if ("same" in data) resolve(data);
        else take(data);
      };
    }).finally(() => clearTimeout(this.timer));
    this.wait(START);
    worker.postMessage({token, manifest, ...request});
  }

  // The limit counts from the moment when the programs begin.
  wait(limit, begins = false) {
    if (this.begun) return;
    this.begun = begins;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.end(begins ? new Ended(fill(words.slow, limit / 1000)) : new Error("")), limit);
  }
}

// The next program gets a fresh worker; its Python starts before it is needed.
function replaceWorker() {
  worker?.terminate();
  worker = newWorker();
  worker.postMessage({manifest});
}

const newWorker = () => new Worker(address, {type: "module"});

/** A program: its block and output on the page, its buttons, and what it printed here. */
class Program {
  constructor(block) {
    this.block = block;
    this.output = block.nextElementSibling?.matches(".output") ? block.nextElementSibling : null;
    this.source = block.querySelector("pre").textContent.trimEnd();
    this.runButton = button(words.run, () => this.press());
    this.editButton = button(words.edit, () => (this.editor ? this.reset() : this.edit()));
    this.status = element("span", {role: "status"});
    this.bar = element("div", {className: "live-bar", role: "group", ariaLabel: titleOf(block)},
      this.runButton, this.editButton, this.status);
    this.result = element("pre", {className: "live-result", hidden: true, tabIndex: 0, role: "group", ariaLabel: words.output});
    (this.output ?? block).after(this.bar, this.result);
  }

  press() {
    if (running === this) this.call?.end(new Ended(words.stopped));
    else if (!running) this.run();
  }

  async run() {
    running = this;
    showRunning();
    this.text = "";
    this.draw("");
    this.output?.classList.remove("live-same");
    this.status.textContent = words.running;
    try {
      if (await this.loads()) this.took(await this.ask());
    } catch (error) {
      this.draw(this.text);
      const sentence = error.message ? fill(words.failed, error.message) : words.unloaded;
      this.status.textContent = error instanceof Ended ? error.message : sentence;
    } finally {
      running = this.call = null;
      showRunning();
    }
  }

  // If the browser saves data, the first press only shows the size of the download.
  async loads() {
    if (!manifest) {
      const response = await fetch(here("manifest.json"), {cache: "no-cache"}).catch(() => null);
      if (!response?.ok) throw new Error("");
      manifest = await response.json();
    }
    if (agreed) return true;
    agreed = true;
    this.status.textContent = fill(words.agree, megabytes(manifest.size));
    return false;
  }

  ask() {
    const above = programs.slice(0, programs.indexOf(this) + 1);
    const request = {programs: above.map((each) => each.request())};
    this.edited = above.some((each) => each.editor);
    this.call = new Call(request, ({loaded, begins, text}) => {
      if (text !== undefined) this.text = `${this.text}${text}`.slice(0, MOST);
      else if (begins) this.status.textContent = words.running;
      else this.status.textContent = fill(words.loading, megabytes(loaded), megabytes(manifest.size));
    });
    return this.call.answer;
  }

  request() {
    const {editor, output, block} = this;
    const shown = editor ? null : output?.querySelector("pre").textContent ?? null;
    return {source: editor?.value ?? this.source, output: shown, classes: [...block.classList]};
  }

  took({same, error, above}) {
    const text = this.text + String(error);
    if (this.edited || same !== true) replaceWorker();
    if (same === true && !this.edited) {
      this.output?.classList.add("live-same");
      this.status.textContent = this.output ? words.same : words.silent;
      return;
    }
    this.draw(text);
    if (above) this.status.textContent = fill(words.above, String(above).slice(0, 200));
    else if (error) this.status.textContent = words.raised;
    else this.status.textContent = this.edited ? (text ? words.edited : words.silent) : words.different;
  }

  draw(text) {
    this.result.textContent = text.slice(0, MOST);
    this.result.hidden = !text;
  }

  edit(source = this.source) {
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
    this.block.after(this.editor);
    this.show(true);
    this.editor.setSelectionRange(0, 0);
    this.editor.focus({preventScroll: true});
  }

  reset() {
    this.editor.remove();
    this.editor = null;
    this.show(false);
  }

  // While a program is edited, the page shows neither the one that it was nor its output.
  show(edited) {
    for (const each of [this.block, this.output]) each?.classList.toggle("live-hidden", edited);
    this.editButton.textContent = edited ? words.reset : words.edit;
    this.status.textContent = "";
    this.draw("");
  }
}

/** The program of the playground: it is edited from the start, and the address can have it. */
class Shared extends Program {
  constructor(block) {
    super(block);
    this.editButton.after(button(words.share, () => this.share()));
    this.open();
    addEventListener("hashchange", () => this.open());
  }

  // A program from a link does not run before the reader says so.
  open() {
    const source = unpacked(location.hash);
    if (this.editor) this.editor.remove();
    this.edit(source ?? this.source);
    this.editor.blur();
  }

  reset() {
    history.replaceState(null, "", location.pathname);
    this.open();
  }

  async share() {
    history.replaceState(null, "", FRAGMENT + packed(this.editor.value.trimEnd()));
    try {
      await navigator.clipboard.writeText(location.href);
      this.status.textContent = words.shared;
    } catch {
      this.status.textContent = words.address;
    }
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

function packed(text) {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function unpacked(hash) {
  if (!hash.startsWith(FRAGMENT)) return null;
  try {
    const bytes = atob(hash.slice(FRAGMENT.length).replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder("utf-8", {fatal: true}).decode(Uint8Array.from(bytes, (each) => each.charCodeAt(0)));
  } catch {
    return null; // the link was cut
  }
}

// The title of the section: the programs of a page have the same buttons.
function titleOf(block) {
  return block.closest("section").querySelector("h1, h2, h3").firstChild.textContent;
}

function button(label, press) {
  const made = element("button", {type: "button"}, label);
  made.addEventListener("click", press);
  return made;
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// A page from a file has no worker.
if (location.protocol !== "file:") {
  for (const block of document.querySelectorAll(".runs-here")) {
    programs.push(new (block.matches(".playground") ? Shared : Program)(block));
  }
}
