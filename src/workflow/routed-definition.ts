/**
 * The definition of a routed workflow, and the comparison of step names: case, spaces and punctuation don't distinguish
 * names.
 */
import type { FieldGate } from "./structure.js";

/** The name that a decider answers when the work is done. No step may have it, in any case. */
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

/** Returns a name without case, spaces and punctuation, for comparison. */
export function plainName(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

/**
 * Returns the name that is meant: the same name, or the only one that differs in case, spaces and punctuation alone.
 */
export function matchName(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name;
  const plain = plainName(name);
  const alike = names.filter((other) => plainName(other) === plain);
  return plain !== "" && alike.length === 1 ? alike[0] : undefined;
}
