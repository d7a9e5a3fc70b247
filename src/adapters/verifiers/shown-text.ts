/**
 * How texts that somebody else has made stand in results: one line each, bounded, and without
 * anything that a terminal or a reader could be misled by.
 */
import { escapeHidden, shown } from "../../definition/names.js";

const LINES_MAX = 10;
const LINE_MAX = 200;
const COMMAND_MAX = 300;
/** Colours and cursor movements, titles and links of terminals. Their parts can't overlap. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
const ESCAPES = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]/g;

/** A path as it may stand in a message. */
export function shownPath(path: string): string {
  return shown(path).slice(1, -1);
}

/** Returns a text without a terminal's commands, and with escapes for controls and hidden characters. */
export function harmless(text: string): string {
  return escapeHidden(withoutEscapes(text));
}

/** Returns a text without a terminal's colours: they may stand in the middle of a path, which then isn't found. */
export function withoutEscapes(text: string): string {
  return text.replace(ESCAPES, "");
}

/** The first lines of a text; of a longer one also the last ones, behind `…`. Empty lines at the end don't count. */
export function outputLines(text: string): string[] {
  const lines = text.trimEnd().split(/\r\n|\n|\r/);
  if (lines.length === 1 && lines[0] === "") return [];
  const chosen =
    lines.length <= 2 * LINES_MAX ? lines : [...lines.slice(0, LINES_MAX), "…", ...lines.slice(-LINES_MAX)];
  return chosen.map((line) => shortened(harmless(line.slice(0, 4 * LINE_MAX)), LINE_MAX));
}

/** A command with its arguments, as a person would type it. */
export function shownCommand(argv: readonly string[]): string {
  const words = argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word)));
  return shortened(harmless(words.join(" ").replaceAll("\n", " ")), COMMAND_MAX);
}

function shortened(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}
