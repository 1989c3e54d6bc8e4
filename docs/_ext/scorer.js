// A page whose title has more of the query's words is nearer to what was asked.
var Scorer = {
  score: ([, title, , , score]) => {
    const query = new URLSearchParams(location.search).get("q") ?? "";
    const words = splitQuery(query.toLowerCase()).filter((word) => !stopwords.has(word));
    const stems = words.map((word) => new Stemmer().stemWord(word));
    return score + 5 * stems.filter((stem) => title.toLowerCase().includes(stem)).length;
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
