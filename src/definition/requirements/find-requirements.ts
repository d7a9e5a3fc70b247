/** What a phase's text asks for as evidence: in tables, in checkboxes below a gate's heading, in sentences. */
import type { List, Paragraph, RootContent } from "mdast";
import { headingName } from "../markdown/inline-text.js";
import { linesOfParagraph, type Section, sectionsOf } from "../markdown/markdown-blocks.js";
import { RESERVED } from "../names.js";
import type { Requirement } from "./requirement.js";
import { type NumberedLine, tableRequirements } from "./requirement-tables.js";
import { codeNames, describe, isOptional, nameFrom, typeFrom, validatorsFrom } from "./requirement-words.js";

const GATE = /validation[ -]gate|checkpoint|completion criteria|\bevidence\b/;
/** Headings of what is done, or shown, not of what is asked. */
const NO_GATE = /^(?:task|step)\b|\bexamples?\b/;
const ASKS = /\bmust provide\b|\brequired\s*:|\bevidence\s*:/i;

/** The requirements of a text, each name once, in their order. Never throws. */
export function findRequirements(text: string): Requirement[] {
  const sections = sectionsOf(text);
  const gates = gatesAmong(sections);
  const found = sections.flatMap(({ blocks }, index) => {
    return blocks.flatMap((block) => blockRequirements(block, text, gates[index] ?? false));
  });
  const names = new Set<string>(RESERVED);
  return found.flatMap((requirement) => {
    const name = freeName(requirement, names);
    if (name === undefined) return [];
    names.add(name);
    return [{ ...requirement, field: { ...requirement.field, name } }];
  });
}

/** For each section whether it stands below a gate's heading. */
function gatesAmong(sections: readonly Section[]): boolean[] {
  let depth = Number.POSITIVE_INFINITY;
  return sections.map((section) => {
    const name = headingName(section.heading);
    if (section.depth > depth) return !NO_GATE.test(name);
    const isGate = GATE.test(name) && !NO_GATE.test(name);
    depth = isGate ? section.depth : Number.POSITIVE_INFINITY;
    return isGate;
  });
}

/** Two checkboxes may read alike, and are two claims; a field that is named twice is one. */
function freeName({ field, from }: Requirement, names: ReadonlySet<string>): string | undefined {
  if (!names.has(field.name)) return field.name;
  if (from !== "checkbox") return undefined;
  for (let number = 2; ; number += 1) if (!names.has(`${field.name}_${number}`)) return `${field.name}_${number}`;
}

function blockRequirements(block: RootContent, text: string, inGate: boolean): Requirement[] {
  if (block.type === "list") return listRequirements(block, inGate);
  if (block.type !== "paragraph") return [];
  const table = tableRequirements(sourceLines(block, text), inGate);
  return table.length > 0 ? table : sentence(block, inGate);
}

function sourceLines({ position }: Paragraph, text: string): NumberedLine[] {
  if (position === undefined) return [];
  const { start, end } = position;
  const lines = text.slice(start.offset, end.offset).split(/\r?\n/);
  return lines.map((line, index) => ({ text: line, line: start.line + index }));
}

function listRequirements(list: List, inGate: boolean): Requirement[] {
  return list.children.flatMap(({ children }) => {
    const [first, ...rest] = children;
    const own = first?.type === "paragraph" ? item(first, inGate) : [];
    const deeper = (first?.type === "list" ? [first, ...rest] : rest).filter((block) => block.type === "list");
    return [...own, ...deeper.flatMap((inner) => listRequirements(inner, inGate))];
  });
}

/** A checkbox is a claim; what its code marks name, and say more of than that it is done, is a value. */
function item(paragraph: Paragraph, inGate: boolean): Requirement[] {
  const written = linesOfParagraph(paragraph).join(" ");
  const [, task] = /^\[[ xX]\]\s+(.*)$/s.exec(written) ?? [];
  if (task === undefined || !inGate) return sentence(paragraph, inGate);
  const named = /^`[A-Za-z_][\w-]*`\s*(?:[:(–—-]|$)/.test(task) ? codeNames(task)[0] : undefined;
  if (named !== undefined) return [valueNamed(named, task, "checkbox", paragraph)];
  const description = describe(task);
  const name = nameFrom(description) || (description === "" ? "" : "item");
  if (name === "") return [];
  const field = { name, type: "boolean", required: !isOptional(task), description } as const;
  return [{ field, validators: [], from: "checkbox", certainty: "sure", ...placeOf(paragraph) }];
}

/** "You must provide `function_count`, a number greater than 0." Nothing without a name that is marked as one. */
function sentence(paragraph: Paragraph, inGate: boolean): Requirement[] {
  return linesOfParagraph(paragraph).flatMap((line) => {
    const asked = ASKS.exec(line);
    if (asked === null || (!inGate && /evidence/i.test(asked[0]))) return [];
    const rest = line.slice(asked.index + asked[0].length);
    const [first, ...others] = codeNames(rest);
    const names =
      first === undefined ? boldNames(rest, inGate) : [first, ...others.filter((name) => name.includes("_"))];
    return names.map((name) => valueNamed(name, line, "sentence", paragraph));
  });
}

function boldNames(text: string, inGate: boolean): string[] {
  const [, bold] = /\*\*([^*]+)\*\*/.exec(text) ?? [];
  const name = bold === undefined || !inGate ? "" : nameFrom(bold);
  return name === "" ? [] : [name];
}

function valueNamed(name: string, text: string, from: Requirement["from"], paragraph: Paragraph): Requirement {
  const found = typeFrom(text.replaceAll("_", " "));
  const type = found?.type ?? "string";
  return {
    field: { name, type, required: !isOptional(text), description: describe(text) },
    validators: validatorsFrom(text, type),
    from,
    certainty: "guess",
    ...placeOf(paragraph),
  };
}

function placeOf({ position }: Paragraph): { readonly line: number; readonly column: number } {
  return { line: position?.start.line ?? 1, column: position?.start.column ?? 1 };
}
