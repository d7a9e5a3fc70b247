import { posix } from "node:path";

/** A step's file in the index of its skill. */
export interface StepEntry {
  /** The file below the skill's folder, without `.md`: `steps/step-02-select-stack`. */
  readonly step: string;
  /** Missing for a branch without a number: `step-oneshot`. */
  readonly number?: number;
  /** Out of the file's name. */
  readonly title: string;
}

const STEP_FILE = /^step-(?:(\d+)([a-z]?)(?:[-_](.*))?|([a-z].*))\.md$/i;
/** Folders that hold steps: `steps`, `steps-c`, `market-steps`. */
const STEP_FOLDER = /(?:^|[-_])steps(?:$|[-_])/i;
/** A step's file as texts name it. */
const MENTIONED = /(?<![\w.-])(?:[\w.-]+\/)?step-[\w-]+\.md/gi;

/** Whether a folder's name says that there are steps in it. */
export function isStepFolder(name: string): boolean {
  return STEP_FOLDER.test(name);
}

/** The index of a skill's steps, in their order: by folder, by number, then by letter. Other files are left out. */
export function stepIndex(paths: readonly string[]): readonly StepEntry[] {
  const entries = paths.flatMap((path) => {
    const { 1: digits, 2: letter = "", 3: title, 4: branch } = STEP_FILE.exec(posix.basename(path)) ?? [];
    if (digits === undefined && branch === undefined) return [];
    const words = (title ?? branch ?? "").replace(/[-_]+/g, " ");
    const number = digits === undefined ? {} : { number: Number(digits) };
    const entry: StepEntry = { step: path.slice(0, -".md".length), ...number, title: words };
    const order = `${posix.dirname(path)}/${digits?.padStart(6, "0") ?? "~"}${letter.toLowerCase()}`;
    return [{ entry, order }];
  });
  return entries
    .sort((a, b) => (a.order === b.order ? (a.entry.step < b.entry.step ? -1 : 1) : a.order < b.order ? -1 : 1))
    .map(({ entry }) => entry);
}

/** The steps of an index that a text names, each once, in the text's order. `folder` is where its bare names lie. */
function mentionedSteps(index: readonly StepEntry[], text: string, folder: string): readonly StepEntry[] {
  const found = [...text.matchAll(MENTIONED)].map(([path]) => entryOf(index, path, folder));
  return [...new Set(found.filter((entry) => entry !== undefined))];
}

/** A step as an agent or a text names it: with or without its folder, with or without `.md`. */
export function entryOf(index: readonly StepEntry[], name: string, folder: string): StepEntry | undefined {
  const path = name.replace(/\.md$/i, "");
  const base = posix.basename(path);
  const above = posix.basename(posix.dirname(path));
  const same = index.filter(({ step }) => posix.basename(step) === base);
  return (
    same.find(({ step }) => step === path) ??
    same.find(({ step }) => posix.basename(posix.dirname(step)) === above) ??
    same.find(({ step }) => posix.dirname(step) === folder) ??
    (same.length === 1 ? same[0] : undefined)
  );
}

/** Where a skill begins: at the step that its text leads to, or at the only first one; several are to be chosen from. */
export function firstSteps(index: readonly StepEntry[], text: string): readonly StepEntry[] {
  const least = Math.min(...index.map(({ number }) => number ?? Number.POSITIVE_INFINITY));
  const firsts = index.filter(({ number }) => number === least);
  const plain = firsts.filter(({ step }) => !/step-\d+[a-z](?:[-_]|$)/i.test(posix.basename(step)));
  const named = mentionedSteps(index, text, ".").filter((entry) => firsts.includes(entry));
  // A text that lists all its steps names `step-01b` too, which is where `step-01` may lead, and no way in.
  const ways = named.filter((entry) => plain.includes(entry));
  if (ways.length > 0) return ways;
  if (named.length > 0) return named;
  return plain.length > 0 ? plain : firsts;
}

/**
 * Where a step leads: the first is the one that follows, the others may be asked for by name. What follows is what its
 * front matter calls `nextStepFile`, else the only later step that its text names, else the next number in its folder.
 */
export function stepsAfter(
  index: readonly StepEntry[],
  current: StepEntry,
  text: string,
  nextStepFile: string | undefined,
): readonly StepEntry[] {
  const folder = posix.dirname(current.step);
  const named = mentionedSteps(index, text, folder).filter((entry) => entry !== current);
  const later = named.filter((entry) => isLater(entry, current));
  const follows =
    (nextStepFile === undefined ? undefined : entryOf(index, nextStepFile, folder)) ??
    (later.length === 1 ? later[0] : undefined) ??
    index.find((entry) => posix.dirname(entry.step) === folder && isLater(entry, current));
  return [...new Set([...(follows === undefined ? [] : [follows]), ...named])];
}

/** The steps between two of one folder, by their numbers: what nobody gets past without being let through. */
export function stepsBetween(index: readonly StepEntry[], from: StepEntry, to: StepEntry): readonly StepEntry[] {
  const folder = posix.dirname(from.step);
  if (from.number === undefined || to.number === undefined || posix.dirname(to.step) !== folder) return [];
  const [low, high] = [from.number, to.number];
  return index.filter(
    ({ step, number }) => number !== undefined && number > low && number < high && posix.dirname(step) === folder,
  );
}

function isLater(entry: StepEntry, current: StepEntry): boolean {
  return (entry.number ?? -1) > (current.number ?? -1);
}
