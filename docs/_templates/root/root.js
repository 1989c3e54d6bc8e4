// The first language of the reader's list that we have; who comes back stays with the links.
const first = navigator.languages.find((tag) => /^(en|zh)\b/i.test(tag)) || "en";
location.replace((/^zh/i.test(first) ? "zh-cn" : "en") + "/index.html" + location.hash);
