// A page is nearer to what was asked, the more of the query's words stand in one of its headings.
var Scorer = {
  score: ([page, title, , , score]) => {
    const query = new URLSearchParams(location.search).get("q") ?? "";
    const words = splitQuery(query.toLowerCase()).filter((word) => !stopwords.has(word));
    const stems = words.map((word) => new Stemmer().stemWord(word));
    const at = Search._index.docnames.indexOf(page);
    const own = ([, places]) => places.some(([number]) => number === at);
    const headings = Object.entries(Search._index.alltitles ?? {}).filter(own);
    const held = (text) => stems.filter((stem) => text.toLowerCase().includes(stem)).length;
    return score + 5 * Math.max(held(title), ...headings.map(([text]) => held(text)));
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
