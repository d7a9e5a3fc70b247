/**
 * Builds the inspector's page, before the rest is built: its files become one module, so that a host's bundler takes them with
 * the code that serves them.
 *
 *     node scripts/build-page.mjs
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";

const from = "src/inspector/page";

const options = {
  bundle: true,
  format: "esm",
  minify: true,
  charset: "utf8",
  write: false,
  outdir: "page",
  legalComments: "none",
  logLevel: "warning",
  jsx: "automatic",
  jsxImportSource: "preact",
  platform: "browser",
};

const scripts = await build({
  ...options,
  metafile: true,
  target: "es2022",
  entryPoints: { page: `${from}/main.tsx`, plots: `${from}/plots.ts` },
  // A bundle of its own, which the page loads when it shows a plot.
  external: ["./plots.js"],
});
// Newer than es2022 says: light-dark() and nesting.
const newer = ["chrome123", "firefox120", "safari17.5"];
const styles = await build({ ...options, target: newer, entryPoints: [`${from}/page.css`] });

// The licenses of what is in the bundles ask for their texts.
const packages = new Set(
  Object.keys(scripts.metafile.inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
);
const licenses = [...packages].sort().map((name) => {
  const [file] = globSync(`node_modules/${name}/LICENSE*`);
  if (file === undefined) throw new Error(`${name} has no license`);
  return `${name}\n\n${readFileSync(file, "utf8").trim()}\n`;
});

const files = Object.fromEntries([
  ...["index.html", "icon.svg"].map((name) => [name, readFileSync(`${from}/${name}`, "utf8")]),
  ...[...scripts.outputFiles, ...styles.outputFiles].map(({ path, text }) => [basename(path), text]),
  ["licenses.txt", licenses.join("\n\n")],
]);
writeFileSync("src/inspector/page-files.js", `export const PAGE_FILES = ${JSON.stringify(files)};\n`);
