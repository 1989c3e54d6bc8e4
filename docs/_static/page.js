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
