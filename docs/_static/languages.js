// The link to the other language leads to the same heading and, on the page of the search, to the
// same query: it takes over the address's fragment and what is asked.
addEventListener("click", (event) => {
  const link = event.target.closest?.(".languages a");
  if (!link) return;
  link.search = location.search;
  link.hash = location.hash;
}, true);
