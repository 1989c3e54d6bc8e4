// The link to the other language leads to the same heading: it takes over the address's fragment.
addEventListener("click", (event) => {
  const link = event.target.closest?.(".languages a");
  if (link) link.hash = location.hash;
}, true);
