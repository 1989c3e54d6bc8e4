// The search: ranks the sections of the index, which `search.py` writes, and shows them on its page.
"use strict";

const Search = (() => {
  // the weight of a word in each field of a page, and of a section
  const OF_PAGE = { title: 4, keywords: 3, heading: 1, body: 1, code: 0.3 };
  const OF_SECTION = { heading: 3, keywords: 3, body: 1, code: 0.2 };
  const BEGINNING = 0.5; // a longer word,
  const NEAR = 0.4; // one that is spelled nearly so, if no text has the word, and
  const PART = 0.45; // a part of a name: "event" of "on_event"
  const TITLE = 20; // the query is a title, and
  const KEYWORD = 7; // one of the keywords of a page or a section, or
  const NAME = 10; // an ID, or a name in Python
  const RUN = 50; // much of a long query stands in a text as it is: a log line
  const LIMIT = 20; // results
  const SHARES = [1, 0.85, 0.75]; // of the score of a page, for its best section, the second and the third,
  const AS_GOOD = 0.8; // which are at least so good as the best one
  const LONG = 240; // characters of an excerpt
  const HAN = /^\p{Script=Han}/u;
  const WORDS = /\p{Script=Han}+|[a-z\d_\u0001]+(?:[.+-][a-z\d_\u0001]+)*/gu; // \u0001: before a capital
  const STOP = new Set(
    ("a an and any are as at be been but by can did do does for from get has have how i if in into is it " +
      "its me my no not of on or our should so that the their then there these this to up use used using " +
      "want was we what when where which while who why will with would you your").split(" "),
  );

  // Terms: words without their English endings, names without modules, whole and in parts, Chinese in pairs.
  const stem = (word) => {
    if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
    const one = word.replace(/ies$/, "y").replace(/(sh|ch|x|z|ss)es$/, "$1").replace(/(?<![sui])s$/, "");
    const short = one.replace(/(?:ing|ed|ation|ion|ment|able)$/, "");
    const root = short.length > 2 && /[aeiouy]/.test(short) ? short.replace(/([bdfgmnprt])\1$/, "$1") : one;
    return root.replace(/e$/, "").replace(/y$/, "i");
  };
  const pairs = (run) =>
    run.length < 2 ? [{ term: run }] : [...run].slice(1).map((_, at) => ({ term: run.slice(at, at + 2) }));
  // "clean-up" is "cleanup".
  const names = (run) => {
    const parts = run.split(/[._+\u0001-]+/).filter(Boolean).map((typed) => ({ term: stem(typed), typed }));
    if (parts.length < 2) return parts;
    const whole = { term: stem(run.replace(/[\u0001-]/g, "")), whole: true };
    return [whole, ...parts.map((each) => ({ ...each, part: true }))];
  };
  const terms = (text) => {
    const plain = text.normalize("NFKC").replaceAll("执行", "运行").replace(/没有?(?=运行)/g, "不").replace(/\b(?:[a-z_]+\.)+(?=[A-Z][a-z]+[A-Z])/g, "");
    const runs = plain.replace(/([a-z\d])([A-Z])/g, "$1\u0001$2").toLowerCase().matchAll(WORDS);
    return [...runs].flatMap(([run]) => (HAN.test(run) ? pairs(run) : names(run)));
  };
  const inLine = (found) => found.filter(({ whole }) => !whole).map(({ term }) => term);
  const lineOf = (text) => ` ${inLine(terms(text)).join(" ")} `;

  // The index
  const spelled = new Map(); // the term of each word
  const field = (text) => {
    const found = terms(text);
    const counts = new Map();
    for (const { term, typed } of found) {
      counts.set(term, (counts.get(term) ?? 0) + 1);
      if (typed) spelled.set(typed, term);
    }
    return { counts, length: found.length, line: ` ${inLine(found).join(" ")} ` };
  };
  const together = (fields) => {
    const counts = new Map();
    for (const each of fields)
      for (const [term, number] of each.counts) counts.set(term, (counts.get(term) ?? 0) + number);
    return { counts, length: fields.reduce((total, each) => total + each.length, 0) };
  };
  const phrases = (keywords) => keywords.split(/[,，]/).map(lineOf);
  const readSection = ([anchor, title, text, code, keywords]) => {
    const fields = { heading: field(title), keywords: field(keywords), body: field(text), code: field(code) };
    return { anchor, title, text, phrases: phrases(keywords), fields };
  };
  const readPage = ([name, [keywords, ...entries]]) => {
    const sections = entries.map(readSection);
    const [first, ...others] = sections.map(({ fields }) => fields.heading);
    const fields = { title: first, heading: together(others) };
    for (const key of ["body", "code"]) fields[key] = together(sections.map((each) => each.fields[key]));
    fields.keywords = together([field(keywords), ...sections.map((each) => each.fields.keywords)]);
    return { name, title: sections[0].title, phrases: phrases(keywords), line: lineOf(keywords), sections, fields };
  };
  const means = (things, weights) =>
    Object.fromEntries(Object.keys(weights).map((key) => {
      const lengths = things.map(({ fields }) => fields[key].length).filter(Boolean);
      return [key, lengths.reduce((total, each) => total + each, 0) / lengths.length || 1];
    }));
  const read = (data) => {
    const pages = Object.entries(data).map(readPage);
    const sections = pages.flatMap((page) => page.sections);
    const places = new Map(); // in how many sections, and keywords of a page, a term stands
    const keywords = pages.map((page) => ({ fields: { keywords: page.fields.keywords } }));
    for (const { fields } of [...sections, ...keywords])
      for (const term of new Set(Object.values(fields).flatMap(({ counts }) => [...counts.keys()])))
        places.set(term, (places.get(term) ?? 0) + 1);
    const lengths = { page: means(pages, OF_PAGE), section: means(sections, OF_SECTION) };
    return { pages, places, size: sections.length, means: lengths };
  };

  // How many letters are left out, added, replaced or swapped with the next; if too many, more than `most`
  const distance = (one, other, most) => {
    while (one && one[0] === other[0]) [one, other] = [one.slice(1), other.slice(1)];
    if (!one || !other || !most) return one.length + other.length;
    const swapped = one[0] === other[1] && one[1] === other[0] ? [[2, 2]] : [];
    const ways = [[1, 0], [0, 1], [1, 1], ...swapped];
    return 1 + Math.min(...ways.map(([i, j]) => distance(one.slice(i), other.slice(j), most - 1)));
  };
  const nearest = (typed, places) => {
    let [most, found] = [typed.length < 4 || /[^a-z]/.test(typed) ? 0 : typed.length < 8 ? 1 : 2, []];
    for (const word of spelled.keys()) {
      const away = word[0] === typed[0] ? distance(typed, word, most) : Infinity;
      if (away < most) [most, found] = [away, [word]];
      else if (away === most) found.push(word);
    }
    const often = (word) => places.get(spelled.get(word));
    return found.sort((one, other) => often(other) - often(one)).slice(0, 3);
  };

  // The query: its words, and the longer ones that begin so
  const parse = (text, { places, size }) => {
    const all = terms(text);
    const kept = all.filter(({ typed }) => !STOP.has(typed));
    const [words, guessed] = [new Map(), []];
    for (const one of kept.length ? kept : all) {
      const { term, typed = term, part, whole } = one;
      const begins = (each) => typed.length > 2 && each.startsWith(typed) && !/[._-]/.test(each);
      const longer = [...places.keys()].filter(begins);
      const near = places.has(term) || longer.length || whole ? [] : nearest(typed, places);
      const others = near.length ? near.map((word) => spelled.get(word)) : longer;
      const shares = new Map([...others.map((each) => [each, near.length ? NEAR : BEGINNING]), [term, 1]]);
      if (near.length) [one.term] = others;
      guessed.push(...near);
      const known = places.get(term) ?? Math.max(0, ...others.map((each) => places.get(each)));
      const rarity = (part ? PART : 1) * Math.log(1 + (size - known + 0.5) / (known + 0.5));
      if (!(words.get(one.term)?.rarity >= rarity)) words.set(one.term, { typed: near[0] ?? typed, shares, rarity });
    }
    const runs = [text.trim(), ...text.split(/\s+/).filter((run) => /[._-]|[a-z][A-Z]/.test(run))];
    const names = runs.map((run) => `.${run.toLowerCase().replace(/\(\)$/, "")}`);
    return { words, guessed, all: inLine(all), line: ` ${inLine(all).join(" ")} `, names };
  };

  // The score of a field: more for a word that is rare, and little for its repetition
  const score = (words, fields, weights, means) => {
    let [total, found, whole] = [0, 0, 0];
    for (const { shares, rarity } of words.values()) {
      let own = 0;
      for (const [key, weight] of Object.entries(weights)) {
        const norm = 0.3 + (0.7 * fields[key].length) / means[key];
        const amounts = [...shares].map(([term, share]) => [share, fields[key].counts.get(term) ?? 0]);
        own += weight * Math.max(...amounts.map(([share, times]) => (share * times) / (times + norm)));
      }
      total += rarity * own;
      whole += rarity;
      if (own) found += rarity;
    }
    return { total, share: whole && found / whole };
  };
  const neighbours = ({ all, words }, line) => {
    const rarity = (term) => (words.get(term)?.rarity ?? 0.2) * (HAN.test(term) ? 0.2 : 0.5);
    const adjacent = all.slice(1).filter((term, at) => line.includes(` ${all[at]} ${term} `));
    return adjacent.reduce((total, term) => total + 2 * rarity(term), 0);
  };
  const longest = ({ all }, line) => {
    let [start, most] = [0, 0];
    for (let end = 1; end <= all.length; end += 1) {
      while (start < end && !line.includes(` ${all.slice(start, end).join(" ")} `)) start += 1;
      most = Math.max(most, end - start);
    }
    return (Math.min(1, most / (HAN.test(all[0]) ? 16 : 8)) ** 2 * most) / all.length;
  };
  const ofSection = (section, query, index, at) => {
    const { heading, keywords, body } = section.fields;
    const { total, share } = score(query.words, section.fields, OF_SECTION, index.means.section);
    const named = 1.6 * Math.max(neighbours(query, heading.line), neighbours(query, keywords.line));
    const adjacent = Math.max(named, neighbours(query, body.line));
    const run = adjacent && RUN * Math.max(longest(query, heading.line), longest(query, body.line));
    const title = `.${section.title.toLowerCase()}`;
    const name = at && query.names.some((each) => title.endsWith(each)) ? NAME : 0;
    const keyword = section.phrases.includes(query.line) ? KEYWORD : 0;
    return total && { section, score: total * (0.3 + 0.7 * share) + adjacent + run + name + keyword };
  };
  // A page is found by its best section; another one that is as good is a result of its own.
  const ofPage = (page, query, index) => {
    const { total, share } = score(query.words, page.fields, OF_PAGE, index.means.page);
    if (!total) return [];
    const { title } = page.fields;
    const sections = page.sections.map((each, at) => ofSection(each, query, index, at)).filter(Boolean);
    sections.sort((a, b) => b.score - a.score);
    const exact = title.line === query.line ? TITLE : page.phrases.includes(query.line) ? KEYWORD : 0;
    const adjacent = 1.5 * neighbours(query, title.line) + neighbours(query, page.line);
    const ofPage = (total + adjacent + exact) * (0.25 + 0.75 * share ** 2);
    if (!sections.length) return [{ page, section: page.sections[0], score: ofPage }];
    const good = sections.filter((each) => each.score >= AS_GOOD * sections[0].score).slice(0, SHARES.length);
    return good.map(({ section, score }, at) => ({ page, section, score: SHARES[at] * ofPage + 0.6 * score }));
  };
  const search = (text, index) => {
    const query = parse(text, index);
    const ranked = index.pages.flatMap((page) => ofPage(page, query, index)).filter((each) => each.score > 0);
    const results = ranked.sort((a, b) => b.score - a.score).slice(0, LIMIT).map(({ page, section }) => ({
      page: page.name,
      anchor: section.anchor,
      title: page.title,
      section: section === page.sections[0] ? "" : section.title,
      text: excerpt(section.text, query),
    }));
    return { results, guessed: query.guessed };
  };

  // The line that has most of the query, cut around its first word
  const excerpt = (text, query) => {
    const weight = (line) => score(query.words, { body: field(line) }, { body: 1 }, { body: 20 }).total;
    const weighed = text.split("\n").map((line) => ({ line, weight: weight(line) }));
    const { line } = weighed.reduce((best, each) => (each.weight > best.weight ? each : best));
    const places = [...query.words.values()].map(({ typed }) => line.toLowerCase().indexOf(typed));
    const first = Math.min(...places.filter((at) => at >= 0)); // Infinity if there is none
    const start = first > LONG / 2 && first < line.length ? line.lastIndexOf(" ", first - LONG / 4) + 1 : 0;
    return (start ? "…" : "") + line.slice(start, start + LONG) + (line.length > start + LONG ? "…" : "");
  };
  return { read, search };
})();

if (typeof document !== "undefined") {
  const form = document.getElementById("search-form");
  const input = document.getElementById("search-query");
  const list = document.getElementById("search-results");
  const query = () => new URLSearchParams(location.search).get("q") ?? "";
  let index;

  const item = ({ page, anchor, title, section, text }) => {
    const made = (tag, properties) => Object.assign(document.createElement(tag), properties);
    const href = `${page}.html${section && `#${encodeURIComponent(anchor)}`}`;
    const link = made("a", { href, textContent: section ? `${title} › ${section}` : title });
    const result = made("li");
    result.append(link, made("p", { textContent: text }));
    return result;
  };
  const show = () => {
    const { results, guessed } = index && query() ? Search.search(query(), index) : { results: [], guessed: [] };
    list.replaceChildren(...results.map(item));
    const { found, near, nothing, empty } = form.dataset;
    const sentence = guessed.length ? near.replace("%s", guessed.join(", ")) : results.length ? found : nothing;
    const summary = sentence.replace("%s", results.length);
    document.getElementById("search-summary").textContent = query() ? summary : empty;
  };
  // The address holds the query, so that it can be passed on; the other language takes it over.
  const ask = () => {
    history.replaceState(null, "", `?${new URLSearchParams({ q: input.value.trim() })}`);
    show();
  };
  globalThis.setSearchIndex = (data) => {
    index = Search.read(data);
    show();
  };
  input.value = query();
  input.addEventListener("input", ask);
  form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  if (!query()) input.focus();
} else {
  module.exports = Search;
}
