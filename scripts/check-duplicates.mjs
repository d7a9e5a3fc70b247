/**
 * Fails where two places of src/ have the same twelve lines, names and values left out of account (jscpd). Tables, lists of
 * types and migrations repeat their shape by nature: pairs in which a file named below takes part are counted, and pass.
 * So are pairs of imports.
 *
 *     node scripts/check-duplicates.mjs
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MIN_LINES = 12;
const MIN_TOKENS = 50;
const TABLES = new Map([
  ["workflow/diagnostic.ts", "the codes of diagnostics"],
  ["workspace/tools/sessions.ts", "the tools and what they take"],
  ["rules/compile.ts", "types and functions, in words"],
  ["cli/cli.ts", "the commands and their files"],
  ["cli/log.ts", "the level of each notification"],
  ["tools/dispatch.ts", "the error codes on the wire"],
  ["tools/phased/table.ts", "an action and what runs it, line by line"],
  ["tools/routed/calls.ts", "the names of tools"],
  ["http/routes.ts", "the routes"],
  ["http/phased.ts", "the same, in words"],
  ["phased/notifications.ts", "the notifications and what they hold"],
  ["phased/phased.ts", "events and the notifications that they become"],
  ["phased/state/events.ts", "the events and what they hold"],
  ["phased/engine.ts", "the engine's methods, each of which hands a call on"],
  ["phased/by-id.ts", "the same, by the session's id"],
  ["cli/attempts.ts", "the words for each event"],
  ["phased/session.ts", "the session's methods, each of which hands a call on"],
  ["phased/session-decisions.ts", "the same"],
  ["index.ts", "the names that an entry point exports"],
  ["routed/engine.ts", "the engine's methods, each of which hands a call on"],
  ["routed/commands.ts", "the commands and what they hold"],
  ["plan/plan.ts", "the types of a plan"],
  ["workflow/gate-definition.ts", "the types of a gate"],
  ["storage/files/layout.ts", "where each file is"],
  ["runtime/notifier.ts", "who is notified of which error"],
]);

const folder = mkdtempSync(join(tmpdir(), "phasegate-duplicates-"));
const flags = ["--min-lines", MIN_LINES, "--min-tokens", MIN_TOKENS, "--ignore-identifiers", "--ignore-literals"];
// Fetched when it is needed: of its binaries, registries may have only some.
const { status, stderr, error } = spawnSync(
  "npx",
  ["--yes", "jscpd@5.3.3", ...flags, "--mode", "weak", "--format", "typescript", "--max-lines", 10_000]
    .concat(["--max-size", "1mb", "--reporters", "json", "--output", folder, "src"])
    .map(String),
  { encoding: "utf8", shell: process.platform === "win32" },
);
if (status !== 0) {
  console.error(error?.message ?? stderr);
  process.exit(1);
}
const { duplicates, statistics } = JSON.parse(readFileSync(join(folder, "jscpd-report.json"), "utf8"));
rmSync(folder, { recursive: true });
if (statistics.total.sources === 0) throw new Error("no source was read");

const place = ({ name, start, end }) => `${name}:${start}-${end}`;
const inTable = ({ name }) => TABLES.has(name.replaceAll("\\", "/").replace(/^.*src\//, ""));
/** The last line of a file's imports, which stand at its beginning. */
function importsEnd(name) {
  const lines = readFileSync(join("src", name.replaceAll("\\", "/").replace(/^.*src\//, "")), "utf8").split("\n");
  return lines.findLastIndex((line) => /^(?:import .*|\}) from ".*";$/.test(line)) + 1;
}
const isImport = ({ name, end }) => end <= importsEnd(name);
const passes = (file) => inTable(file) || isImport(file);
const found = duplicates.filter(({ firstFile, secondFile }) => !passes(firstFile) && !passes(secondFile));
for (const { firstFile, secondFile, lines } of found) {
  console.error(`${lines} lines twice: ${place(firstFile)} and ${place(secondFile)}`);
}
console.log(
  `${statistics.total.sources} files: ${duplicates.length - found.length} pairs in tables and imports, ${found.length} others`,
);
if (found.length > 0) process.exitCode = 1;
