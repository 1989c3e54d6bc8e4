// The link to the other language leads to the same heading and, on the page of the search, to the
// same query: it takes over the address's fragment and what is asked.
addEventListener("click", (event) => {
  const link = event.target.closest?.(".languages a");
  if (!link) return;
  link.search = location.search;
  link.hash = location.hash;
}, true);

// The navigation shows the current page, which may stand far down in it.
const navigation = document.querySelector(".sidebar-scroll");
const current = navigation?.querySelector("a.current");
if (current) {
  const far = current.getBoundingClientRect().top - navigation.getBoundingClientRect().top;
  navigation.scrollTo({ top: far - navigation.clientHeight / 2, behavior: "instant" });
}

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

// The drawers of a narrow window: the focus goes into one that the keyboard opens; Escape closes it.
// What opens them stands in a landmark, as all else does.
for (const box of document.querySelectorAll(".sidebar-toggle")) {
  const drawer = document.querySelector(box.id === "__toc" ? ".toc-drawer" : ".sidebar-drawer");
  if (drawer.matches(".no-toc")) {
    box.remove();
    continue;
  }
  const landmark = document.createElement("nav");
  landmark.ariaLabel = box.ariaLabel;
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

// A button copies a program: of a session its statements alone, without prompts and output.
const labels = document.currentScript.dataset;
for (const block of document.querySelectorAll("div:not(.output) > .highlight > pre")) {
  const button = document.createElement("button");
  button.className = "copybtn";
  button.type = "button";
  button.textContent = labels.copy;
  button.addEventListener("click", async () => {
    const program = block.cloneNode(true);
    program.querySelectorAll(".gp, .go, .gt").forEach((each) => each.remove());
    const lines = program.textContent.split("\n");
    await write(lines.filter((line) => line.trim() || !session(block)).join("\n").trim());
    button.textContent = labels.copied;
    setTimeout(() => { button.textContent = labels.copy; }, 2000);
  });
  block.before(button);
}

function session(block) {
  return block.querySelector(".gp") !== null;
}

// A page that was opened from a file may have no clipboard.
async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}
