// The form above a table of verdicts shows some of its rows and columns.  The address keeps the choice, so that a
// view can be shared.  Without JavaScript the form stays hidden and the tables are whole.
{
  const form = document.querySelector(".matrix-controls");
  const tables = [...document.querySelectorAll(`table.matrix[data-record="${form.dataset.for}"]`)];
  const names = ["subject", "part", "rows"];
  const faults = ["verdict-fail", "verdict-warn", "verdict-info"];
  const compared = [...faults, "verdict-pass"];
  const verdict = (cell, among) => among.find((name) => cell.classList.contains(name));

  const tests = {
    "": () => true,
    differences: (chosen, all) => new Set(all.map((cell) => verdict(cell, compared)).filter(Boolean)).size > 1,
    faults: (chosen) => chosen.some((cell) => verdict(cell, faults)),
    changes: (chosen) => chosen.some((cell) => cell.classList.contains("changed")),
  };

  const show = () => {
    const [subject, part, rows] = names.map((name) => form.elements[name].value);
    let shown = 0;
    let total = 0;
    for (const table of tables) {
      const heads = [...table.tHead.rows[0].cells].slice(1);
      const hides = heads.map((head) => subject !== "" && head.dataset.key !== subject);
      table.classList.toggle("single", subject !== "");
      heads.forEach((head, column) => { head.hidden = hides[column]; });
      const columns = 1 + hides.filter((hidden) => !hidden).length;
      table.querySelectorAll("[scope=rowgroup]").forEach((title) => { title.colSpan = columns; });
      for (const body of table.tBodies) {
        let here = 0;
        for (const row of body.querySelectorAll("tr[id]")) {
          const all = [...row.cells].slice(1);
          all.forEach((cell, column) => { cell.hidden = hides[column]; });
          const fits = tests[rows](all.filter((cell) => !cell.hidden), all);
          row.hidden = !fits;
          here += fits ? 1 : 0;
          total += 1;
        }
        body.hidden = here === 0 || (part !== "" && body.dataset.group !== part);
        shown += body.hidden ? 0 : here;
      }
    }
    form.querySelector("output").value = form.querySelector("output").dataset.text
      .replace("%s", shown).replace("%s", total);
  };

  const remember = () => {
    const address = new URL(location.href);
    for (const name of names) {
      const { value } = form.elements[name];
      address.searchParams.delete(name);
      if (value) address.searchParams.set(name, value);
    }
    try {
      history.replaceState(history.state, "", address);
    } catch { /* a page that was opened from a file keeps its address */ }
  };

  const reveal = () => {  // what the address names is never hidden
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.closest("table.matrix [hidden]")) {
      form.reset();
      show();
      target.scrollIntoView();
    }
  };

  const chosen = new URLSearchParams(location.search);
  for (const name of names) {
    const value = chosen.get(name) ?? "";
    if ([...form.elements[name].options].some((option) => option.value === value)) form.elements[name].value = value;
  }
  form.addEventListener("change", () => { show(); remember(); });
  form.addEventListener("reset", () => setTimeout(() => { show(); remember(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", reveal);
  form.hidden = false;
  show();
  reveal();
}
