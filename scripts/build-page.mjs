/**
 * Builds the inspector's page into dist/page. `tsup` runs it when it has built the rest.
 *
 *     node scripts/build-page.mjs
 */
import { copyFileSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const [from, to] = ["src/inspector/page", "dist/page"];

const options = {
  bundle: true,
  format: "esm",
  minify: true,
  charset: "utf8",
  outdir: to,
  legalComments: "none",
  logLevel: "warning",
  jsx: "automatic",
  jsxImportSource: "preact",
  platform: "browser",
};

const { metafile } = await build({
  ...options,
  metafile: true,
  target: "es2022",
  entryPoints: { page: `${from}/main.tsx`, plots: `${from}/plots.ts` },
  // A bundle of its own, which the page loads when it shows a plot.
  external: ["./plots.js"],
});
// Newer than es2022 says: light-dark() and nesting.
await build({ ...options, target: ["chrome123", "firefox120", "safari17.5"], entryPoints: [`${from}/page.css`] });
for (const file of ["index.html", "icon.svg"]) copyFileSync(`${from}/${file}`, `${to}/${file}`);

// The licenses of what is in the bundles ask for their texts.
const packages = new Set(
  Object.keys(metafile.inputs).flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
);
const licenses = [...packages].sort().map((name) => {
  const [file] = globSync(`node_modules/${name}/LICENSE*`);
  if (file === undefined) throw new Error(`${name} has no license`);
  return `${name}\n\n${readFileSync(file, "utf8").trim()}\n`;
});
writeFileSync(`${to}/licenses.txt`, licenses.join("\n\n"));
