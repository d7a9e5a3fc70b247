/**
 * Keeps schemas/*.json equal to what scripts/schemas/ describes. With --write the files are written; else a difference
 * fails.
 *
 *     node --import ./scripts/run-sources.mjs scripts/write-schemas.mjs [--write]
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { editorSchemas } from "./schemas/schemas.ts";

const FOLDER = "schemas";
const write = process.argv.includes("--write");

mkdirSync(FOLDER, { recursive: true });
const wanted = Object.entries(editorSchemas()).map(([name, schema]) => [name, `${JSON.stringify(schema, null, 2)}\n`]);
const names = wanted.map(([name]) => name);
const stray = readdirSync(FOLDER).filter((name) => !names.includes(name));
const stale = wanted.filter(([name, text]) => !readdirSync(FOLDER).includes(name) || textOf(name) !== text);

if (write) {
  for (const name of stray) rmSync(join(FOLDER, name));
  for (const [name, text] of stale) writeFileSync(join(FOLDER, name), text);
}
for (const name of [...stray, ...stale.map(([name]) => name)]) {
  console.log(`${FOLDER}/${name}: ${write ? "updated" : "is not what scripts/schemas/ says; run `npm run schemas`"}`);
}
console.log(`${names.length} schemas`);
if (!write && stray.length + stale.length > 0) process.exitCode = 1;

function textOf(name) {
  return readFileSync(join(FOLDER, name), "utf8").replaceAll("\r\n", "\n");
}
