// Gives each example of a page that can run in a browser its buttons.  What the page says of them
// stands in the attribute `data-live` of the script's element.

import {packed} from "./address.js";
import {available, call, expect, LimitPassed, Unloaded} from "./client.js";
import {button, element, fill, Status} from "./controls.js";

const LIMIT = 10_000; // milliseconds
const page = JSON.parse(document.querySelector("script[data-live]").dataset.live);
const {words} = page;
const examples = []; // those with buttons, in page order
let data = null; // the page's programs, fetched at the first run

/** One example: the block of its program, what the page shows below it, and its buttons. */
class Example {
  constructor(block, number) {
    this.block = block;
    this.number = number;
    this.below = shownBelow(block);
    this.editor = null;
    this.running = false;
    this.status = new Status(words, "live-status");
    this.runButton = button(words.run, "", () => this.run());
    this.runButton.title = fill(words.about, page.size);
    for (const event of ["pointerenter", "focus"]) this.runButton.addEventListener(event, () => this.expect(), {once: true});
    this.editButton = button(words.edit, "", () => this.edit());
    this.resetButton = button(words.reset, "", () => this.reset());
    this.resetButton.hidden = true;
    const attributes = {role: "group", "aria-label": titleOf(block)};
    const buttons = element("div", {className: "live-bar", attributes},
      this.runButton, this.editButton, this.resetButton, ...this.opener(), this.status.bar, this.status.line);
    this.result = element("div", {className: "live-result"});
    // The foot of the box: above the event log, which unfolds below it.
    (this.below.at(-1) ?? block).after(this.result);
    (this.below.find((each) => each.matches(".output")) ?? block).after(buttons);
  }

  // Who points at the button is likely to press it.
  expect() {
    const before = examples.filter(({number}) => number <= this.number);
    expect(before.map(({block, editor}) => editor?.value ?? block.textContent).join("\n"));
  }

  async run() {
    if (this.running) return;
    this.busy(true);
    this.status.say(words.running);
    try {
      data ??= await programs();
      this.took(await this.asked());
    } catch (error) {
      this.failed(error);
    } finally {
      this.status.bar.hidden = true;
      this.busy(false);
    }
  }

  // Where the program can stand alone, with those above it that it needs.
  opener() {
    const numbers = page.programs[this.number];
    return numbers ? [button(words.open, "", () => this.open(numbers))] : [];
  }

  async open(numbers) {
    try {
      data ??= await programs();
    } catch (error) {
      this.failed(error);
      return;
    }
    const parts = examples.filter(({number}) => numbers.includes(number));
    const program = parts.map((each) => each.source.trim()).join("\n\n\n");
    location.href = `${page.playground}#code=${await packed({program: `${program}\n`})}`;
  }

  // A button that is disabled would lose the focus.
  busy(running) {
    this.running = running;
    this.runButton.setAttribute("aria-disabled", running);
  }

  // The examples before this one run first, each as it stands on the page now.
  asked() {
    const before = examples.filter(({number}) => number <= this.number);
    const changed = before.flatMap((each, place) => (each.changed ? [[place, each.source]] : []));
    const request = {
      blocks: before.map(({number}) => data.blocks[number]),
      edited: Object.fromEntries(changed),
      words: data.words,
    };
    return call("run_blocks", request, {limit: LIMIT, onProgress: (told) => this.status.progress(told)});
  }

  /** The program as it stands on the page now. */
  get source() {
    return this.editor?.value ?? data.blocks[this.number].source;
  }

  /** Whether the reader has made another program of it. */
  get changed() {
    return this.source !== data.blocks[this.number].source;
  }

  took({output, errors, same, before, log}) {
    const spoken = new DOMParser().parseFromString(log, "text/html").body.childNodes;
    const defines = same && examples.at(-1) !== this;
    const parts = [printed(output || (errors ? "" : defines ? words.defines : words.silent), words.output)];
    if (errors) parts.push(printed(errors, words.errors, "live-errors"));
    if (before) parts.unshift(this.pointer(before));
    this.result.replaceChildren(...parts.filter(({textContent}) => textContent), ...spoken);
    this.status.say(same === null ? words.edited : same ? words.same : words.different);
  }

  // A program that depends on one that failed is not to blame.
  pointer([place, raised]) {
    const first = examples.filter(({number}) => number <= this.number)[place];
    const link = button(`${fill(words.before, raised)} ${first.title}`, "", () => first.block.scrollIntoView({block: "center"}));
    return element("p", {className: "live-obstacle live-bar"}, link);
  }

  /** The first line of its program, by which a reader knows it. */
  get title() {
    return (this.editor?.value ?? this.block.textContent).trim().split("\n")[0].slice(0, 60);
  }

  failed(error) {
    this.result.replaceChildren();
    if (error instanceof LimitPassed) {
      const link = element("a", {href: page.blocking, textContent: words.advice});
      const parts = [element("p", {className: "live-obstacle"}, words.blocked, " ", link)];
      if (error.said.length) parts.unshift(printed(error.said.join(""), words.output));
      this.result.replaceChildren(...parts);
      this.status.say(fill(words.limit, error.limit / 1000));
    } else {
      this.status.say(error instanceof Unloaded ? words.unloaded : fill(words.failed, error.message));
    }
  }

  async edit() {
    try {
      data ??= await programs();
    } catch (error) {
      this.failed(error);
      return;
    }
    const text = data.blocks[this.number].source;
    this.editor = element("textarea", {
      className: "live-editor", value: text, spellcheck: false, rows: text.split("\n").length + 1,
      attributes: {"aria-label": words.program, autocapitalize: "off"},
    });
    this.editor.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.run();
    });
    this.block.after(this.editor);
    this.hide(true);
    this.editor.setSelectionRange(0, 0);
    this.editor.focus();
  }

  reset() {
    this.editor.remove();
    this.editor = null;
    this.result.replaceChildren();
    this.status.say("");
    this.hide(false);
    this.runButton.focus();
  }

  // While the program is edited, what the page shows is not of it.
  hide(hidden) {
    for (const each of [this.block, ...this.below]) each.classList.toggle("live-hidden", hidden);
    this.editButton.hidden = hidden;
    this.resetButton.hidden = !hidden;
  }
}

// The page's output of an example and its event log, if it has them.
function shownBelow(block) {
  const found = [];
  let next = block.nextElementSibling;
  for (const shown of [".output", ":has(> details.said)"]) {
    if (next?.matches(shown)) {
      found.push(next);
      next = next.nextElementSibling;
    }
  }
  return found;
}

function printed(text, label, className = "") {
  const attributes = {role: "group", "aria-label": label};
  return element("pre", {textContent: text, tabIndex: 0, className, attributes});
}

async function programs() {
  try {
    const answer = await fetch(page.data);
    if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
    return await answer.json();
  } catch (error) {
    throw new Unloaded(error.message);
  }
}

// The title of the section: several programs of a page have the same buttons.
function titleOf(block) {
  const title = block.closest("section").querySelector("h1, h2, h3").cloneNode(true);
  title.querySelector(".headerlink")?.remove();
  return title.textContent;
}

function numberOf(block) {
  const name = [...block.classList].find((each) => each.startsWith("example-"));
  return Number(name.slice("example-".length));
}

if (available) {
  for (const block of document.querySelectorAll("[class*=' example-'], [class^='example-']")) {
    const number = numberOf(block);
    if (number in page.obstacles) {
      const {reason, program} = page.obstacles[number];
      const link = element("a", {href: program, download: "", textContent: words.download});
      const parts = program ? [/[.]$/.test(reason) ? `${reason} ` : reason, link] : [reason];
      const line = element("p", {className: "live-obstacle"}, ...parts);
      (shownBelow(block).at(-1) ?? block).after(line);
    } else {
      examples.push(new Example(block, number));
    }
  }
}
