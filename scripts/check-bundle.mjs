/**
 * Bundles the build's core for a browser. Fails on any Node module, in chunks that load later too, and
 * when what loads at once weighs 63.5 kB or more, minified and gzipped. Needs a build.
 *
 *     node scripts/check-bundle.mjs [file]      another file than dist/index.js
 *
 * Without a file it also checks that the inspector's page, all its files together, weighs less than 47.6 kB.
 */
import { basename, extname } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const LIMIT = 63_500;
const PAGE_LIMIT = 47_600;
const entry = process.argv[2] ?? "dist/index.js";

const { metafile, outputFiles } = await build({
  entryPoints: [entry],
  bundle: true,
  // A browser has no `node:` modules, so an import of one is an error that names the file and the line.
  platform: "browser",
  format: "esm",
  target: "es2022",
  minify: true,
  // What is only ever loaded by import() goes into files of its own, which don't count.
  splitting: true,
  metafile: true,
  write: false,
  outdir: "out",
  logLevel: "error",
}).catch(() => process.exit(1));

const files = Object.entries(metafile.outputs);
const start = `out/${basename(entry, extname(entry))}.js`;
const atOnce = staticClosure(start);
const gzipped = (path) => {
  const file = outputFiles.find((candidate) => candidate.path.replaceAll("\\", "/").endsWith(`/${path}`));
  return gzipSync(file.contents, { level: 9 }).length;
};
const total = [...atOnce].reduce((sum, path) => sum + gzipped(path), 0);
const minified = [...atOnce].reduce((sum, path) => sum + metafile.outputs[path].bytes, 0);

console.log(`loaded at once: ${kB(total)} gzipped, ${kB(minified)} minified; the limit is ${kB(LIMIT)} gzipped`);
for (const [name, bytes] of weights(atOnce)) console.log(`  ${kB(bytes).padStart(9)} minified  ${name}`);
const later = new Set(files.map(([path]) => path).filter((path) => !atOnce.has(path)));
if (later.size > 0) {
  console.log("loaded by import(), not counted:");
  for (const [name, bytes] of weights(later)) console.log(`  ${kB(bytes).padStart(9)} minified  ${name}`);
}

if (total >= LIMIT) {
  console.error(`${entry} weighs ${kB(total)}: load by import() what isn't always needed, or do without it.`);
  process.exitCode = 1;
}

if (process.argv[2] === undefined) await checkPage();

/** An output file and all that it imports by `import` statements. */
function staticClosure(path, seen = new Set()) {
  if (seen.has(path)) return seen;
  seen.add(path);
  for (const { path: next, kind } of metafile.outputs[path].imports) {
    if (kind === "import-statement") staticClosure(next, seen);
  }
  return seen;
}

/** What each package contributes to some output files, the heaviest first. */
function weights(paths) {
  const sums = new Map();
  for (const path of paths) {
    for (const [input, { bytesInOutput }] of Object.entries(metafile.outputs[path].inputs)) {
      const name = input
        .split("node_modules/")
        .at(-1)
        .match(/^(@[^/]+\/[^/]+|[^/]+)/)?.[0];
      const owner = input.includes("node_modules/") ? name : "phasegate";
      sums.set(owner, (sums.get(owner) ?? 0) + bytesInOutput);
    }
  }
  return [...sums].filter(([, bytes]) => bytes > 0).sort(([, a], [, b]) => b - a);
}

function kB(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}

async function checkPage() {
  const { PAGE_FILES } = await import("../src/inspector/page-files.js");
  const files = Object.entries(PAGE_FILES).map(([name, text]) => [name, gzipSync(text, { level: 9 }).length]);
  const bytes = files.reduce((sum, [, size]) => sum + size, 0);
  console.log(`the inspector's page: ${kB(bytes)} gzipped; the limit is ${kB(PAGE_LIMIT)}`);
  for (const [name, size] of files) console.log(`  ${kB(size).padStart(9)} gzipped   ${name}`);
  if (bytes < PAGE_LIMIT) return;
  console.error(`The inspector's page weighs ${kB(bytes)}: do without what it can do without.`);
  process.exitCode = 1;
}
