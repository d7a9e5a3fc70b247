import { toString as textOf } from "mdast-util-to-string";
import type { Report } from "../../definition/folder/report.js";
import { headingName, plainText } from "../../definition/markdown/inline-text.js";
import { blocksOf } from "../../definition/markdown/markdown-blocks.js";
import type { ExpandedText } from "./expanded-text.js";

/** The two sections that every step has, as their headings are looked up. */
const REQUIRED = { guidance: "orchestrator guidance", instructions: "client instructions" } as const;
const TITLES = { guidance: "# Orchestrator Guidance", instructions: "# Client Instructions" } as const;

/** What a step tells the decider, and what the client. */
export interface StepSections {
  readonly guidance: string;
  readonly instructions: string;
}

interface Heading {
  readonly name: string;
  readonly depth: number;
  readonly line: number;
  /** Where it begins, and where what stands below it does. */
  readonly start: number;
  readonly end: number;
}

/**
 * Finds a step's sections in its Markdown tree, where a marker in a fence is no heading: those of depth 1, of any case
 * and spacing, in any order; any other heading of depth 1 ends them. Undefined, with an error, where one is missing.
 */
export function readSections(step: ExpandedText, report: Report): StepSections | undefined {
  const headings = headingsOf(step.text);
  const guidance = sectionOf("guidance", step, headings, report);
  const instructions = sectionOf("instructions", step, headings, report);
  return guidance === undefined || instructions === undefined ? undefined : { guidance, instructions };
}

function headingsOf(text: string): Heading[] {
  return (blocksOf(text) ?? []).flatMap((block) => {
    if (block.type !== "heading" || block.position === undefined) return [];
    const { start, end } = block.position;
    const name = headingName(plainText(textOf(block))).replace(/\s+/g, " ");
    return [{ name, depth: block.depth, line: start.line, start: start.offset ?? 0, end: end.offset ?? 0 }];
  });
}

function sectionOf(
  section: keyof typeof REQUIRED,
  step: ExpandedText,
  headings: readonly Heading[],
  report: Report,
): string | undefined {
  const named = headings.filter(({ name }) => name === REQUIRED[section]);
  const [heading, second] = named.filter(({ depth }) => depth === 1);
  const title = `"${TITLES[section]}"`;
  if (heading === undefined) {
    const other = named[0];
    const hint = other === undefined ? `Write ${title} and the text below it.` : `Write ${title}, with one '#'.`;
    report.error("SECTION_MISSING", step.place(other?.line ?? 1), `the step has no section ${title}`, hint);
    return undefined;
  }
  if (second !== undefined) {
    const hint = "Put both texts below one heading.";
    report.error("SECTION_DUPLICATE", step.place(second.line), `the section ${title} is there twice`, hint);
  }
  const next = headings.find(({ depth, start }) => depth === 1 && start > heading.start);
  const text = step.text.slice(heading.end, next?.start).trim();
  if (text !== "") return text;
  report.error(
    "SECTION_MISSING",
    step.place(heading.line),
    `the section ${title} is empty`,
    "Write its text below it.",
  );
  return undefined;
}
