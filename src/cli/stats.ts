/** `phasegate stats`: sums up the phased sessions of a state, with bars; with a file for the cursor, it reads only what is new. */
import { rename, rm, stat, writeFile } from "node:fs/promises";
import type { Writable } from "node:stream";
import { isPhasegateError } from "../errors.js";
import { LIVING } from "../phased/options.js";
import type { Statistics, StatisticsCursor } from "../phased/statistics.js";
import type { PhaseStatistics, SessionCounts, WorkflowStatistics } from "../phased/sums.js";
import { notedSumTexts } from "../read/noted.js";
import { isMissing } from "../sandbox/refusals.js";
import { isJsonObject } from "../workflow/json.js";
import { command, flag, required, text } from "./command.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { aligned, columnsOf, fitted, type Give } from "./layout.js";
import { openAll } from "./opened.js";
import { jsonOption, readJsonFile, stateOption } from "./options.js";
import { brokenLines } from "./sessions.js";
import { styledStatus } from "./standing-styles.js";
import { counted, durationText, printable, printJson, printLines, styled } from "./terminal.js";
import { readTrust, trustOptions } from "./trust.js";

const HELP = `
TIME is what sessions that have completed the phase were active at it; pauses do not count. If approvers are given, a
session counts as it was before any approval that is not by one of them. The exit code is 1 if there are such sessions,
or sessions that cannot be read.`;

export const statsCommand = command({
  name: "stats",
  description: "Sums up the phased sessions of a state: where they are, how long phases take, and why gates refuse.",
  options: {
    state: required(stateOption()),
    workflow: text("--workflow <type>", "only sessions on this workflow"),
    cursor: text("--cursor <file>", "keep what was read in this file; the next call reads only what is new"),
    wide: flag("--wide", "print whole names, however wide the terminal is"),
    json: jsonOption(),
    ...trustOptions(),
  },
  help: HELP,
  async run({ state, workflow: workflowType, cursor: file, wide, json, ...options }, terminal) {
    const trust = await readTrust(options);
    const before = file === undefined ? undefined : await readCursor(file);
    const { engine } = await openAll(state, trust);
    const found = await engine
      .statistics({ workflowType, cursor: before })
      .catch((error: unknown) => refuseCursor(error, file))
      .finally(() => engine.close());
    const { cursor, ...shown } = found;
    if (file !== undefined) await writeCursor(file, cursor);
    if (json) printJson(terminal, shown);
    else
      printLines(
        terminal,
        lines(found, trust.hashKey !== undefined, {
          stream: terminal.stdout,
          width: wide ? undefined : columnsOf(terminal.stdout),
        }),
      );
    return found.broken === undefined && found.unapproved === 0 ? EXIT.ok : EXIT.problems;
  },
});

/** Reads the cursor in a file; undefined if there is no such file yet. */
async function readCursor(file: string): Promise<StatisticsCursor | undefined> {
  if (!(await stat(file).catch((error: unknown) => !isMissing(error)))) return undefined;
  const cursor = await readJsonFile(file, "the cursor");
  if (isCursor(cursor)) return cursor;
  throw new CommandFailure(`${file} is not a cursor of this command`, EXIT.usage, newCursorHint(file));
}

function isCursor(value: unknown): value is StatisticsCursor {
  return isJsonObject(value) && typeof value.version === "number";
}

function refuseCursor(error: unknown, file: string | undefined): never {
  if (file === undefined || !isPhasegateError(error, "CURSOR_INVALID")) throw error;
  throw new CommandFailure(`${file}: ${error.message}`, EXIT.usage, newCursorHint(file), { cause: error });
}

function newCursorHint(file: string): string {
  return `Delete ${file}, or name another file: everything is then read again.`;
}

/** Writes the cursor beside the file first, so that an interruption leaves the old one. */
async function writeCursor(file: string, cursor: StatisticsCursor): Promise<void> {
  const beside = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(beside, `${JSON.stringify(cursor)}\n`, { mode: 0o600 });
    await rename(beside, file);
  } catch (cause) {
    await rm(beside, { force: true });
    throw new CommandFailure(`the cursor can't be written: ${file}`, EXIT.environment, "Check the path.", { cause });
  }
}

const NOT_ACCEPTED = "passed a gate with an approval that is not accepted.";

interface Look {
  readonly stream: Writable;
  /** The columns of the terminal; undefined if nothing is cut. */
  readonly width: number | undefined;
}

function lines(found: Statistics, isKeyed: boolean, look: Look): string[] {
  const { stream } = look;
  const { sessions, workflows, unapproved, broken = [] } = found;
  return [
    ...statusLines(sessions, stream),
    ...workflows.flatMap((workflow) => ["", ...workflowLines(workflow, look)]),
    ...(unapproved === 0 ? [] : ["", styled(stream, "red", `${counted(unapproved, "session")} ${NOT_ACCEPTED}`)]),
    ...brokenLines(broken, isKeyed, look, "read"),
  ];
}

function statusLines(sessions: SessionCounts, stream: Writable): string[] {
  const total = LIVING.reduce((sum, status) => sum + sessions[status], 0);
  const rows = LIVING.map((status) => [status, `${sessions[status]}`, bar(sessions[status], total)]);
  const padded = table(rows, [1], [], undefined);
  return [
    styled(stream, "bold", counted(total, "session")),
    ...LIVING.map((status, index) => (padded[index] ?? "").replace(status, styledStatus(stream, status))),
  ];
}

const HEADINGS = ["PHASE", "NOW", "DONE", "SKIPPED", "MEDIAN", "P90", "TIME", "ATTEMPTS", "FAILED"] as const;
/** The columns with numbers, which are aligned to the right. */
const NUMBERS = HEADINGS.flatMap((heading, column) => (heading === "PHASE" || heading === "TIME" ? [] : [column]));

/** Where the width is not enough: the name of a phase is cut, then its bar is left out. */
const GIVES = HEADINGS.map((heading): Give => {
  if (heading === "PHASE") return { least: 16 };
  return heading === "TIME" ? { optional: 2 } : {};
});

function workflowLines({ workflowType, sessions, children, phases }: WorkflowStatistics, look: Look): string[] {
  const { stream, width } = look;
  const total = LIVING.reduce((sum, status) => sum + sessions[status], 0);
  const longest = Math.max(0, ...phases.map(({ time }) => time?.medianSeconds ?? 0));
  const [headings = "", ...rows] = table(
    [HEADINGS, ...phases.map((phase) => cells(phase, longest))],
    NUMBERS,
    GIVES,
    width,
  );
  return [
    `${styled(stream, "bold", printable(workflowType))}: ${counted(total, "session")}${children === undefined ? "" : `, ${children} of them for a phase of another`}`,
    styled(stream, "bold", headings),
    ...rows,
    ...section("Why gates refuse, in attempts:", phases.flatMap(fieldRows), look),
    ...section("Persons and the host:", phases.flatMap(personRows), look),
    ...section("Noted on submissions:", phases.flatMap(notedRows), look),
  ];
}

function cells(
  { phase, name, gone, sessions, completed, skipped, time, attempts, failed }: PhaseStatistics,
  longest: number,
) {
  const { active, paused, failed: stopped } = sessions;
  const [median, p90] = [time?.medianSeconds, time?.p90Seconds].map((seconds) =>
    seconds === undefined ? "" : durationText(Math.round(seconds)),
  );
  return [
    printable(`${phase} ${name ?? ""}`.trim()) + (gone ? " (gone)" : ""),
    ...[active + paused + stopped, completed, skipped].map(String),
    ...[median ?? "", p90 ?? "", bar(time?.medianSeconds ?? 0, longest)],
    ...[attempts, failed].map(String),
  ];
}

/** Names a phase in the rows below the table: one of an older revision may have the number of another one. */
function rowName({ phase, name, gone }: PhaseStatistics): string {
  return gone ? printable(`phase ${name}, gone`) : `phase ${phase}`;
}

/** The most fields of a phase that are shown; `--json` has all. */
const FIELDS_SHOWN = 5;

function fieldRows(statistics: PhaseStatistics): string[][] {
  const { attempts, fields } = statistics;
  const refused = fields.filter(({ failed }) => failed > 0);
  const left = refused.length - FIELDS_SHOWN;
  const rows = refused.slice(0, FIELDS_SHOWN).map(({ field, failed }) => {
    const name = field === "" ? "(the evidence as a whole)" : printable(field);
    return [rowName(statistics), name, `${failed}`, bar(failed, attempts)];
  });
  return left > 0 ? [...rows, [rowName(statistics), `… ${left} more, which --json lists`, "", ""]] : rows;
}

function personRows(statistics: PhaseStatistics): string[][] {
  const { denied, overridden, refusedSteps, waivers, fields } = statistics;
  const waived = fields.filter((field) => field.waived > 0).map(({ field }) => printable(field));
  const counts: readonly (readonly [number, string, string])[] = [
    [denied, "attempt denied", "attempts denied"],
    [overridden, "override", "overrides"],
    [refusedSteps, "step ahead refused", "steps ahead refused"],
    [waivers.requested, "waiver asked for", "waivers asked for"],
    [waivers.granted, "waiver granted", "waivers granted"],
    [waivers.denied, "waiver denied", "waivers denied"],
  ];
  const texts = counts.flatMap(([count, one, many]) => (count === 0 ? [] : [counted(count, one, many)]));
  const all = waived.length === 0 ? texts : [...texts, `passed without ${waived.join(", ")}`];
  return all.length === 0 ? [] : [[rowName(statistics), all.join(", ")]];
}

function notedRows(statistics: PhaseStatistics): string[][] {
  return notedSumTexts(statistics.noted).map(({ label, text }) => [
    rowName(statistics),
    printable(`${label}: ${text}`),
  ]);
}

function section(title: string, rows: readonly (readonly string[])[], { stream, width }: Look): string[] {
  if (rows.length === 0) return [];
  const room = width && width - INDENT.length;
  const lines = table(rows, [2], [{}, { least: 20 }, {}, { optional: 2 }], room);
  return [`${INDENT}${styled(stream, "bold", title)}`, ...lines.map((line) => INDENT + line)];
}

const INDENT = "  ";

/** Returns rows as lines with aligned columns; those in `numbers` are aligned to the right. */
function table(
  rows: readonly (readonly string[])[],
  numbers: readonly number[],
  gives: readonly Give[],
  width: number | undefined,
): string[] {
  const { columns, rows: cells } = fitted(rows, gives, width && width - INDENT.length);
  const right = numbers.map((column) => columns.indexOf(column));
  return aligned(cells, right).map((line) => INDENT + line);
}

const BAR_WIDTH = 20;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/** Returns a bar for a share of a whole. Anything above 0 is seen. */
function bar(part: number, whole: number): string {
  if (part <= 0 || whole <= 0) return "";
  const eighths = Math.max(1, Math.round((part / whole) * BAR_WIDTH * EIGHTHS.length));
  return `${"█".repeat(Math.floor(eighths / EIGHTHS.length))}${EIGHTHS[eighths % EIGHTHS.length] ?? ""}`;
}
