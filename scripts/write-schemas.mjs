/**
 * Keeps schemas/*.json equal to what scripts/editor-schemas.ts describes. With --write the files are written; else a difference
 * fails.
 *
 *     node --import ./scripts/run-sources.mjs scripts/write-schemas.mjs [--write]
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { editorSchemas } from "./editor-schemas.ts";

const FOLDER = "schemas";
const write = process.argv.includes("--write");

mkdirSync(FOLDER, { recursive: true });
const wanted = Object.entries(editorSchemas()).map(([name, schema]) => [name, `${lines(schema, 2)}\n`]);
const names = wanted.map(([name]) => name);
const stray = readdirSync(FOLDER).filter((name) => !names.includes(name));
const stale = wanted.filter(([name, text]) => !readdirSync(FOLDER).includes(name) || textOf(name) !== text);

if (write) {
  for (const name of stray) rmSync(join(FOLDER, name));
  for (const [name, text] of stale) writeFileSync(join(FOLDER, name), text);
}
for (const name of [...stray, ...stale.map(([name]) => name)]) {
  console.log(
    `${FOLDER}/${name}: ${write ? "updated" : "is not what scripts/editor-schemas.ts says; run `npm run schemas`"}`,
  );
}
console.log(`${names.length} schemas`);
if (!write && stray.length + stale.length > 0) process.exitCode = 1;

/** JSON with a line for each key, so that a change is seen where it is; below two levels in one line, which halves the size. */
function lines(value, levels, indent = "") {
  if (levels === 0 || typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  const inner = `${indent}  `;
  const members = Object.entries(value).map(
    ([key, member]) => `${inner}${JSON.stringify(key)}: ${lines(member, levels - 1, inner)}`,
  );
  return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n${indent}}`;
}

function textOf(name) {
  return readFileSync(join(FOLDER, name), "utf8").replaceAll("\r\n", "\n");
}
