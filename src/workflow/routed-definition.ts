/** The definition of a routed workflow; which names of steps are valid, and which step a name means. */
import { isInvisible, visibleText } from "./field-types.js";
import { RESERVED } from "./names.js";
import type { FieldGate } from "./structure.js";

/** The name that a decider answers when the work is done. No step may have exactly this name; `Finish` is a step's. */
export const FINISH = "FINISH";

/** One step of a routed workflow, with its texts. Includes are already expanded. */
export interface RoutedStep {
  /** The name of the step: the text of its link in the index. */
  readonly name: string;
  /** The path of its file, relative to the workflow's folder; missing for a step in code. */
  readonly file?: string;
  /** The text for the decider. */
  readonly guidance: string;
  /** The text for the client. */
  readonly instructions: string;
  /** The whole text of the step with all sections, without its front matter. */
  readonly content: string;
  /** The only steps, or `FINISH`, that may follow. If missing, any may. */
  readonly next?: readonly string[];
  /** The gate for the report's `details`, checked before the decider is asked. */
  readonly gate?: FieldGate;
  /** Maximum number of times the step may be entered. If missing, there is no limit. */
  readonly maxVisits?: number;
}

/** A workflow whose next step is decided after each report. */
export interface RoutedDefinition {
  /** The name of the workflow. */
  readonly name: string;
  /** A digest of everything that was read, including included files. */
  readonly revision: string;
  /** The goal of the workflow. */
  readonly goal?: string;
  /** The text of the index, with includes expanded. */
  readonly index: string;
  /** The steps in the order of the index; at least one. */
  readonly steps: readonly [RoutedStep, ...RoutedStep[]];
}

/** Maximum length of a step's name, in characters. */
const STEP_NAME_MAX = 120;

/** Returns what to do about a name that no step can have; undefined for a valid name. */
export function stepNameFault(name: string): string | undefined {
  if (name === FINISH)
    return `${FINISH} is the answer of a decider that the work is done. Write "Finish" for a step, for example.`;
  const isValid = !isInvisible(name) && name.length <= STEP_NAME_MAX && !RESERVED.has(name);
  return isValid ? undefined : `Give it a visible name of at most ${STEP_NAME_MAX} characters.`;
}

/** Returns a name as a reader sees it: two names that are equal then can't be told apart. */
export function visibleName(name: string): string {
  return visibleText(name).normalize("NFC");
}

export function plainName(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

/** Returns the name that is meant: the same, or the only one that differs in case, spaces and punctuation alone. */
export function matchName(name: string, names: readonly string[]): string | undefined {
  const steps = names.map((other) => ({ name: other }));
  const [meant, second] = stepsMeant(name, steps);
  return second === undefined ? meant : undefined;
}

/**
 * Returns the steps that a name can mean: the exact one; else those that differ in case, spaces and punctuation alone;
 * else those whose file is meant. Pass `FINISH` with the steps where it can be meant.
 */
export function stepsMeant(name: string, steps: readonly Pick<RoutedStep, "name" | "file">[]): readonly string[] {
  if (steps.some((step) => step.name === name)) return [name];
  const plain = plainName(name);
  const byName = plain === "" ? [] : steps.filter((step) => plainName(step.name) === plain);
  const isPath = /\.md$/i.test(name);
  const file = fileName(name);
  const byFile = file === "" ? [] : steps.filter((step) => step.file !== undefined && fileName(step.file) === file);
  if (isPath && byFile.length > 0) return byFile.map((step) => step.name);
  // A step's file can be called finish.md, whatever the step's name is: only its author knows what "finish" means then.
  const isEnd = byName.length === 1 && byName[0]?.name === FINISH;
  const found = isEnd ? new Set([...byName, ...byFile]) : byName.length > 0 ? byName : byFile;
  return [...found].map((step) => step.name);
}

function fileName(path: string): string {
  return plainName(path.replace(/^.*\//, "").replace(/\.md$/i, ""));
}
