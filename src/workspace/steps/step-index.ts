/** The steps of a skill by the names of their files: which files are steps, in which order, and where each leads. */
import { posix } from "node:path";

/** A step in the index of its skill. */
export interface StepEntry {
  /** The path of its file in the skill's folder, without `.md`: `steps/step-02-select-stack`. */
  readonly step: string;
  /** Missing for a branch without a number: `step-oneshot`. */
  readonly number?: number;
  /** Its title, from the name of its file. */
  readonly title: string;
}

const STEP_FILE = /^step-(?:(\d+)([a-z]?)(?:[-_](.*))?|([a-z].*))\.md$/i;
/** A folder with steps: `steps`, `steps-c`, `market-steps`. */
const STEP_FOLDER = /(?:^|[-_])steps(?:$|[-_])/i;
/** The file of a step as texts name it. */
const MENTIONED = /(?<![\w.-])(?:[\w.-]+\/)?step-[\w-]+\.md/gi;

export function isStepFolder(name: string): boolean {
  return STEP_FOLDER.test(name);
}

/** Builds the index of a skill's steps, sorted by folder, number and letter. Other files are left out. */
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

/** Returns the steps that a text names, each once, in order. Names without a folder are in `folder`. */
function mentionedSteps(index: readonly StepEntry[], text: string, folder: string): readonly StepEntry[] {
  const found = [...text.matchAll(MENTIONED)].map(([path]) => entryOf(index, path, folder));
  return [...new Set(found.filter((entry) => entry !== undefined))];
}

/** The words that lead to the step after them. */
const LEADS =
  /\b(?:follow|load|execute|run|invoke|open|proceed(?:ing)?|continue|go(?:ing|es)?|goto|return|loop|jump|skip|move|switch|route|start|begin|resume|exit|next|then|back)\b|→|⇒|->|=>|\[[A-Z0-9]{1,2}\]/gi;
/** The words that only cite the step after them, or forbid going there. */
const CITES =
  /\b(?:see|same|like|unlike|similar|conventions?|e\.g|such as|for (?:example|instance)|according to|per|(?:as|described|defined|documented|explained|shown|listed|found|written|created|made|set|done) (?:in|by|during|at)|(?<!\b(?:continue|resume|restart|start|begin|again) )from|by|since|after|until|instead of|rather than|(?:not|never|don't) (?:yet |ever )?(?:load|follow|execute|run|open|proceed|continue|go|start|begin|skip|jump))\b/gi;
/** The words after a name that make it a citation: a section of the file, or something that it has. */
const CITED = /^[`'"\])*]*\s*(?:§|'s\b|,? section\b)/i;

/** The number of characters before a name that say what it is for. */
const BEFORE = 120;

/** Each step once, in order. A name counts unless the last words before it only cite it: "same as step-05.md". */
function stepsLedTo(index: readonly StepEntry[], text: string, folder: string): readonly StepEntry[] {
  const found = [...text.matchAll(MENTIONED)].flatMap(({ 0: path, index: at }) => {
    const [before = ""] = text
      .slice(Math.max(0, at - BEFORE), at)
      .split("\n")
      .slice(-1);
    const isCited = CITED.test(text.slice(at + path.length, at + path.length + BEFORE)) || isCitation(before);
    const entry = isCited ? undefined : entryOf(index, path, folder);
    return entry === undefined ? [] : [entry];
  });
  return [...new Set(found)];
}

function isCitation(before: string): boolean {
  // A sentence that has ended says nothing about the next one.
  const clause = before.split(/(?<!\be\.g)[.;!?]\s/).at(-1) ?? "";
  const cited = endOf(CITES, clause);
  return cited > 0 && cited >= endOf(LEADS, clause);
}

/** Returns where the last match ends; 0 if there is none. */
function endOf(words: RegExp, text: string): number {
  const last = [...text.matchAll(words)].at(-1);
  return last === undefined ? 0 : last.index + last[0].length;
}

/** Finds a step by its name, with or without its folder and `.md`. */
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

/** Returns the first steps of a skill: those that its text names, or all with the lowest number. */
export function firstSteps(index: readonly StepEntry[], text: string): readonly StepEntry[] {
  const least = Math.min(...index.map(({ number }) => number ?? Number.POSITIVE_INFINITY));
  const firsts = index.filter(({ number }) => number === least);
  const plain = firsts.filter(({ step }) => !/step-\d+[a-z](?:[-_]|$)/i.test(posix.basename(step)));
  const named = mentionedSteps(index, text, ".").filter((entry) => firsts.includes(entry));
  // A text that lists all steps also names `step-01b`. That one follows `step-01` and is not a first step.
  const ways = named.filter((entry) => plain.includes(entry));
  if (ways.length > 0) return ways;
  if (named.length > 0) return named;
  return plain.length > 0 ? plain : firsts;
}

/** The steps that may follow a step. */
export interface StepsAfter {
  /** The default; missing if the skill is done after this step. */
  readonly follows?: StepEntry;
  /** All steps that may follow, the default first. After the last step they are earlier ones, to go back by choice. */
  readonly choices: readonly StepEntry[];
}

/**
 * Returns the steps that may follow a step. The default is `nextStepFile` of the front matter, else the only later step
 * that the text leads to, else the next number in the folder. A step that only leads back is the last one: an earlier
 * step follows it by choice alone, so every skill ends.
 */
export function stepsAfter(
  index: readonly StepEntry[],
  current: StepEntry,
  text: string,
  nextStepFile: string | undefined,
): StepsAfter {
  const folder = posix.dirname(current.step);
  const led = stepsLedTo(index, text, folder).filter((entry) => entry !== current);
  const given = nextStepFile === undefined ? undefined : entryOf(index, nextStepFile, folder);
  // A branch such as step-oneshot has no number: only its text says what comes after it.
  const isBranch = current.number === undefined;
  const later = led.filter((entry) => isBranch || isLater(entry, current));
  const inOrder = isBranch
    ? undefined
    : index.find((entry) => posix.dirname(entry.step) === folder && isLater(entry, current));
  const isBack = given !== undefined && !isBranch && !isLater(given, current) && inOrder === undefined;
  const follows = (isBack ? undefined : given) ?? (later.length === 1 ? later[0] : undefined) ?? inOrder;
  const others = given === undefined ? led : [given, ...led];
  if (follows === undefined) return { choices: [...new Set(others)] };
  return { follows, choices: [...new Set([follows, ...others])] };
}

/** Returns the steps between two steps of one folder, by their numbers. */
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
