import type { List, RootContent } from "mdast";
import { toString as textOf } from "mdast-util-to-string";
import { headingName, plainText } from "./inline-text.js";
import { endOfSection, linesOfParagraph, proseOf, type Section } from "./markdown-blocks.js";

/** One step of a task, as far as its text tells. */
export interface ExecutionStep {
  readonly step: number;
  readonly description: string;
  /** The first shell command, if it is short. */
  readonly command?: string;
  readonly expectedOutput?: string;
}

const SHELLS = new Set(["bash", "sh", "shell", "console"]);
/** A longer one is a script, and stands in the text. */
const COMMAND_MAX = 240;
const LISTS = new Set(["steps", "execution steps"]);

/** Steps: headings `Step N: …` with what is below them, else an ordered list below "Steps". */
export function stepsOf(sections: readonly Section[]): ExecutionStep[] {
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

/** The blocks of a section and of those that are deeper, up to its equal. */
function below(sections: readonly Section[], index: number): RootContent[] {
  return sections.slice(index, endOfSection(sections, index)).flatMap(({ blocks }) => blocks);
}

function stepsOfList(list: List): ExecutionStep[] {
  return list.children.flatMap(({ children }, index) => {
    const description = firstProse(children);
    return description === "" ? [] : [{ step: (list.start ?? 1) + index, description, ...detailsOf(children) }];
  });
}

function firstProse(blocks: readonly RootContent[]): string {
  const paragraph = blocks.find((block) => block.type === "paragraph");
  return paragraph === undefined ? "" : proseOf(paragraph);
}

function detailsOf(blocks: readonly RootContent[]): Pick<ExecutionStep, "command" | "expectedOutput"> {
  const command = commandOf(blocks);
  const expectedOutput = expectedOf(blocks);
  return { ...(command === undefined ? {} : { command }), ...(expectedOutput === undefined ? {} : { expectedOutput }) };
}

function commandOf(blocks: readonly RootContent[]): string | undefined {
  const fence = blocks.find((block) => block.type === "code" && SHELLS.has(block.lang?.toLowerCase() ?? ""));
  const command = fence === undefined ? "" : textOf(fence).trim();
  return command === "" || command.length > COMMAND_MAX ? undefined : command;
}

/** What stands behind "Expected output:", on its line or in the block after it. */
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
