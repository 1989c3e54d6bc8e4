// Runs every example of a site that can run in a browser, as a page does, and prints as JSON what
// Pyodide is and the result of each example: node parity.mjs SITE
import {readdir, readFile} from "node:fs/promises";
import {join} from "node:path";
import {pathToFileURL} from "node:url";

const site = process.argv[2];
const read = async (...path) => JSON.parse(await readFile(join(site, ...path), "utf8"));
const manifest = await read("live", "manifest.json");
const runtime = join(site, "live", manifest.runtime);
const {loadPyodide} = await import(pathToFileURL(join(runtime, "pyodide.mjs")));
const settings = {
  indexURL: runtime,
  lockFileContents: JSON.stringify(manifest.lock),
  env: manifest.environment,
};

// As worker.js does: Python that begins, and Python that goes on from what is kept of its memory.
const begun = await loadPyodide({...settings, _makeSnapshot: true});
await unpack(begun);
begun.runPython(manifest.begin);
const resumed = await loadPyodide({...settings, _loadSnapshot: begun.makeMemorySnapshot()});
await unpack(resumed);

async function unpack(python) {
  for (const name of [manifest.sources, ...manifest.packages.map((file) => file.name)]) {
    const zip = new Uint8Array(await readFile(join(site, "live", name)));
    const folder = name === manifest.sources ? "" : "/site-packages";
    python.unpackArchive(zip, "zip", {extractDir: `${manifest.path}${folder}`});
  }
}

const results = [];
for (const [language, python] of [["en", begun], ["zh-cn", resumed]]) {
  const bridge = python.pyimport("lifespec_docs.live.bridge");
  for (const file of (await readdir(join(site, language, "_live"), {recursive: true})).sort()) {
    if (!file.endsWith(".json")) continue;
    const {blocks, words} = await read(language, "_live", file);
    const numbers = Object.keys(blocks).map(Number);
    for (const number of numbers) {
      const before = numbers.filter((each) => each <= number).map((each) => blocks[each]);
      const began = performance.now();
      const answer = bridge.call("run_blocks", JSON.stringify({blocks: before, edited: {}, words}));
      const took = performance.now() - began;
      results.push({language, page: file.replace(/\.json$/, ""), number, took, ...JSON.parse(answer)});
    }
  }
}
console.log(JSON.stringify({pyodide: begun.version, results}));
