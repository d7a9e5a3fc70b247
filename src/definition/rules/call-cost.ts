import { type Extent, extentOf, SCALAR, textExtent, together } from "./extent.js";

/** How many steps something takes at most, and how large what it gives can be. */
export interface Costed {
  readonly steps: number;
  readonly extent: Extent;
}

/** How many steps of its engine a pattern takes for a character, at most. */
export type PatternSteps = (pattern: string) => number;

/** How much slower a linear-time pattern is than going through a text, where its engine's cache is of use. */
const PATTERN_FACTOR = 8;
/** And for each of the steps that it takes for a character, where the cache is of none. */
const PATTERN_STEP_FACTOR = 3;
/** The most of these that one character of a pattern can stand for: each of those in `(?:aaaa){1000}`. */
const STEPS_A_CHARACTER = 1000;
/** The longest pattern that is run, in characters. */
export const PATTERN_MAX = 1000;
/** The most steps that a pattern may take for a character: they take time and memory before anything is matched. */
export const PATTERN_STEPS_MAX = 10_000;
/** How many patterns are read to know their steps; of more, and of those that are made by the rule, only the length is. */
const PATTERNS_READ = 8;
/** The costliest split that is made to know its parts beforehand, in steps. */
const SPLIT_MAX = 1_000_000;
/** Functions that look for a text in another. Where both repeat themselves, each place is looked at for long. */
const SEARCHES: ReadonlySet<string> = new Set(["contains", "indexOf", "lastIndexOf", "split"]);
/** Of functions that give back no text and no list. */
const GIVES_SCALAR: ReadonlySet<string> = new Set(
  "size has int uint double bool type contains startsWith endsWith matches_linear indexOf lastIndexOf isInteger ratio mod timestamp duration".split(
    " ",
  ),
);

/** Of a function, by the costs of its arguments. */
export function costOfCall(name: string, parts: readonly Costed[], patternSteps: PatternSteps): Costed {
  const all = together(parts.map(({ extent }) => extent));
  const steps = stepsOf(parts) + workOfCall(name, parts, patternSteps) + 1;
  if (GIVES_SCALAR.has(name)) return { steps, extent: SCALAR };
  // What stands between the parts of a list that are joined is there once for each.
  const [list, between] = parts.map(({ extent }) => extent);
  if (name === "join" && list !== undefined) {
    return { steps: steps + list.weight, extent: textExtent(32 * list.weight + list.size * (between?.size ?? 0)) };
  }
  if (name === "split") return { steps, extent: splitExtent(list, between) ?? ofAnyParts(all.weight) };
  return { steps, extent: textExtent(32 * all.weight) };
}

function workOfCall(name: string, parts: readonly Costed[], patternSteps: PatternSteps): number {
  const extents = parts.map(({ extent }) => extent);
  const { weight } = together(extents);
  // `size` of a list looks at no element.
  if (name === "size" || name === "has") return 1;
  const [text, by] = extents;
  if (text === undefined || by === undefined) return weight;
  if (SEARCHES.has(name)) return weight + text.weight * by.weight;
  return name === "matches_linear" ? weight * patternFactor(by, patternSteps) : weight;
}

function patternFactor({ size, values }: Extent, patternSteps: PatternSteps): number {
  const patterns = values?.filter((value) => typeof value === "string") ?? [];
  const isRead = values !== undefined && patterns.length <= PATTERNS_READ;
  const steps = isRead ? patterns.map(patternSteps) : [Math.min(STEPS_A_CHARACTER * size, PATTERN_STEPS_MAX)];
  return Math.max(PATTERN_FACTOR, ...steps.map((each) => PATTERN_STEP_FACTOR * each));
}

/** The parts of texts that are known, by a text between them that is known. */
function splitExtent(text: Extent | undefined, between: Extent | undefined): Extent | undefined {
  const [by, ...others] = between?.values ?? [];
  if (typeof by !== "string" || others.length > 0 || text?.values === undefined) return undefined;
  if (textExtent(by.length).weight * text.weight > SPLIT_MAX) return undefined;
  return extentOf(text.values.map((value) => (typeof value === "string" ? value.split(by) : [])));
}

/** A text is split into as many parts as it has characters, each of which may be all of it. */
function ofAnyParts(weight: number): Extent {
  const { size } = textExtent(32 * weight);
  return { size, weight: 1 + 2 * size };
}

/** Of an operator, by the costs of its operands. */
export function costOfOperator(operator: string, parts: readonly Costed[]): Costed {
  const extents = parts.map(({ extent }) => extent);
  const own = stepsOf(parts) + 1;
  const [left = SCALAR, right = SCALAR] = extents;
  switch (operator) {
    case "+":
      return { steps: own + left.size + right.size, extent: together(extents) };
    case "in":
      return { steps: own + right.weight, extent: SCALAR };
    case "&&":
    case "||":
    case "!_":
    case "-_":
      return { steps: own, extent: SCALAR };
    default:
      return { steps: own + Math.min(left.weight, right.weight), extent: SCALAR };
  }
}

/** All of them together. */
export function stepsOf(parts: readonly Costed[]): number {
  return parts.reduce((total, { steps }) => total + steps, 0);
}
