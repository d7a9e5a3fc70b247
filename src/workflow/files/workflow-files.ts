/**
 * The files of a workflow's folder: size, encoding, names of gate files; and how long a list waits for a definition.
 */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { isPhasegateError } from "../../errors.js";
import { type FullClock, systemClock } from "../../ports/clock.js";
import { type Diagnostic, linesOf, unreadable } from "../diagnostic.js";
import type { Spot } from "../file-schema.js";
import { HIDDEN } from "../hidden.js";
import { parseRelativePath } from "../names.js";
import type { Report } from "../report.js";

/** The file that makes a folder a workflow. */
export const METADATA_FILE = "metadata.json";

export const FILE_MAX = 1024 * 1024;

export interface WorkflowFiles {
  /** All paths, sorted, including those that could not be read. */
  readonly paths: readonly string[];
  /** Checks whether a file exists, readable or not. An unreadable one already has a diagnostic. */
  has(path: string): boolean;
  /** Returns a text without byte order mark. */
  text(path: string): string | undefined;
}

interface NamedText {
  readonly path: string;
  readonly text: string;
}

/** Takes the texts, and checks their size, byte order mark and line ends. `unreadable` are the files without a text. */
export function takeFiles(
  files: readonly NamedText[],
  unreadable: readonly Diagnostic[],
  report: Report,
): WorkflowFiles {
  const texts = new Map<string, string>();
  const paths = new Set([...files.map(({ path }) => path), ...unreadable.map(({ file }) => file)]);
  for (const { path, text } of files) {
    if (isTooLarge(text)) {
      report.error("FILE_TOO_LARGE", { file: path }, `the file is larger than ${FILE_MAX} bytes`, "Split it.");
      continue;
    }
    checkText(path, text, report);
    texts.set(path, withoutMark(text));
  }
  return { paths: [...paths].sort(), has: (path) => paths.has(path), text: (path) => texts.get(path) };
}

/** Returns a text without the byte order mark that some editors put before it. */
export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

export const GATE_FILES = ["gate-definition.yaml", "gate-definition.yml"] as const;

export function isGateFile(path: string): boolean {
  return GATE_FILES.some((name) => path === name || path.endsWith(`/${name}`));
}

/** Checks whether a path is a gate file in a folder that looks like a phase's: `phases/01/`, `Phases/1/`. */
export function isInLikelyPhase(path: string): boolean {
  return isGateFile(path) && /^\s*phases?\s*\/[^/\p{N}]*\p{N}[^/]*\/[^/]+$/iu.test(path.replace(HIDDEN, ""));
}

/** Checks for names such as `Gate-Definition.YAML`, `gate.json` and `gate.yaml.bak`, which must be reported. */
export function looksLikeGate(written: string): boolean {
  const name = written.normalize("NFKC").replace(HIDDEN, "");
  if (GATE_FILES.some((usual) => isAlike(usual, name))) return true;
  // Markdown files are texts: `task-3-write-gate-definitions.md` is a task.
  if (/\.md$/i.test(name)) return /^gates?[^a-z]{0,2}def/i.test(name);
  const gate = name.search(/gate/i);
  if (gate !== -1 && /\.ya?ml/i.test(name.slice(gate))) return true;
  return /gates?[^a-z]{0,2}def|^gates?\.(?:json\w?|toml|txt)$/i.test(name);
}

/** Returns a path from the metadata, in a list of one. Returns an empty list and reports an error if it is invalid. */
export function checkedPath(path: string, spot: Spot): string[] {
  try {
    return [parseRelativePath(path)];
  } catch (error) {
    if (!isPhasegateError(error, "PATH_REFUSED")) throw error;
    spot.report.error("PATH_REFUSED", spot.place(), error.message, "Give a path inside the workflow's folder.");
    return [];
  }
}

/** Number of definitions that are read at the same time: each may have a file open. */
const AT_ONCE = 16;

/** Maximum time that a definition is read without letting other work run, in milliseconds. */
export const TURN_MS = 20;

/** Maximum time that a list waits for one definition, in milliseconds. */
const READ_MS = 10_000;
/** The wait is counted in ticks, so that time in which one definition blocks the thread is not counted against others. */
const TICK_MS = 100;

/** Reads definitions for a list. One that throws or is late is broken alone; a late one is read to its end later. */
export class TimedReads<T> {
  readonly #late = new Map<string, Promise<unknown>>();
  readonly #broken: (name: string, diagnostic: Diagnostic) => T;

  readonly #clock: Pick<FullClock, "after">;

  /** `broken` makes the list entry for a definition that can't be read. */
  constructor(broken: (name: string, diagnostic: Diagnostic) => T, clock: Pick<FullClock, "after"> = systemClock) {
    this.#broken = broken;
    this.#clock = clock;
  }

  /** Reads all names, some at the same time. Undefined results are left out. */
  async all(names: readonly string[], read: (name: string) => Promise<T | undefined>): Promise<T[]> {
    const found: (T | undefined)[] = [];
    const left = names.entries();
    const worker = async () => {
      for (const [index, name] of left) found[index] = await this.one(name, read);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return found.filter((one) => one !== undefined);
  }

  /** Reads one name. Never throws, and takes no longer than a list waits. */
  async one(name: string, read: (name: string) => Promise<T | undefined>): Promise<T | undefined> {
    if (this.#late.has(name)) return this.#broken(name, late());
    // The async function also catches what `read` throws synchronously.
    const reading = (async () => read(name))().catch((error: unknown) => this.#broken(name, unreadable(error)));
    let cancel = () => {};
    const deadline = new Promise<T>((resolve) => {
      const tick = (left: number) => {
        if (left > 0) {
          cancel = this.#clock.after(TICK_MS, () => tick(left - 1));
          return;
        }
        const ended = reading.finally(() => this.#late.delete(name));
        this.#late.set(name, ended);
        resolve(this.#broken(name, late()));
      };
      tick(READ_MS / TICK_MS);
    });
    try {
      return await Promise.race([reading, deadline]);
    } finally {
      cancel();
    }
  }
}

function isTooLarge(text: string): boolean {
  // A character has one to three bytes, so only some texts have to be counted.
  return text.length > FILE_MAX || (text.length * 3 > FILE_MAX && utf8ToBytes(text).length > FILE_MAX);
}

function checkText(file: string, text: string, report: Report): void {
  if (text !== withoutMark(text)) {
    const hint = "Save the file as UTF-8 without one.";
    report.warn("BOM", { file, line: 1, column: 1 }, "the file begins with a byte order mark", hint);
  }
  const crlf = text.indexOf("\r\n");
  if (crlf === -1) return;
  const hint = "Save the file with line ends of one character (LF).";
  report.warn("CRLF", linesOf(file, text)(crlf), "the file has Windows line ends (CRLF)", hint);
}

/** Checks whether a name equals another, except for letters outside ASCII: a Cyrillic `а` looks like an `a`. */
function isAlike(usual: string, name: string): boolean {
  const letters = [...name.toLowerCase()];
  return letters.length === usual.length && letters.every((letter, at) => letter === usual[at] || letter > "\u007f");
}

function late(): Diagnostic {
  const hint =
    "Reading continues, and the definition is listed once it has been read. If that never happens, make it smaller, or check its source.";
  return { ...unreadable(undefined), message: `the definition is not read within ${READ_MS / 1000} seconds`, hint };
}
