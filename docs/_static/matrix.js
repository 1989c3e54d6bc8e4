// The form above a table of verdicts shows some of its rows and columns. The address keeps the choice, so that a view
// can be shared. Without JavaScript the form stays hidden and the tables are whole.
{
  const form = document.querySelector(".matrix-controls");
  const record = form.dataset.for;
  const tables = [...document.querySelectorAll("table.matrix")].filter((table) => table.classList.contains(record));
  const names = ["subject", "part", "rows"];
  const faults = [".verdict-fail", ".verdict-warn", ".verdict-info"];
  const verdict = (cell) => [...faults, ".verdict-pass"].find((name) => cell.querySelector(name));
  const tests = {
    "": () => true,
    differences: (chosen, all) => new Set(all.map(verdict).filter(Boolean)).size > 1,
    faults: (chosen) => chosen.some((cell) => cell.querySelector(faults.join())),
  };

  const show = () => {
    const [subject, part, rows] = names.map((name) => form.elements[name].value);
    let [shown, total] = [0, 0];
    for (const table of tables) {
      const hides = [...table.tHead.rows[0].cells].map((head, column) =>
        column > 0 && subject !== "" && !head.querySelector(`a[href$="#subject-${record}-${subject}"]`));
      table.classList.toggle("single", subject !== "");
      let group = null;
      for (const row of table.rows) {
        [...row.cells].forEach((cell, column) => { cell.hidden = hides[column]; });
        const all = [...row.cells].slice(1);
        if (row.querySelector(".group")) {
          group = row;
          group.hidden = true;
        } else if (row.parentNode !== table.tHead) {
          const inPart = part === "" || Boolean(group?.querySelector(`.stage-${part}`));
          row.hidden = !(inPart && tests[rows](all.filter((cell) => !cell.hidden), all));
          if (group && !row.hidden) group.hidden = false;
          shown += row.hidden ? 0 : 1;
          total += 1;
        }
      }
    }
    const output = form.querySelector("output");
    output.value = output.dataset.text.replace("%s", shown).replace("%s", total);
  };

  const remember = () => {
    const address = new URL(location.href);
    const values = names.map((name) => [name, form.elements[name].value]);
    address.search = new URLSearchParams(values.filter(([, value]) => value));
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
