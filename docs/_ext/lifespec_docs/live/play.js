// The playground: an editor, a form for the server, and what came of the run.  The program and the
// form stand in the address's fragment; nothing is sent anywhere, and nothing runs without a click,
// or an address that ends with &run.

import {packed, unpacked} from "./address.js";
import {available, call, expect, LimitPassed, Unloaded} from "./client.js";
import {button, element, fill, Status} from "./controls.js";
import {markdown} from "./markdown.js";

const LIMIT = 5_000; // milliseconds
const CHECK_LIMIT = 30_000; // of all cases
const PAUSE = 300; // milliseconds without a key, before the address is renewed
const MINUTES = {startup_timeout: null, shutdown_timeout: null, grace: 5, serve: 1};
const USUAL = {
  as: "", spec: "asgi 2.0", state: true, strict: false, ...MINUTES, requests: 0, request: "GET /", cancel: [], fails: false,
};

const place = document.getElementById("play");
const page = await (await fetch(document.querySelector("script[data-play]").dataset.play)).json();
const {labels} = page;

/** Return a sentence as parts, with a node in the place of %s. */
function around(sentence, node) {
  const [before, after] = sentence.split("%s");
  return [before, node, after];
}

/** Return what a form says that applies to a recorded server: it has its own scope and timeouts. */
const applied = ({as, requests, request, serve}) => JSON.parse(JSON.stringify({as, requests, request, serve}));

// -- the address

/** Return what the address says: a start or {program, server}, and whether to run it; null if it says nothing. */
async function addressed() {
  const [what, ...more] = location.hash.slice(1).split("&");
  const [kind, value = ""] = what.split("=", 2);
  const run = more.includes("run");
  if (kind === "start") {
    const start = page.starts.find(({name}) => encodeURIComponent(name) === value || name === value);
    if (start) return {...start, run};
  } else if (kind === "code") {
    try {
      const {program, server = {}} = await unpacked(value);
      if (typeof program === "string") return {program, server: known(server), run};
    } catch {
      // reported below
    }
  } else {
    return null;
  }
  return {broken: true};
}

/** Keep what the form has a field for, and only values of the kind that it has. */
function known(server) {
  const kinds = {
    as: (value) => Object.hasOwn(page.servers, value),
    spec: (value) => value in page.specs,
    cancel: (value) => Array.isArray(value) && value.every((each) => each >= 0),
    requests: (value) => Number.isInteger(value) && value >= 0 && value <= 9,
    request: (value) => typeof value === "string",
    serve: (value) => typeof value === "number" && value >= 0,
  };
  const timeout = (value) => value === null || (typeof value === "number" && value >= 0);
  const fits = (name, value) =>
    kinds[name] ? kinds[name](value) : name in MINUTES ? timeout(value) : typeof value === "boolean";
  const entries = Object.entries(server ?? {});
  return Object.fromEntries(entries.filter(([name, value]) => name in USUAL && fits(name, value)));
}

// -- the form of the server

/** The second tab: what the server does. */
class Form {
  constructor(changed) {
    const specs = Object.entries(page.specs).map(([value, textContent]) => element("option", {value, textContent}));
    this.as = element("select", {id: "play-as"}, ...servers());
    this.as.addEventListener("input", changed);
    this.decided = element("p", {className: "play-note"});
    this.fields = {
      spec: element("select", {}, ...specs),
      state: element("input", {type: "checkbox"}),
      startup_timeout: this.number(labels.none),
      shutdown_timeout: this.number(labels.none),
      grace: this.number(labels.none),
      requests: this.number("0", {max: 9, step: 1}),
      request: element("input", {type: "text", placeholder: USUAL.request, title: labels.asked, autocomplete: "off", spellcheck: false}),
      serve: this.number("0"),
      cancel: element("input", {type: "text", inputMode: "decimal", placeholder: labels.none, title: labels.moments, autocomplete: "off"}),
      fails: element("input", {type: "checkbox"}),
      strict: element("input", {type: "checkbox"}),
    };
    this.fields.request.addEventListener("input", () => this.fields.requests.value ||= 1);
    this.rows = Object.entries(this.fields).map(([name, field]) => this.row(name, field));
    const reset = button(labels.defaults, "play-quiet", () => {
      this.value = {};
      changed();
    });
    this.node = element("form", {className: "play-form"}, this.decided, ...this.rows,
      element("p", {className: "play-note", textContent: labels.clock}), reset);
    this.node.addEventListener("submit", (event) => event.preventDefault());
    this.node.addEventListener("input", changed);
  }

  number(placeholder, more = {}) {
    return element("input", {type: "number", min: 0, step: "any", placeholder, ...more});
  }

  row(name, field) {
    const units = {startup_timeout: labels.seconds, shutdown_timeout: labels.seconds,
      grace: labels.seconds, serve: labels.seconds, cancel: labels.seconds};
    field.id = `play-${name}`;
    const label = element("label", {htmlFor: field.id, textContent: labels[name]});
    const parts = field.type === "checkbox" ? [field, label] : [label, field];
    if (units[name]) {
      const unit = element("span", {className: "play-unit", textContent: units[name], id: `${field.id}-unit`});
      field.setAttribute("aria-describedby", unit.id);
      parts.push(unit);
    }
    return element("div", {className: field.type === "checkbox" ? "play-row play-check" : "play-row"}, ...parts);
  }

  /** The row of the recorded server that was chosen, undefined for Lifespan. */
  get recorded() {
    return page.servers[this.as.value];
  }

  get value() {
    const found = this.as.value ? {as: this.as.value} : {};
    for (const [name, field] of Object.entries(this.fields)) {
      const usual = USUAL[name];
      let value;
      if (field.type === "checkbox") value = field.checked;
      else if (name === "spec") value = field.value;
      else if (name === "request") value = field.value.trim() || usual;
      else if (name === "cancel") value = moments(field.value);
      else if (field.value === "") value = name in MINUTES && name !== "serve" ? null : 0;
      else value = field.valueAsNumber;
      if (JSON.stringify(value) !== JSON.stringify(usual)) found[name] = value;
    }
    return this.recorded ? applied(known(found)) : known(found);
  }

  set value(server) {
    const all = {...USUAL, ...server};
    this.as.value = all.as;
    for (const [name, field] of Object.entries(this.fields)) {
      if (field.type === "checkbox") field.checked = all[name];
      else field.value = name === "cancel" ? all.cancel.join(", ") : (all[name] ?? "");
    }
    this.limit();
  }

  // A recorded server has no arguments.
  limit() {
    const {recorded} = this;
    this.decided.textContent = recorded ? fill(labels.decided, recorded.title) : "";
    for (const [name, field] of Object.entries(this.fields)) {
      field.disabled = Boolean(recorded) && !(name in applied({requests: 0, request: "", serve: 0}));
    }
  }
}

/** Return the choices of the server: ours, and those of the records. */
function servers() {
  const rows = Object.entries(page.servers).map(([name, row]) => ({name, ...row}));
  return [element("option", {value: "", textContent: "Lifespan"}), ...grouped(rows)];
}

/** Return options in their groups. */
function grouped(rows) {
  const groups = new Map();
  for (const {name, title, group} of rows) {
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(element("option", {value: name, textContent: title}));
  }
  return [...groups].map(([label, each]) => element("optgroup", {label: label || labels.programs}, ...each));
}

function moments(text) {
  return text.split(/[\s,;，、]+/).filter(Boolean).map(Number).filter((each) => each >= 0);
}

// -- the tabs

/** Two panels, of which one is shown; arrow keys go from tab to tab. */
function tabs(panels) {
  const list = element("div", {className: "play-tabs", attributes: {role: "tablist"}});
  const shown = Object.entries(panels).map(([name, node]) => {
    const tab = element("button", {type: "button", id: `play-tab-${name}`, textContent: labels[name],
      attributes: {role: "tab", "aria-controls": `play-panel-${name}`}});
    const panel = element("div", {className: "play-panel", id: `play-panel-${name}`,
      attributes: {role: "tabpanel", "aria-labelledby": tab.id}}, node);
    return {tab, panel};
  });
  const choose = (number, focus) => shown.forEach(({tab, panel}, each) => {
    const chosen = each === number;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    panel.hidden = !chosen;
    if (chosen && focus) tab.focus();
  });
  shown.forEach(({tab}, number) => {
    tab.addEventListener("click", () => choose(number, false));
    tab.addEventListener("keydown", ({key}) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[key];
      if (step) choose((number + step + shown.length) % shown.length, true);
    });
  });
  list.append(...shown.map(({tab}) => tab));
  choose(0, false);
  return {nodes: [list, ...shown.map(({panel}) => panel)], choose, marks: shown.map(({tab}) => tab)};
}

// -- the result

/** What came of a run, from top to bottom. */
class Report {
  constructor(goTo) {
    this.goTo = goTo;
    this.node = element("div", {className: "play-report"});
    this.empty();
  }

  empty() {
    this.node.replaceChildren(element("p", {className: "play-hint", textContent: labels.hint}));
  }

  stale(is) {
    this.node.classList.toggle("play-stale", is);
  }

  // Where the result is below the program, the reader would not see that it has come.
  reveal() {
    if (this.node.getBoundingClientRect().top < innerHeight - 80) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.node.scrollIntoView({block: "start", behavior: still ? "instant" : "smooth"});
  }

  show(found, recorded) {
    this.stale(false);
    const parts = [recorded && found.served !== null ? this.recorded(found, recorded) : this.ending(found)];
    if (found.failure) parts.push(this.failure(found));
    if (found.waits) parts.push(this.waits(found.waits));
    if (found.messages) parts.push(this.sequence(found));
    if (found.served !== null) parts.push(this.validator(found));
    parts.push(this.console(found.console), this.versions(found.versions));
    this.node.replaceChildren(...parts.filter(Boolean));
  }

  /** What `lifespec check app` says of the program. */
  checked(found) {
    this.stale(false);
    const text = element("pre", {className: "play-checked", textContent: found.report, tabIndex: 0, attributes: {role: "group", "aria-label": labels.report}});
    const parts = found.report ? [this.section(labels.report, text)]
      : [this.ending({served: null, ...found}), found.failure ? this.failure(found) : null, this.console(found.console)];
    parts.push(this.versions(found.versions));
    this.node.replaceChildren(...parts.filter(Boolean));
  }

  versions(found) {
    const listed = Object.entries(found).map((each) => each.join(" ")).join(", ");
    return element("p", {className: "play-note play-versions", textContent: listed});
  }

  /** What a program that was ended had exchanged and printed. */
  ended({said}) {
    this.stale(false);
    const link = element("a", {href: page.blocking, textContent: labels.advice});
    const lines = said.length ? [["print", said.join("")]] : [];
    this.node.replaceChildren(
      element("p", {className: "play-bad"}, labels.blocked, " ", link), this.console(lines));
  }

  section(title, ...content) {
    return element("section", {}, element("h3", {textContent: title}), ...content);
  }

  ending({served, outcome, raised, failure, messages}) {
    if (served === null) {
      return failure || messages ? null : element("p", {className: "play-bad", textContent: labels.noapp});
    }
    const name = outcome ? element("code", {textContent: outcome}) : labels.pending;
    const good = outcome === "complete";
    const parts = [element("span", {className: "play-outcome"}, ...around(labels.outcome, name)),
      element("span", {textContent: served ? labels.served : labels.unserved})];
    if (raised) {
      const kind = element("code", {textContent: raised[0]});
      parts.push(element("span", {}, ...around(labels.raises, kind)));
    }
    return element("p", {className: good ? "play-ending play-good" : "play-ending"}, ...parts);
  }

  /** What the record says of the cases that the run came to. */
  recorded({served, cases, logged}, {title, on, stale, shown, exits}) {
    const last = cases.at(-1);
    const ending = [element("span", {className: "play-outcome", textContent: title}),
      element("span", {textContent: served ? labels.served : labels.unserved})];
    if (exits[last]) ending.push(element("span", {textContent: exits[last]}));
    const told = cases.filter((name) => shown[name]?.length).flatMap((name) => {
      const {says, page: where} = page.cases[name];
      const link = where ? element("a", {href: where}, element("code", {textContent: name})) : name;
      return [element("p", {}, link, ` ${says}`), this.seen(shown[name])];
    });
    const about = [fill(labels.recorded, ...on)];
    if (stale) about.push(fill(labels.stale, stale.replaceAll("`", "")));
    const log = logged?.length
      ? element("pre", {textContent: logged.join("\n"), tabIndex: 0, attributes: {role: "group", "aria-label": fill(labels.logged, title)}})
      : element("p", {className: "play-note", textContent: logged ? labels.unlogged : labels.unrecorded});
    const parts = told.length ? told : [element("p", {className: "play-note", textContent: labels.unmeasured})];
    return element("div", {className: "play-recorded"}, element("p", {className: "play-ending"}, ...ending), ...parts,
      ...told.length ? [this.section(fill(labels.logged, title), log)] : [],
      element("p", {className: "play-note", textContent: about.join(" ")}));
  }

  seen(rows) {
    const items = rows.map(([verdict, rule, sentence]) => element("li", {className: `play-${verdict}`},
      element("span", {className: "play-kind", textContent: verdict.toUpperCase()}), " ",
      element("a", {href: page.rules[rule]}, element("code", {textContent: rule})), ` ${sentence}`));
    return element("ul", {className: "play-found"}, ...items);
  }

  failure({failure, line}) {
    const text = element("pre", {textContent: failure, tabIndex: 0});
    const parts = [element("p", {textContent: labels.failure}), text];
    if (line) parts.push(this.lineLink(`app.py:${line}`));
    return element("div", {className: "play-bad", attributes: {role: "group"}}, ...parts);
  }

  waits(lines) {
    return element("div", {className: "play-bad"}, element("p", {textContent: labels.waits}),
      ...lines.map((line) => this.lineLink(line)));
  }

  lineLink(text) {
    return button(text, "play-quiet", () => this.goTo(Number(text.split(":")[1])));
  }

  sequence({messages, shortened}) {
    const parsed = new DOMParser().parseFromString(messages, "text/html").body;
    const parts = [...parsed.childNodes];
    for (const each of parts) each.open = true;
    if (shortened) parts.push(element("p", {className: "play-note", textContent: labels.shortened}));
    return this.section(labels.sequence, ...parts);
  }

  validator({validator: found, waits, unanswered}) {
    if (!found.length && waits && unanswered) {
      const rule = element("a", {href: page.rules[unanswered]}, element("code", {textContent: unanswered}));
      return this.section(labels.validator, element("p", {}, rule, ": ", labels.unanswered));
    }
    if (!found.length) return this.section(labels.validator, element("p", {className: "play-fine", textContent: labels.conforms}));
    const items = found.map(({rule, kind, message}) => element("li", {className: `play-${kind}`},
      element("span", {className: "play-kind", textContent: labels[kind]}), " ",
      element("a", {href: page.rules[rule]}, element("code", {textContent: rule})), " ", message));
    return this.section(labels.validator, element("ul", {className: "play-found"}, ...items));
  }

  console(lines) {
    if (!lines.length) return this.section(labels.console, element("p", {className: "play-note", textContent: labels.silent}));
    const printed = lines.flatMap(([kind, text]) => {
      const body = text.endsWith("\n") ? text : `${text}\n`;
      const level = /^[A-Z]+$/.test(kind);
      const head = level ? [element("b", {className: `play-level play-${kind.toLowerCase()}`, textContent: kind}), ": "] : [];
      return [...head, kind === "request" ? element("i", {textContent: body}) : body];
    });
    const box = element("pre", {tabIndex: 0, attributes: {role: "group", "aria-label": labels.console}}, ...printed);
    return this.section(labels.console, box);
  }
}

// -- all of it

class Playground {
  constructor(Editor, begin) {
    this.timer = 0;
    this.shown = null; // what the last result is of
    this.form = new Form(() => this.changed());
    this.report = new Report((line) => {
      this.tabs.choose(0, false);
      this.editor.goTo(line);
    });
    this.starts = element("select", {id: "play-starts"}, ...options());
    this.starts.addEventListener("change", () => this.start(this.starts.value));
    this.runButton = button(labels.run, "play-run", () => this.run());
    this.runButton.title = fill(labels.key, page.size);
    this.runButton.setAttribute("aria-keyshortcuts", "Control+Enter");
    this.checkButton = button(labels.check, "play-second", () => this.check());
    this.checkButton.title = labels.cases;
    this.copyButton = button(labels.copy, "play-quiet", () => this.copy());
    this.markdownButton = button(labels.markdown, "play-quiet", () => this.copyResult());
    this.status = new Status(labels, "play-status");
    const home = element("div", {className: "play-editor"});
    const leave = element("p", {className: "play-note", textContent: labels.leave});
    this.tabs = tabs({application: element("div", {}, home, leave), server: this.form.node});
    this.panes = element("div", {className: "play-panes"},
      element("section", {className: "play-left"}, ...this.tabs.nodes),
      element("section", {className: "play-right", attributes: {"aria-label": labels.result}}, this.report.node));
    place.replaceChildren(
      element("div", {className: "play-bar"},
        chosen(labels.starts, this.starts), chosen(labels.server, this.form.as),
        this.runButton, this.checkButton, this.copyButton, this.markdownButton, this.status.bar, this.status.line),
      this.panes);
    place.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
      event.preventDefault();
      this.run();
    });
    this.editor = new Editor({
      parent: home, label: labels.editor, text: "",
      changed: () => this.changed(), run: () => this.run(),
    });
    addEventListener("hashchange", async () => this.begin(await addressed()));
    this.begin(begin);
  }

  begin(found) {
    const {name, program, server = {}} = found?.program === undefined ? page.starts[0] : found;
    this.form.value = server;
    this.editor.show(program);
    this.starts.value = name ?? "";
    clearTimeout(this.timer);
    this.forget();
    this.report.stale(false);
    this.mark();
    this.status.say(found?.broken ? labels.broken : "");
    if (found?.run) this.run();
  }

  // There is no result to copy.
  forget() {
    this.shown = null;
    this.markdownButton.disabled = true;
    this.report.empty();
  }

  start(name) {
    if (name) location.hash = `start=${name}`;
  }

  get content() {
    return {program: this.editor.text, server: this.form.value};
  }

  // A dot on the tab of a server that is not as usual.
  mark() {
    this.tabs.marks[1].classList.toggle("play-special", Object.keys(this.form.value).length > 0);
  }

  changed() {
    if (!this.editor) return;
    this.form.limit();
    this.mark();
    this.starts.value = "";
    if (this.shown) this.report.stale(JSON.stringify(this.content) !== this.shown);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.renew(), PAUSE);
  }

  async renew(more = "") {
    history.replaceState(null, "", `#code=${await packed(this.content)}${more}`);
  }

  // What has run here runs where the link is opened.
  async copy() {
    clearTimeout(this.timer);
    await this.renew(this.shown === JSON.stringify(this.content) ? "&run" : "");
    await this.put(location.href, labels.copied, labels.link);
  }

  // Of the program that ran, though it may have been edited since.
  async copyResult() {
    const asked = JSON.parse(this.shown);
    const link = new URL(`#code=${await packed(asked)}`, location.href).href;
    await this.put(markdown(this.report.node, asked, link, labels), labels.copiedResult, labels.refused);
  }

  async put(text, copied, refused) {
    try {
      await navigator.clipboard.writeText(text);
      this.status.say(copied);
    } catch {
      this.status.say(refused);
    }
  }

  run() {
    const {recorded} = this.form;
    return this.ask("play", LIMIT, {recorded, words: page.words}, (found) => this.report.show(found, recorded));
  }

  check() {
    const request = {spec: this.form.fields.spec.value, language: page.language, needs: ["rich"]};
    return this.ask("check", CHECK_LIMIT, request, (found) => this.report.checked(found));
  }

  async ask(name, limit, more, show) {
    if (this.runButton.disabled) return;
    this.runButton.disabled = this.checkButton.disabled = true;
    const asked = this.content;
    this.status.say(labels.running);
    try {
      const found = await call(name, {...asked, ...more}, {limit, onProgress: (told) => this.status.progress(told)});
      this.shown = JSON.stringify(asked);
      this.markdownButton.disabled = false;
      show(found);
      this.panes.classList.toggle("play-wide", Boolean(found.report)); // it has 80 columns
      if (this.editor.text === asked.program) this.editor.mark(found.line);
      this.report.stale(JSON.stringify(this.content) !== this.shown);
      this.report.reveal();
      this.status.say(labels.ran);
    } catch (error) {
      this.forget();
      if (error instanceof LimitPassed) this.report.ended(error);
      const failed = error instanceof Unloaded ? labels.unloaded : fill(labels.failed, error.message);
      this.status.say(error instanceof LimitPassed ? fill(labels.limit, error.limit / 1000) : failed);
    } finally {
      this.status.bar.hidden = true;
      this.runButton.disabled = this.checkButton.disabled = false;
    }
  }

}

/** Return a choice behind its label. */
const chosen = (label, list) => element("span", {className: "play-choice"},
  element("label", {htmlFor: list.id, textContent: label}), list);

function options() {
  const own = element("option", {value: "", textContent: labels.own, hidden: true});
  return [own, ...grouped(page.starts)];
}

if (available && typeof CompressionStream === "function") {
  const [{Editor}, begin] = await Promise.all([import("./editor.js"), addressed()]);
  const {editor} = new Playground(Editor, begin);
  expect(editor.text);
} else {
  place.textContent = labels.unavailable;
}
