// The link to the other language leads to the same place: to the fragment of the address, or to the
// last heading above the middle of the window, whose ID is the same in both languages.
function place() {
  const targets = document.querySelectorAll("article :is(section section, .rule, .case, dt)[id]");
  return [...targets].filter((each) => each.getBoundingClientRect().top < innerHeight / 2).at(-1)?.id;
}
addEventListener("click", (event) => {
  const link = event.target.closest?.(".languages a");
  if (!link) return;
  link.search = location.search;
  link.hash = location.hash || (scrollY && place()) || "";
}, true);

// An old link to a section that has moved leads to its new place.
function follow() {
  const left = document.getElementById(location.hash.slice(1));
  if (left?.matches("a.moved")) location.replace(left.href);
}
follow();
addEventListener("hashchange", follow);

// The navigation shows the current page, which may stand far down in it.
const current = document.querySelector(".sidebar-scroll a.current");
const bar = current?.closest(".sidebar-scroll");
bar?.scrollTo(0, current.getBoundingClientRect().top - bar.getBoundingClientRect().top - bar.clientHeight / 2);

// The key / leads to the search, but where one writes.
addEventListener("keydown", (event) => {
  const writes = event.target.closest?.("input, textarea, select, [contenteditable]");
  const field = document.querySelector("#search-query, .sidebar-search");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || writes || !field) return;
  event.preventDefault();
  if (!field.checkVisibility({ visibilityProperty: true })) document.getElementById("__navigation").checked = true;
  field.focus();
});

// What scrolls sideways can be reached with the keyboard.
function scrolls() {
  for (const box of document.querySelectorAll("article :is(pre, .table-wrapper)")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else if (box.tabIndex === 0) box.removeAttribute("tabindex");
  }
}
scrolls();
addEventListener("resize", scrolls);
document.addEventListener("toggle", scrolls, true); // a note that unfolds

// The programs of checks stand in a file beside the page, which is loaded when one is unfolded.
globalThis.showChecks = (programs) => {
  document.querySelectorAll("details.check").forEach((each, at) => each.insertAdjacentHTML("beforeend", programs[at]));
  scrolls();
};
document.addEventListener("toggle", ({ target: { dataset: { checks } } }) => {
  if (!checks || document.querySelector(`script[src="${checks}"]`)) return;
  document.body.append(Object.assign(document.createElement("script"), { src: checks }));
}, true);

// The drawers of a narrow window stand in a landmark; the keyboard goes into one, and Escape closes it.
for (const box of document.querySelectorAll(".sidebar-toggle")) {
  const drawer = document.querySelector(box.id === "__toc" ? ".toc-drawer" : ".sidebar-drawer");
  if (drawer.matches(".no-toc")) {
    box.remove();
    continue;
  }
  const landmark = Object.assign(document.createElement("nav"), { ariaLabel: box.ariaLabel });
  box.replaceWith(landmark);
  landmark.append(box);
  box.addEventListener("change", () => {
    if (!box.checked || !box.matches(":focus-visible")) return;
    [...drawer.querySelectorAll("a")].find((link) => link.checkVisibility())?.focus();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.checked) return;
    box.checked = false;
    box.focus();
  });
}

// A button copies a program, after those that define its names: of a session its statements alone,
// without prompts and output.
const labels = document.currentScript.dataset;
function statements(block) {
  const program = block.cloneNode(true);
  program.querySelectorAll(".gp, .go, .gt").forEach((each) => each.remove());
  const lines = program.textContent.split("\n");
  const session = block.querySelector(".gp");
  return lines.filter((line) => line.trim() || !session).join("\n").trim();
}
function needed(block) {
  const names = [...(block.closest("[class*=needs-]")?.classList ?? [])].filter((name) => name.startsWith("needs-"));
  return names.map((name) => document.querySelector(`.program-${name.slice("needs-".length)} pre`));
}
for (const block of document.querySelectorAll("div:not(.output, .check) > .highlight > pre")) {
  const properties = { className: "copybtn", type: "button", textContent: labels.copy };
  const button = Object.assign(document.createElement("button"), properties);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText([...needed(block), block].map(statements).join("\n\n\n"));
    button.textContent = labels.copied;
    setTimeout(() => { button.textContent = labels.copy; }, 2000);
  });
  block.before(button);
}
