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

// The theme opens its drawers with hidden checkboxes: their labels work as buttons, too.
for (const label of document.querySelectorAll("label[role='button']")) {
  const box = document.getElementById(label.htmlFor);
  const told = () => label.setAttribute("aria-expanded", box.checked);
  told();
  box.addEventListener("change", told);
  label.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    label.click();
    const drawer = document.querySelector(`.${box.id === "__toc" ? "toc" : "sidebar"}-drawer`);
    if (box.checked) drawer.querySelector("a, input")?.focus();
  });
}
addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const box of document.querySelectorAll(".sidebar-toggle:checked")) {
    box.checked = false;
    box.dispatchEvent(new Event("change"));
    [...document.querySelectorAll(`label[role='button'][for='${box.id}']`)]
      .find((label) => label.checkVisibility())?.focus();
  }
});

// A button copies a program: of a session its statements alone, without prompts and output.
const { copy, copied } = document.currentScript.dataset;
for (const block of document.querySelectorAll("div:not(.output) > .highlight > pre")) {
  const button = document.createElement("button");
  button.className = "copybtn";
  button.type = "button";
  button.textContent = copy;
  button.addEventListener("click", async () => {
    const program = block.cloneNode(true);
    program.querySelectorAll(".gp, .go, .gt").forEach((each) => each.remove());
    const lines = program.textContent.split("\n");
    await write(lines.filter((line) => line.trim() || !session(block)).join("\n").trim());
    button.textContent = copied;
    setTimeout(() => { button.textContent = copy; }, 2000);
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
