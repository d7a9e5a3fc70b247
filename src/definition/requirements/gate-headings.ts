/** Which headings, and which lines in bold that stand for one, say that a gate's requirements follow. */
import { headingName } from "../markdown/inline-text.js";
import type { Section } from "../markdown/markdown-blocks.js";
import type { NumberedLine } from "./sentences.js";

const GATE = /validation[ -]gate|checkpoint|(?:completion|exit) criteria|\bevidence\b/;
/** Headings of what is done, or shown, not of what is asked. */
const NO_GATE = /^(?:task|step)\b|\bexamples?\b/;

/** Whether a heading's name is a gate's. */
export function gateHeadingIn(name: string): boolean {
  return GATE.test(name) && !NO_GATE.test(name);
}

/** For each section whether it stands below a gate's heading. */
export function gatesAmong(sections: readonly Section[]): boolean[] {
  let depth = Number.POSITIVE_INFINITY;
  return sections.map((section) => {
    const name = headingName(section.heading);
    if (section.depth > depth) return !NO_GATE.test(name);
    const isGate = gateHeadingIn(name);
    depth = isGate ? section.depth : Number.POSITIVE_INFINITY;
    return isGate;
  });
}

/** A line that stands for a heading. */
export interface Label {
  readonly text: string;
  readonly isBold: boolean;
}

/** A paragraph that is a label alone: `**Checkpoint**`, `Evidence:`. */
export function labelOf([first, ...others]: readonly NumberedLine[]): Label | undefined {
  if (first === undefined || others.length > 0) return undefined;
  const [, bold, plain] =
    /^\s*(?:(?:\*\*|__)([^*_]{1,80})(?:\*\*|__):?|((?:[\w-]+ ){0,4}[\w-]+):)\s*$/.exec(first.text) ?? [];
  const text = bold ?? plain;
  return text === undefined ? undefined : { text, isBold: bold !== undefined };
}
