/**
 * Builds the inspector's page, before the rest is built: its files become one module, so that a host's bundler takes them with
 * the code that serves them. The view of a session inside of a client is one file, with all that it needs.
 *
 *     node scripts/build-page.mjs
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";
import { licensesOf } from "./licenses.ts";

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
  entryPoints: { page: `${from}/main.tsx` },
});
// Newer than es2022 says: light-dark() and nesting.
const newer = ["chrome123", "firefox120", "safari17.5"];
const styles = await build({ ...options, target: newer, entryPoints: [`${from}/page.css`] });

const [view, viewStyle] = await Promise.all([
  build({ ...options, metafile: true, target: newer, entryPoints: [`${from}/in-client.tsx`] }),
  build({ ...options, target: newer, entryPoints: [`${from}/in-client.css`] }),
]);

const files = Object.fromEntries([
  ...["index.html", "icon.svg"].map((name) => [name, readFileSync(`${from}/${name}`, "utf8")]),
  ...[...scripts.outputFiles, ...styles.outputFiles].map(({ path, text }) => [basename(path), text]),
  ["licenses.txt", licensesOf(scripts.metafile)],
]);
writeFileSync("src/inspector/page-files.js", `export const PAGE_FILES = ${JSON.stringify(files)};\n`);

/** The view with a policy of its own: whatever its client allows, it runs this script alone and has no network. */
function viewPage(script, style) {
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>phasegate</title>
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<script type="module">${script}</script>
<!--
${licensesOf(view.metafile)}-->
</body>
</html>
`;
}
const html = viewPage(view.outputFiles[0].text, viewStyle.outputFiles[0].text);
writeFileSync("src/mcp/session-view-file.js", `export const SESSION_VIEW = ${JSON.stringify(html)};\n`);
