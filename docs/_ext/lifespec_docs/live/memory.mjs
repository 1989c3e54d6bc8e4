// Writes Python's memory as it is when our modules have been imported, so that a browser need not
// start and import them: node memory.mjs LIVE INTO, where LIVE is the folder of the site.
import {readFile, writeFile} from "node:fs/promises";
import {join} from "node:path";
import {pathToFileURL} from "node:url";

const [live, into] = process.argv.slice(2);
const manifest = JSON.parse(await readFile(join(live, "manifest.json"), "utf8"));
const runtime = join(live, manifest.runtime);
const {loadPyodide} = await import(pathToFileURL(join(runtime, "pyodide.mjs")));
const python = await loadPyodide({
  indexURL: runtime,
  lockFileContents: JSON.stringify(manifest.lock),
  env: manifest.environment,
  _makeSnapshot: true,
});
const sources = new Uint8Array(await readFile(join(live, manifest.sources)));
python.unpackArchive(sources, "zip", {extractDir: manifest.path});
python.runPython(manifest.begin);
await writeFile(into, python.makeMemorySnapshot());
