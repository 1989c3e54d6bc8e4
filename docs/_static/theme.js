// Runs before the page is painted: the colours are those that the reader chose, or the system's.
try {
  document.body.dataset.theme = localStorage.getItem("theme") || "auto";
} catch {
  document.body.dataset.theme = "auto"; // a browser that stores nothing
}
