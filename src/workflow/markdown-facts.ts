/** Reads facts from the text of a phase or task. Those that it lacks are left out, never guessed. */
import type { List, RootContent } from "mdast";
import { toString as textOf } from "mdast-util-to-string";
import { byRevision } from "./cache.js";
import {
  endOfSection,
  headingName,
  itemsOf,
  linesOfParagraph,
  plainText,
  proseOf,
  type Section,
  sectionsOf,
  withoutLeadingMarks,
  withoutTrailingMarks,
} from "./from-markdown.js";

/** One step of a task. */
export interface ExecutionStep {
  /** The number of the step. */
  readonly step: number;
  /** The text of the step. */
  readonly description: string;
  /** The first shell command, if it is short. */
  readonly command?: string;
  /** The output to expect. */
  readonly expectedOutput?: string;
}

/** The facts found in a text. */
export interface MarkdownFacts {
  /** The first heading, without "Phase N:" or "Task N:". */
  readonly title?: string;
  /** The goal, the purpose, or the first paragraph. */
  readonly description?: string;
  /** The duration, as written. */
  readonly estimatedDuration?: string;
  /** The steps, in order. */
  readonly executionSteps?: readonly ExecutionStep[];
  /** The artifacts to produce, one item each. */
  readonly artifactsToProduce?: readonly string[];
  /** Conditions for the phase or task to count as done. */
  readonly validation?: readonly string[];
}

const DURATION = /^(?:estimated time|estimated duration|duration|time)\s*:(.+)$/is;

/** Returns the facts of a content's text. */
export const markdownFacts = byRevision(readMarkdownFacts);

/** Reads the facts of a text. Never throws. */
export function readMarkdownFacts(text: string): MarkdownFacts {
  const sections = sectionsOf(text);
  return {
    title: titleOf(sections),
    description: descriptionOf(sections),
    estimatedDuration: labelled(sections, DURATION),
    executionSteps: unlessEmpty(stepsOf(sections)),
    artifactsToProduce: unlessEmpty(outputsOf(sections)),
    validation: unlessEmpty(checksOf(sections)),
  };
}

/** Returns the first heading of a text, without "Phase N:" or "Task N:"; undefined if it has none. */
export function readTitle(text: string): string | undefined {
  return titleOf(sectionsOf(text));
}

function titleOf(sections: readonly Section[]): string | undefined {
  const heading = sections.find(({ depth }) => depth === 1)?.heading ?? "";
  return heading.replace(/^[^\p{L}\p{N}]*(?:phase|task)\s+\d[\d.]*\s*[:.)–—-]\s*/iu, "").trim() || undefined;
}

const GOALS = new Set(["objective", "phase objective", "task objective", "goal", "purpose"]);

const PURPOSE = /^purpose\s*:(.+)$/is;

function descriptionOf(sections: readonly Section[]): string | undefined {
  const goal = sections.find(
    ({ heading, blocks }) => GOALS.has(headingName(heading)) && paragraphs({ blocks }).length > 0,
  );
  if (goal !== undefined) return paragraphs(goal).map(proseOf).join("\n\n");
  const purpose = labelled(sections, PURPOSE);
  if (purpose !== undefined) return purpose;
  const first = sections
    .flatMap(paragraphs)
    .find((paragraph) => !linesOfParagraph(paragraph).every((line) => LABEL.test(line)));
  return first === undefined ? undefined : proseOf(first);
}

function paragraphs({ blocks }: Pick<Section, "blocks">) {
  return blocks.filter((block) => block.type === "paragraph");
}

/** Returns the value of a label. Only looks before the second heading; what follows is about a part, not the whole. */
function labelled(sections: readonly Section[], label: RegExp): string | undefined {
  const second = sections.findIndex(({ depth }) => depth > 1);
  const lines = sections
    .slice(0, second === -1 ? undefined : second)
    .flatMap(paragraphs)
    .flatMap(linesOfParagraph);
  for (const line of lines) {
    const value = label.exec(plainText(line))?.[1]?.trim();
    if (value !== undefined) return value;
  }
  return undefined;
}

/** `**Any label:** and its value`, or a label alone. */
const LABEL = /^(?:\*\*|__)[^*_]+(?::(?:\*\*|__)|(?:\*\*|__)\s*:)/;

function unlessEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

const LISTS = new Set(["steps", "execution steps"]);

/** Returns the steps: headings `Step N: …` with their blocks, else an ordered list below "Steps". */
function stepsOf(sections: readonly Section[]): ExecutionStep[] {
  const steps = sections.flatMap((section, index) => stepOfHeading(section, () => below(sections, index)));
  if (steps.length > 0) return steps;
  return sections
    .filter(({ heading }) => LISTS.has(headingName(heading)))
    .flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === "list" && block.ordered ? stepsOfList(block) : [])),
    );
}

function stepOfHeading({ heading }: Section, blocks: () => readonly RootContent[]): ExecutionStep[] {
  const [, number, title = ""] = /^[^\p{L}\p{N}]*step\s+(\d{1,6})(?:\s*[:.)–—-]\s*(.*))?$/isu.exec(heading) ?? [];
  if (number === undefined) return [];
  const content = blocks();
  const description = title || firstProse(content);
  return description === "" ? [] : [{ step: Number(number), description, ...detailsOf(content) }];
}

function firstProse(blocks: readonly RootContent[]): string {
  const paragraph = blocks.find((block) => block.type === "paragraph");
  return paragraph === undefined ? "" : proseOf(paragraph);
}

function detailsOf(blocks: readonly RootContent[]): Pick<ExecutionStep, "command" | "expectedOutput"> {
  return { command: commandOf(blocks), expectedOutput: expectedOf(blocks) };
}

const SHELLS = new Set(["bash", "sh", "shell", "console"]);
/** A longer command is a script, and is only in the text. */
const COMMAND_MAX = 240;

function commandOf(blocks: readonly RootContent[]): string | undefined {
  const fence = blocks.find((block) => block.type === "code" && SHELLS.has(block.lang?.toLowerCase() ?? ""));
  const command = fence === undefined ? "" : textOf(fence).trim();
  return command === "" || command.length > COMMAND_MAX ? undefined : command;
}

/** Returns the text after "Expected output:", on its line or in the next block. */
function expectedOf(blocks: readonly RootContent[]): string | undefined {
  for (const [index, block] of blocks.entries()) {
    if (block.type !== "paragraph") continue;
    const lines = linesOfParagraph(block).map(plainText);
    const at = lines.findIndex((line) => /^expected output:/i.test(line));
    if (at === -1) continue;
    const same = (lines[at] ?? "").replace(/^expected output:\s*/i, "");
    const found = [same, ...lines.slice(at + 1)].join(" ").trim();
    const next = blocks[index + 1];
    return found || (next?.type === "code" ? textOf(next).trim() : "") || undefined;
  }
  return undefined;
}

function below(sections: readonly Section[], index: number): RootContent[] {
  return sections.slice(index, endOfSection(sections, index)).flatMap(({ blocks }) => blocks);
}

function stepsOfList(list: List): ExecutionStep[] {
  return list.children.flatMap(({ children }, index) => {
    const description = firstProse(children);
    return description === "" ? [] : [{ step: (list.start ?? 1) + index, description, ...detailsOf(children) }];
  });
}

const OUTPUTS = new Set(["artifacts", "artifacts to produce", "deliverables", "outputs", "phase deliverables"]);

function outputsOf(sections: readonly Section[]): string[] {
  return sections
    .filter(({ heading }) => OUTPUTS.has(headingName(heading)))
    .flatMap(itemsIn)
    .map(withoutLeadingMarks);
}

function itemsIn({ blocks }: Pick<Section, "blocks">): string[] {
  return blocks.flatMap((block) => (block.type === "list" ? itemsOf(block) : []));
}

const CHECKS = ["validation gate", "checkpoint", "completion criteria"];

function checksOf(sections: readonly Section[]): string[] {
  const section = sections.find(
    ({ heading, blocks }) =>
      CHECKS.some((check) => headingName(heading).includes(check)) && itemsIn({ blocks }).length > 0,
  );
  const items = section === undefined ? [] : itemsIn(section);
  const boxes = items.filter((item) => /^\[[ xX]\]\s/.test(item));
  return (boxes.length > 0 ? boxes : items).map((item) => withoutTrailingMarks(withoutLeadingMarks(item)));
}
