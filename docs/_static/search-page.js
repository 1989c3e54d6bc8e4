// Shows on the page of the search what `search.js` finds; the index calls `setSearchIndex`.
"use strict";

const view = {
  form: document.getElementById("search-form"),
  field: document.getElementById("search-query"),
  summary: document.getElementById("search-summary"),
  results: document.getElementById("search-results"),
  doors: document.getElementById("search-doors"),
};
const WAIT = 150; // milliseconds after the last key

let searchIndex = null;
let waiting = 0;

const asked = () => new URLSearchParams(location.search).get("q")?.trim() ?? "";
const said = (name, value = "") => view.form.dataset[name].replace("%s", value);

const element = (name, className, ...children) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
};
const link = (page, anchor, ...children) => {
  const made = element("a", "", ...children);
  made.href = `${page}.html${anchor && "#"}${encodeURIComponent(anchor)}`;
  return made;
};
const withMarks = (text, words) =>
  Search.marked(text, words).map(([part, mark]) => (mark ? element("mark", "", part) : part));

const result = (found, words) => {
  const { page, anchor, title, section, sentence, more, missing } = found;
  const place = section ? [element("span", "result-section", section)] : [];
  const item = element("li", "", link(page, anchor, element("span", "result-title", title), ...place));
  if (sentence) item.append(element("p", "result-sentence", ...withMarks(sentence, words)));
  if (more.length) {
    const links = more.map((each) => element("li", "", link(page, each.anchor, each.title)));
    item.append(element("ul", "result-more", ...links));
  }
  if (missing.length) item.append(element("p", "result-missing", said("missing", missing.join(", "))));
  return item;
};

const show = () => {
  const query = asked();
  const { results, complete, words } = Search.search(query, searchIndex);
  const items = results.map((each) => result(each, words));
  view.results.replaceChildren(...(items.length ? [element("ol", "search", ...items)] : []));
  view.doors.hidden = items.length > 0;
  if (!query) view.summary.textContent = said("empty");
  else if (!items.length) view.summary.textContent = said("nothing");
  else view.summary.textContent = said("found", items.length) + (complete ? "" : said("some"));
};

// The address holds the query, so that it can be passed on; the link to the other language takes it over.
const ask = () => {
  clearTimeout(waiting);
  const address = new URL(location.href);
  if (view.field.value.trim() === asked()) return;
  address.searchParams.set("q", view.field.value.trim());
  history.replaceState(null, "", address);
  if (searchIndex) show();
};

function setSearchIndex(data) {
  searchIndex = Search.read(data);
  show();
}

view.field.value = asked();
view.field.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(ask, WAIT);
});
view.form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
// The arrows lead from the field, or from nowhere, through what was found, and back.
document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const stops = [view.field, ...view.results.querySelectorAll("ol.search > li > a")];
  const nowhere = document.activeElement === document.body && step === 1;
  const at = nowhere ? 0 : stops.indexOf(document.activeElement);
  if (!step || at < 0 || !stops[at + step]) return;
  event.preventDefault();
  stops[at + step].focus();
});
if (!asked()) view.field.focus();
