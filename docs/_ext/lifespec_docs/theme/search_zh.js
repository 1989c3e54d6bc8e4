// Cuts a query: Chinese into pairs of neighbouring characters, all else into words.
var splitQuery = (query) => {
  // Such a word makes a question of a query, and no page is about it.
  const asked = query.replace(/为什么|是什么|什么|怎么样|怎么办|怎么|会怎样|怎样|如何|[吗呢吧]/g, " ");
  const cut = (text) => (text.match(/RUN/g) || []).map((run) => (chinese(run) ? pairs(run) : [run]));
  const chinese = (text) => /^HAN$/.test(text);
  const pairs = (run) =>
    run.length < 2
      ? [run]
      : Array.from({ length: run.length - 1 }, (_, start) => run.slice(start, start + 2));
  const index = typeof Search === "undefined" ? null : Search._index;
  const pages = (part) =>
    new Set([index.terms[part] ?? [], index.titleterms[part] ?? []].flat());
  // Where one word ends and another begins, there is a pair that is rarer than its neighbours.
  const within = (parts) =>
    parts.filter((part, at) => {
      const beside = [parts[at - 1], parts[at + 1]];
      const rare = beside.every((each) => each && pages(each).size > 2 * pages(part).size);
      return !(chinese(part) && rare);
    });
  // What no page has together finds nothing: ask for as much as one page has.
  const together = (parts) => {
    const held = new Map();
    for (const part of parts.filter(chinese))
      for (const page of pages(part)) held.set(page, (held.get(page) ?? new Set()).add(part));
    const most = [...held.values()].reduce((a, b) => (b.size > a.size ? b : a), new Set());
    return most.size ? parts.filter((part) => most.has(part) || !chinese(part)) : parts;
  };
  const runs = cut(asked).length ? cut(asked) : cut(query);
  return index ? together(runs.flatMap(within)) : runs.flat();
};
