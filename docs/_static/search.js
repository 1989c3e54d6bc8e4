// Ranks the pages of the index for a query.  It touches no page: `search-page.js` shows what is found.
//
// The index (`search-index.js`) holds for each page its keywords and its entries: sections, rules,
// cases, terms and Python names.  Latin text is cut into words without their endings, Chinese text
// into pairs of neighbouring characters; the query is cut in the same way.
"use strict";

const Search = (() => {
  const FIELDS = { title: 4, keywords: 3, heading: 1, body: 1, code: 0.3 }; // of a page
  const OWN = { heading: 2, body: 1, code: 0.2 }; // of an entry
  const SYNONYM = 0.6; // what a synonym, a word that begins so, or a mistyped word counts
  const BEGINNING = 0.5;
  const MISTYPED = 0.5;
  const PART = 0.45; // a part of a compound: "event" of "on_event"
  const PAIR = 0.9; // two words that stand side by side, as in the query
  const OVERLAP = 0.4; // two pairs of Chinese characters that have one in common
  const WHOLE = 50; // the whole of a long query, as in a log line
  const LINE = 8; // words of such a line
  const NAMED = 30; // the query is the name of a rule, of a case or of a Python object
  const MENTIONED = 10; // it is in the query
  const LONG = 260; // characters of a sentence
  const TITLE = 20; // the query is the title of a page, or stands in its keywords
  const KEYWORD = 6; // it is one of them
  const LIMIT = 20; // pages
  const ENOUGH = 0.22; // of the score of the first page, for more than FEW pages
  const FEW = 8;

  // Words that make a sentence of a query, and no page is about them.
  const STOP = new Set(
    ("a an and any are as at be been but by can cannot could did do does doesn dont for from get had has have how i if in " +
      "into is isn it its me my no not of on or our should so than that the their them then there these this " +
      "to up use used using want was we what when where which while who why will with without would you your")
      .split(" "),
  );
  const ASKED =
    /为什么|是什么|什么意思|什么|怎么样|怎么办|怎么|会怎样|怎样|如何|是否|有没有|可以|能否|能不能|请问|哪里|哪个|[吗呢吧]|(?<!目)的|(?<!为)了(?!解)/g;
  const HUMP = "\u0001"; // stands where a capital began a part of a name
  const JOINT = /[._+\u0001-]+/;
  const RUN = /\p{Script=Han}+|[a-z0-9_\u0001]+(?:[.+-][a-z0-9_\u0001]+)*/gu;
  const HAN = /^\p{Script=Han}/u;

  // Words

  const stems = new Map();
  const stem = (word) => {
    if (!stems.has(word)) stems.set(word, cutEnding(word));
    return stems.get(word);
  };
  const cutEnding = (word) => {
    if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
    let root = word.replace(/(ss|us|is)$/, "$1\0").replace(/ies$/, "y").replace(/(sh|ch|x|z|s\0)es$/, "$1");
    root = root.replace(/s$/, "").replace("\0", "");
    const short = root.replace(/(?:ing|ed|ation|ion|ment|able)$/, "");
    if (short !== root && short.length > 2 && /[aeiouy]/.test(short))
      root = short.replace(/([bdfgmnprt])\1$/, "$1");
    return root.replace(/e$/, "").replace(/y$/, "i");
  };
  const fold = (text) => text.normalize("NFKC").replace(/[‘’]/g, "'").toLowerCase();
  const camel = (text) => text.replace(/([a-z0-9])([A-Z])/g, `$1${HUMP}$2`);

  // Cut a text into terms, in order; a compound stands before its parts.
  const cut = (text) =>
    [...fold(camel(text)).matchAll(RUN)].flatMap(([run]) =>
      HAN.test(run) ? pairs(run).map((term, at) => ({ term, last: at > run.length - 3 })) : words(run),
    );
  const pairs = (run) =>
    run.length < 2 ? [run] : Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2));
  const words = (run) => {
    const parts = run.split(JOINT).filter(Boolean);
    if (parts.length < 2) return parts.map((part) => ({ term: stem(part), typed: part }));
    const whole = { term: run.replaceAll(HUMP, "").replaceAll("+", "-"), whole: true };
    return [whole, ...parts.map((part) => ({ term: stem(part), typed: part, part: true }))];
  };

  // The index

  const count = (terms) => {
    const counts = new Map();
    for (const { term } of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    return counts;
  };
  const field = (text) => {
    const terms = cut(text);
    const plain = terms.filter((each) => !each.whole).map((each) => each.term);
    return { counts: count(terms), length: terms.length, line: ` ${plain.join(" ")} ` };
  };
  const readEntry = ([anchor, title, text = "", code = "", name = 0]) => ({
    anchor,
    title,
    name: Boolean(name),
    sentences: text.split("\n").filter(Boolean),
    fields: { heading: field(title), body: field(text), code: field(code) },
  });
  const readPage = ([name, { keywords, entries }]) => {
    const read = entries.map(readEntry);
    const headings = (isName) =>
      read.slice(1).filter(({ name }) => name === isName).map((entry) => entry.fields.heading);
    const join = (key) => read.map((entry) => entry.fields[key]);
    return {
      name,
      title: read[0].title,
      phrases: new Set(keywords.split(/[,，]/).map(lineOf)),
      entries: read,
      fields: {
        title: field(read[0].title),
        keywords: field(keywords),
        heading: sum(headings(false)),
        body: sum(join("body")),
        code: sum([...join("code"), ...headings(true)]),
      },
    };
  };
  const lineOf = (text) => ` ${plain(cut(text)).join(" ")} `;
  const sum = (fields) => {
    const counts = new Map();
    let length = 0;
    for (const each of fields) {
      length += each.length;
      for (const [term, number] of each.counts) counts.set(term, (counts.get(term) ?? 0) + number);
    }
    return { counts, length, line: "" };
  };
  const read = ({ synonyms, pages }) => {
    const index = { pages: Object.entries(pages).map(readPage), terms: new Map(), means: {} };
    const all = index.pages.flatMap((page) => page.entries);
    // in which entries a term is; the keywords of a page are as an entry
    for (const place of [...all, ...index.pages.map(keywordsOf)])
      for (const { counts } of Object.values(place.fields))
        for (const term of counts.keys())
          index.terms.set(term, (index.terms.get(term) ?? new Set()).add(place));
    index.size = all.length;
    for (const key of Object.keys(FIELDS)) index.means[key] = mean(index.pages, key);
    index.ownMeans = Object.fromEntries(Object.keys(OWN).map((key) => [key, mean(all, key)]));
    index.synonyms = synonyms.map((group) => group.map(phraseOf));
    return index;
  };
  const phraseOf = (text) => {
    const words = plain(cut(text));
    return { words, phrase: ` ${words.join(" ")} ` };
  };
  const keywordsOf = ({ fields: { keywords } }) => ({ fields: { keywords } });
  const places = (term, index) => index.terms.get(term) ?? new Set();
  const mean = (things, key) =>
    things.reduce((total, each) => total + each.fields[key].length, 0) / things.length || 1;
  const plain = (terms) => terms.filter((each) => !each.whole).map((each) => each.term);

  // The query

  // Where one Chinese word ends and another begins, there is a pair that is rarer than its neighbours.
  const between = (terms, index) => {
    const number = (each) => (each && HAN.test(each.term) ? places(each.term, index).size : -1);
    return (each, at) => {
      const beside = [number(terms[at - 1]), number(terms[at + 1])];
      return number(each) >= 0 && beside.every((other) => other > 2 * number(each));
    };
  };
  const asked = (query, index) => {
    const text = query.replace(ASKED, " ");
    const all = cut(text).length ? cut(text) : cut(query);
    const isBetween = between(all, index);
    const runs = [[]];
    for (const [at, each] of all.entries()) {
      if (HAN.test(each.term) && !isBetween(each, at)) runs.at(-1).push(each);
      else runs.push([]);
      if (each.last) runs.push([]);
    }
    // a Chinese word of four characters counts as two words, and has three pairs
    for (const run of runs) for (const each of run) each.share = (run.length + 1) / (2 * run.length);
    const kept = all.filter((each, at) => !isBetween(each, at) && !STOP.has(each.typed));
    return { all, terms: kept.length ? kept : all };
  };
  const expand = (each, index) => {
    const found = new Map([[each.term, 1]]);
    const add = (term, weight) => found.set(term, Math.max(found.get(term) ?? 0, weight));
    const typed = each.typed ?? each.term;
    const known = [...index.terms.keys()];
    if (typed.length > 2 || HAN.test(typed))
      for (const term of known)
        if (term !== each.term && term.startsWith(typed) && !/[._-]/.test(term)) add(term, BEGINNING);
    if (found.size === 1 && !index.terms.has(each.term) && /^[a-z]{5,}$/.test(typed))
      for (const term of known) if (near(each.term, term)) add(term, MISTYPED);
    return found;
  };
  // Whether one change, or two letters that changed places, makes a word of another.
  const near = (left, right) => {
    if (Math.abs(left.length - right.length) > 1 || left[0] !== right[0]) return false;
    let at = 0;
    while (at < left.length && left[at] === right[at]) at += 1;
    const rest = (text, from) => text.slice(from);
    return (
      rest(left, at + 1) === rest(right, at + 1) ||
      rest(left, at + 1) === rest(right, at) ||
      rest(left, at) === rest(right, at + 1) ||
      (left[at] === right[at + 1] && left[at + 1] === right[at] && rest(left, at + 2) === rest(right, at + 2))
    );
  };
  const concepts = (query, index) => {
    const { all, terms } = asked(query, index);
    const found = new Map();
    for (const each of terms) {
      const weight = each.part ? PART : (each.share ?? 1);
      const before = found.get(each.term);
      if (!before || before.weight < weight)
        found.set(each.term, { ...each, weight, expanded: expand(each, index), others: [] });
    }
    const line = ` ${plain(all).join(" ")} `;
    for (const group of index.synonyms)
      for (const here of group.filter(({ phrase }) => line.includes(phrase)))
        for (const word of here.words)
          found.get(word)?.others.push(...group.filter((other) => other !== here));
    const listed = [...found.values()];
    for (const each of listed) {
      const terms = [...each.expanded.keys(), ...each.others.flatMap((other) => other.words)];
      each.places = new Set(terms.flatMap((term) => [...places(term, index)]));
      Object.assign(each, rarity(each, index));
    }
    return { all: plain(all), line, concepts: listed };
  };
  // The rarer a word is, the more it says about a page, but less if a synonym of it is common.
  const rarity = ({ term, expanded, others }, index) => {
    const number = (each) => places(each, index).size;
    const rare = (known) => Math.log(1 + (index.size - Math.min(known, index.size) + 0.5) / (known + 0.5));
    const own = number(term) || Math.max(...[...expanded.keys()].map(number));
    const common = Math.max(own, ...others.map((other) => Math.min(...other.words.map(number))));
    const mean = (rare(own || common) + rare(common)) / 2;
    return { rarity: mean, synonym: (SYNONYM * rare(common)) / mean };
  };

  // The score

  // How much of a concept is in the fields: more for each, but a word that is repeated counts little.
  const strength = (concept, fields, weights, means) => {
    let total = 0;
    for (const [key, weight] of Object.entries(weights)) {
      const { length } = fields[key];
      if (length) total += weight * inField(concept, fields[key], 0.3 + (0.7 * length) / means[key]);
    }
    return total;
  };
  const inField = (concept, { counts, line }, norm) => {
    const amount = (share, times) => (share * times) / (times + norm);
    let most = 0;
    for (const [term, share] of concept.expanded) most = Math.max(most, amount(share, counts.get(term) ?? 0));
    for (const { words, phrase } of concept.others) {
      const least = Math.min(...words.map((word) => counts.get(word) ?? 0));
      if (least && (!line || line.includes(phrase))) most = Math.max(most, amount(concept.synonym, least));
    }
    return most;
  };
  const scored = (found, fields, weights, means) =>
    found.reduce((total, each) => total + each.weight * each.rarity * strength(each, fields, weights, means), 0);
  const covered = (found, fields, weights, means) => {
    const share = (each) => each.weight * each.rarity;
    const all = found.reduce((total, each) => total + share(each), 0);
    const here = found.filter((each) => strength(each, fields, weights, means) > 0);
    return all ? here.reduce((total, each) => total + share(each), 0) / all : 0;
  };
  // Pairs of the query that stand side by side in a text.
  const sideBySide = (asked, line, rarities) => {
    let total = 0;
    for (let at = 0; at + 1 < asked.length; at += 1)
      if (line.includes(` ${asked[at]} ${asked[at + 1]} `))
        total += (HAN.test(asked[at]) ? OVERLAP : 1) * ((rarities.get(asked[at]) ?? 0.2) + (rarities.get(asked[at + 1]) ?? 0.2)) / 2;
    return total;
  };
  // How much of the query stands in a text as one run of words: so a log line is found behind a time
  // and a level, and before what differs.
  const longest = (asked, line) => {
    let [start, most] = [0, 0];
    for (let end = 1; end <= asked.length; end += 1) {
      while (start < end && !line.includes(` ${asked.slice(start, end).join(" ")} `)) start += 1;
      most = Math.max(most, end - start);
    }
    const long = Math.min(1, most / (HAN.test(asked[0]) ? 2 * LINE : LINE));
    return (long ** 2 * most) / asked.length;
  };
  const scoreEntry = (entry, query, index) => {
    const { concepts: found, all, rarities } = query;
    const here = found.filter((each) => each.places.has(entry));
    if (!here.length) return { entry, score: 0 };
    const lines = [entry.fields.heading.line, entry.fields.body.line];
    const [heading, body] = lines.map((line) => sideBySide(all, line, rarities));
    let score = scored(here, entry.fields, OWN, index.ownMeans);
    score *= 0.3 + 0.7 * covered(found, entry.fields, OWN, index.ownMeans);
    score += PAIR * Math.max(1.6 * heading, body);
    if (heading || body) score += WHOLE * Math.max(...lines.map((line) => longest(all, line)));
    if (entry.name) score += namedBy(query, names(entry.title));
    return { entry, score };
  };
  const namedBy = (query, titles) => {
    if (titles.has(query.name)) return NAMED;
    return query.mentions.some((name) => titles.has(name)) ? MENTIONED : 0;
  };
  // What a query names: an ID has a hyphen, a Python name a dot, an underscore or a capital.
  const identifier = (text) => {
    const name = text.trim().replace(/\(\)$/, "");
    return /^(?:\S*(?:[._-]|[a-z][A-Z])\S*|[A-Z][a-z]+)$/.test(name) || name !== text.trim() ? name.toLowerCase() : "";
  };
  const names = (title) => {
    const whole = title.toLowerCase();
    return new Set([whole, whole.replace(/^lifespec\.(?:\w+\.)*(?=\w+$)/, ""), whole.replace(/^lifespec\./, "")]);
  };
  const scorePage = (page, query, index) => {
    const { concepts: found, all, rarities } = query;
    const entries = page.entries.map((entry) => scoreEntry(entry, query, index)).sort((a, b) => b.score - a.score);
    const coverage = covered(found, page.fields, FIELDS, index.means);
    let score = scored(found, page.fields, FIELDS, index.means);
    score += PAIR * 1.5 * sideBySide(all, page.fields.title.line, rarities);
    score += PAIR * sideBySide(all, page.fields.keywords.line, rarities);
    const { title, keywords } = page.fields;
    const quoted = keywords.line.includes(query.full) && query.full.split(" ").length > 4;
    if (title.line === query.full || quoted) score += TITLE;
    else if (page.phrases.has(query.full)) score += KEYWORD;
    score = score * (0.25 + 0.75 * coverage ** 2) + 0.6 * entries[0].score;
    return { page, score, coverage, entries, missing: missing(query, page, index) };
  };
  const missing = ({ concepts: found }, page, index) =>
    found.filter((each) => !each.part && strength(each, page.fields, FIELDS, index.means) === 0).map((each) => each.typed ?? each.term);

  // Return the pages for a query, best first, and whether each has all words of it.
  const search = (text, index) => {
    if (/^[a-z]$/i.test(text.trim())) return { results: [], complete: true, words: [] };
    const query = { ...concepts(text, index), name: identifier(text) };
    query.full = lineOf(text);
    query.mentions = text.split(/\s+/).map(identifier).filter(Boolean);
    query.rarities = new Map(query.concepts.map((each) => [each.term, each.rarity]));
    const ranked = index.pages
      .map((page) => scorePage(page, query, index))
      .filter((each) => each.coverage > 0)
      .sort((a, b) => b.score - a.score);
    const enough = ranked.filter((each, place) => place < FEW || each.score >= ENOUGH * ranked[0].score).slice(0, LIMIT);
    return {
      results: enough.map((each) => shown(each, query)),
      complete: enough.some((each) => each.missing.length === 0),
      words: typed(query),
    };
  };

  // What is shown

  const shown = ({ page, entries, missing: lacking, score }, query) => {
    const [best, ...others] = entries;
    const strong = others.filter((each) => each.score > 0.6 * best.score && each.entry.anchor);
    return {
      page: page.name,
      title: page.title,
      score,
      missing: lacking,
      ...place(best.entry, query),
      more: strong.slice(0, 2).map((each) => ({ anchor: each.entry.anchor, title: each.entry.title })),
    };
  };
  const place = (entry, query) => ({
    anchor: entry.anchor,
    section: entry.anchor ? entry.title : "",
    sentence: clipped(sentence(entry, query), query),
  });
  // A long sentence is cut around the first word of the query.
  const clipped = (text, query) => {
    if (text.length <= LONG) return text;
    const [[before, first]] = marked(text, typed(query));
    const start = first || before.length < LONG / 2 ? 0 : text.indexOf(" ", before.length - LONG / 3);
    const end = text.lastIndexOf(" ", start + LONG) > start ? text.lastIndexOf(" ", start + LONG) : start + LONG;
    return `${start ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
  };
  const typed = (query) => query.concepts.map((each) => each.typed ?? each.term);
  const weigh = (text, query) => {
    const fields = { body: field(text) };
    const found = query.concepts.filter((each) => strength(each, fields, { body: 1 }, { body: 20 }) > 0);
    const rare = found.reduce((total, each) => total + each.weight * (0.1 + each.rarity), 0);
    return rare + sideBySide(query.all, fields.body.line, query.rarities);
  };
  // The sentence that has most of the query, or else the first.
  const sentence = ({ sentences }, query) => {
    let best = sentences[0] ?? "";
    let most = 0;
    for (const each of sentences) {
      const weight = weigh(each, query);
      if (weight > most) [best, most] = [each, weight];
    }
    return best;
  };
  // Cut a text into parts, [text, whether it is of the query].
  const marked = (text, words) => {
    const roots = words.map((word) => (HAN.test(word) ? word : stem(word))).filter((root) => root.length > 1);
    if (!roots.length) return [[text, false]];
    const escaped = roots.map((root) => root.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const either = escaped.map((root, at) => (HAN.test(roots[at]) ? root : `(?<![a-z0-9])${root}[a-z]*`));
    const parts = text.split(new RegExp(`(${either.join("|")})`, "giu"));
    return parts.map((part, at) => [part, at % 2 === 1]).filter(([part]) => part);
  };

  return { read, search, marked };
})();

if (typeof module !== "undefined") module.exports = Search;
