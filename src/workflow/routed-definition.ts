import type { FieldGate } from "./structure.js";
/** What a decider names as the next step when the work is done. No step may be called so, in any case. */
export const FINISH = "FINISH";

/** One step of a routed workflow, with its texts; included files stand in them. */
export interface RoutedStep {
  /** The text of the link that names it: its canonical name. */
  readonly name: string;
  /** Where its text lies, relative to the workflow's folder; missing for a step in code. */
  readonly file?: string;
  /** What the decider is told. */
  readonly guidance: string;
  /** What the client is told. */
  readonly instructions: string;
  /** The whole text of the step, other sections included, without its front matter. */
  readonly content: string;
  /** The only steps, or `FINISH`, that may follow; any may where it is missing. */
  readonly next?: readonly string[];
  /** What the report's `details` must show before the decider is asked. */
  readonly gate?: FieldGate;
  /** How often the step may be entered. */
  readonly maxVisits?: number;
}

/** A workflow whose next step is decided after each report. */
export interface RoutedDefinition {
  readonly name: string;
  /** A digest of everything that was read, included files too; the author's word for a workflow in code. */
  readonly revision: string;
  readonly goal?: string;
  /** The text of the index, included files in it. */
  readonly index: string;
  /** In the order of the index: at least one. */
  readonly steps: readonly [RoutedStep, ...RoutedStep[]];
}

/** A name without what people write differently: case, blanks, underscores, hyphens and signs. */
export function plainName(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

/** The one name that is meant: the same, or the only one that differs by case, blanks and signs alone. */
export function matchName(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name;
  const plain = plainName(name);
  const alike = names.filter((other) => plainName(other) === plain);
  return plain !== "" && alike.length === 1 ? alike[0] : undefined;
}
