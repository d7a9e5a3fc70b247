import type { Nodes, RootContent } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import type { Report } from "../../definition/folder/report.js";
import { blocksOf } from "../../definition/markdown/markdown-blocks.js";
import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import { FINISH } from "../../definition/routed-definition.js";
import { decoded } from "./link-in-item.js";
import { matchName, plainName } from "./match-name.js";
import { type NamedStep, namedSteps } from "./named-steps.js";
import type { FoundStep, StepOptions } from "./read-step.js";
import { resolvePath } from "./resolve-path.js";

/** A paragraph that is longer is not looked through for links: their parser may take long over it. */
const PARAGRAPH_MAX = 2048;
/** How much of a step is looked through for links, in characters of paragraphs that name a file. */
const LINKED_MAX = 64 * 1024;
/** Marks that make no link, and whose parser takes long over unclosed ones. */
const OTHER_MARKS = ["attention", "autolink", "htmlText", "labelStartImage"];

/** Looks at every step that a guidance names, and at every link to a file; gives the names of steps that it leads to. */
export function checkReferences(
  found: FoundStep,
  all: readonly FoundStep[],
  { paths, folder, report }: Pick<StepOptions, "paths" | "folder" | "report">,
): ReadonlySet<string> {
  checkNext(found, all, report);
  checkLinks(found, { paths, folder, report });
  const offset = lineOf(found.text.text, found.step.guidance);
  const led = new Set<string>();
  for (const named of namedSteps(found.step.guidance)) {
    const name = checkName(named, offset, found, all, report);
    if (name !== undefined) led.add(name);
  }
  return led;
}

function checkNext({ step, settings }: FoundStep, all: readonly FoundStep[], report: Report): void {
  const names = [...all.map((other) => other.step.name), FINISH];
  for (const name of step.next ?? []) {
    if (names.includes(name)) continue;
    const near = matchName(name, names) ?? nearest(name, names);
    const hint = near === undefined ? `Write one of: ${names.join(", ")}.` : `Did you mean ${near}?`;
    report.error("STEP_UNKNOWN", settings.place("next"), `there is no step ${shown(name)} that may be next`, hint);
  }
}

function checkName(
  { name, line, column }: NamedStep,
  offset: number,
  { step, text }: FoundStep,
  all: readonly FoundStep[],
  report: Report,
): string | undefined {
  const names = [...all.map((other) => other.step.name), FINISH];
  if (names.includes(name)) return name;
  const place = { ...text.place(offset + line), column };
  const meant = matchName(name, names) ?? byFile(name, all);
  if (meant !== undefined) {
    const hint = `Write ${meant}, as the index has it: deciders may answer with names that they have read.`;
    report.warn("STEP_INEXACT", place, `${shown(step.name)} names the step ${shown(name)}`, hint);
    return meant;
  }
  const near = nearest(name, names);
  const hint = near === undefined ? `There are: ${names.join(", ")}.` : `Did you mean ${near}?`;
  report.warn("STEP_UNKNOWN", place, `${shown(step.name)} names a step ${shown(name)} that there isn't`, hint);
  return undefined;
}

/** Guidances name steps by their files, too. */
function byFile(name: string, all: readonly FoundStep[]): string | undefined {
  const plain = plainName(name.replace(/^.*\//, "").replace(/\.md$/, ""));
  return all.find(({ path }) => plainName(path.replace(/^.*\//, "").replace(/\.md$/, "")) === plain)?.step.name;
}

function checkLinks(
  { path, step, text }: FoundStep,
  { paths, folder, report }: Pick<StepOptions, "paths" | "folder" | "report">,
): void {
  const room = { left: LINKED_MAX };
  for (const { target, line } of (blocksOf(text.text) ?? []).flatMap((block) => linksBelow(block, text.text, room))) {
    const { file = path } = text.place(line);
    const resolved = resolvePath(file, target);
    if ("path" in resolved && paths.includes(resolved.path)) continue;
    const near = "path" in resolved ? nearest(resolved.path, paths) : undefined;
    const hint =
      near === undefined
        ? "Correct the link, or take it out."
        : `Did you mean ${near.slice(folder.length + 1)}, in the workflow's folder?`;
    const message = `${shown(step.name)} links to ${shown(target)}, which there isn't`;
    report.warn("LINK_MISSING", text.place(line), message, hint);
  }
}

interface FileLink {
  readonly target: string;
  /** In the text as a whole, from 1. */
  readonly line: number;
}

/** Links to Markdown files that are relative, in their order; none in code. How deep blocks nest is bounded. */
function linksBelow(block: RootContent, text: string, room: { left: number }): FileLink[] {
  if (block.type === "blockquote" || block.type === "list" || block.type === "listItem") {
    return block.children.flatMap((child) => linksBelow(child, text, room));
  }
  const { position } = block;
  if (position === undefined || (block.type !== "paragraph" && block.type !== "heading")) return [];
  const source = text.slice(position.start.offset, position.end.offset);
  if (source.length > PARAGRAPH_MAX || !/\.md/i.test(source)) return [];
  room.left -= source.length;
  if (room.left < 0) return [];
  const links: FileLink[] = [];
  const open: Nodes[] = [fromMarkdown(source, { extensions: [{ disable: { null: OTHER_MARKS } }] })];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === "link" || node.type === "definition") {
      const target = decoded(node.url).replace(/[#?].*$/s, "");
      const isFile = /\.md$/i.test(target) && !/^[A-Za-z][A-Za-z0-9+.-]*:|^\//.test(target);
      if (isFile) links.push({ target, line: position.start.line + (node.position?.start.line ?? 1) - 1 });
    } else if ("children" in node) open.push(...node.children.toReversed());
  }
  return links;
}

/** The line that a part of a text begins in, from 1. */
function lineOf(text: string, part: string): number {
  return text.slice(0, Math.max(0, text.indexOf(part))).split("\n").length;
}
