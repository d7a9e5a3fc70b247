/**
 * Prints how the sources are cut into files: how many, how long, and how many lines import and re-export.
 *
 *     node scripts/source-report.mjs
 */
import { globSync, readFileSync } from "node:fs";

const files = globSync("src/**/*.ts")
  .map((path) => ({ path: path.replaceAll("\\", "/"), lines: readFileSync(path, "utf8").split("\n").slice(0, -1) }))
  .map(({ path, lines }) => ({ path, length: lines.length, imports: importLines(lines) }))
  .sort((one, other) => one.length - other.length);

const lengths = files.map(({ length }) => length);
const total = lengths.reduce((sum, length) => sum + length, 0);
const imports = files.reduce((sum, file) => sum + file.imports, 0);

console.log(`files            ${files.length}`);
console.log(`lines            ${total}, of which ${imports} are imports and re-exports`);
console.log(`lines per file   median ${lengths[lengths.length >> 1]}, mean ${Math.round(total / files.length)}`);
console.log(`under 60 lines   ${lengths.filter((length) => length < 60).length}`);
console.log(`above 400 lines  ${lengths.filter((length) => length > 400).length}`);
for (const { path, length } of files.slice(-5).reverse()) console.log(`  ${String(length).padStart(4)}  ${path}`);

const folders = Map.groupBy(files, ({ path }) => path.split("/").slice(1, -1)[0] ?? "(entry points)");
for (const [folder, own] of [...folders].sort(([one], [other]) => one.localeCompare(other))) {
  const lines = own.reduce((sum, { length }) => sum + length, 0);
  console.log(`${folder.padEnd(16)} ${String(own.length).padStart(3)} files ${String(lines).padStart(6)} lines`);
}

/** Counts the lines of import and re-export statements, also of those that go over several lines. */
function importLines(lines) {
  let [count, isOpen] = [0, false];
  for (const line of lines) {
    const begins = /^(import|export)\b[^=(]*(from "|\{$|\* )|^import "/.test(line);
    if (!begins && !isOpen) continue;
    count += 1;
    isOpen = !line.includes(";");
  }
  return count;
}
