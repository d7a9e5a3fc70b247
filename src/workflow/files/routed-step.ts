/** Reads a step's front matter and sections. A fault in front matter is an error: a misspelt gate must not be open. */
import { toString as textOf } from "mdast-util-to-string";
import * as z from "zod/mini";
import type { SourcePosition } from "../../errors.js";
import type { ParsedSource } from "../diagnostic.js";
import { anyObject, object, readBy, said, spotIn, WORDS } from "../file-schema.js";
import { blocksOf, headingName, plainText } from "../from-markdown.js";
import { isJsonObject } from "../json.js";
import { meantOr, shown } from "../names.js";
import type { Report } from "../report.js";
import type { RoutedStep } from "../routed-definition.js";
import { refuseMisspelt, splitFrontMatter } from "../yaml.js";
import { readStepGate } from "./choose-gate.js";
import { type ExpandedText, expandIncludes, type IncludeOptions, resolvePath } from "./routed-includes.js";
import type { IndexEntry } from "./routed-index.js";
import { withoutMark } from "./workflow-files.js";

interface StepSettings extends Pick<RoutedStep, "next" | "gate" | "maxVisits"> {
  /** Returns the position of a key, for later diagnostics. */
  place(key: string): SourcePosition;
}

export interface FoundStep {
  readonly step: RoutedStep;
  /** The path from the root. */
  readonly path: string;
  readonly entry: IndexEntry;
  readonly text: ExpandedText;
  readonly settings: StepSettings;
}

export interface StepOptions extends IncludeOptions {
  readonly folder: string;
  /** All paths below the workflow's folder. */
  readonly paths: readonly string[];
}

/** Returns the path that the link of a step leads to; undefined, with an error, if there is no such file. */
export function stepPath({ target, place }: IndexEntry, { folder, paths, report }: StepOptions): string | undefined {
  const resolved = resolvePath(`${folder}/index.md`, target);
  const steps = `${folder}/steps/`;
  if ("reason" in resolved || !resolved.path.startsWith(steps) || !resolved.path.endsWith(".md")) {
    const hint = "Link to a file such as steps/first_step.md.";
    report.error("PATH_REFUSED", place, `the link to ${shown(target)} doesn't lead to a step`, hint);
    return undefined;
  }
  if (paths.includes(resolved.path)) return resolved.path;
  const otherwise = "Write the file, or remove the link.";
  const hint = meantOr(resolved.path, paths, otherwise, (near) => near.slice(folder.length + 1));
  report.error("STEP_FILE_MISSING", place, `there is no file ${shown(target)}`, hint);
  return undefined;
}

export async function readStep(entry: IndexEntry, path: string, options: StepOptions): Promise<FoundStep | undefined> {
  const { folder, report } = options;
  const source = await options.read(path);
  if (source === undefined) {
    report.error("STEP_FILE_MISSING", entry.place, `${shown(entry.target)} can't be read`, "Make it a text file.");
    return undefined;
  }
  const { source: matter, body } = await splitFrontMatter(path, withoutMark(source), report);
  const settings = await readSettings(path, matter, report);
  const text = await expandIncludes(path, body, options);
  const sections = readSections(text, report);
  if (sections === undefined) return undefined;
  const { next, gate, maxVisits } = settings;
  const file = path.slice(folder.length + 1);
  const step = { name: entry.name, file, ...sections, content: text.text.trim(), next, gate, maxVisits };
  return { step, path, entry, text, settings };
}

const frontMatter = object({
  next: z.optional(
    said(z.array(z.string()).check(z.minLength(1)), {
      words: (value, name) =>
        Array.isArray(value) && value.length === 0
          ? { expected: "a list of steps", hint: 'Name at least one step, or "FINISH".' }
          : WORDS.TEXTS(value, name),
    }),
  ),
  gate: z.optional(anyObject),
  max_visits: z.optional(
    said(z.int().check(z.minimum(1)), {
      words: (value, name) =>
        value === 0 ? { expected: "a number from 1 on", hint: "Write 1 or more." } : WORDS.WHOLE(value, name),
    }),
  ),
});

async function readSettings(file: string, source: ParsedSource | undefined, report: Report): Promise<StepSettings> {
  const top = { file, line: 1 };
  if (source === undefined || source.value === null) return { place: () => top };
  if (!isJsonObject(source.value)) {
    const hint = "Write keys: next, gate, max_visits. For a rule, put an empty line before it.";
    report.error("VALUE_WRONG", top, "the front matter must have keys", hint);
    return { place: () => top };
  }
  const spot = spotIn(source, report);
  refuseMisspelt(source.value, Object.keys(frontMatter.shape), spot);
  const { next, gate, max_visits: maxVisits } = readBy(frontMatter, source.value, spot) ?? {};
  return { place: spot.place, next, gate: gate && (await readStepGate(gate, spot.at("gate"))), maxVisits };
}

/** Returns the texts below two headings of level 1, up to the next one; undefined, with an error, if one is missing. */
function readSections(step: ExpandedText, report: Report): Pick<RoutedStep, "guidance" | "instructions"> | undefined {
  const headings = headingsOf(step.text);
  const guidance = sectionOf("Orchestrator Guidance", step, headings, report);
  const instructions = sectionOf("Client Instructions", step, headings, report);
  return guidance === undefined || instructions === undefined ? undefined : { guidance, instructions };
}

interface Heading {
  readonly name: string;
  readonly depth: number;
  readonly line: number;
  readonly start: number;
  readonly end: number;
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
  section: string,
  step: ExpandedText,
  headings: readonly Heading[],
  report: Report,
): string | undefined {
  const named = headings.filter(({ name }) => name === section.toLowerCase());
  const [heading, second] = named.filter(({ depth }) => depth === 1);
  const title = `"# ${section}"`;
  if (heading === undefined) {
    const other = named[0];
    const hint = other === undefined ? `Write ${title} and the text below it.` : `Write ${title}, with one '#'.`;
    report.error("SECTION_MISSING", step.place(other?.line ?? 1), `the step has no section ${title}`, hint);
    return undefined;
  }
  if (second !== undefined) {
    const hint = "Put both texts below one heading.";
    report.error("SECTION_DUPLICATE", step.place(second.line), `the section ${title} appears twice`, hint);
  }
  const next = headings.find(({ depth, start }) => depth === 1 && start > heading.start);
  const text = step.text.slice(heading.end, next?.start).trim();
  if (text !== "") return text;
  const place = step.place(heading.line);
  report.error("SECTION_MISSING", place, `the section ${title} is empty`, "Write its text below it.");
  return undefined;
}
