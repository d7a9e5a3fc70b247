/**
 * Reads the requirements of a gate from the text of a phase: from tables, from checkboxes below a gate's heading, and
 * from sentences. Each name becomes one field, however often the text mentions it. This is the entry file of the
 * folder.
 *
 * What is decided where:
 * - sentences.ts: which list items and sentences ask for evidence, and which of their words are names
 * - unread.ts: what is asked for in places that are not read, and the words that speak of a gate
 * - tables.ts: which tables ask, and what their columns mean
 * - validators.ts: which validators and comparisons words mean
 * - requirement.ts: names made of text, which requirements are optional, and which type the words about a name mean
 * - inline-marks.ts: marked words of a line
 * - examples.ts: examples in the text, which headings belong to a gate, and whether the examples pass it
 */
import type { List, RootContent } from "mdast";
import { isOfType, typeOfValue } from "../field-types.js";
import { headingName, type Section, sectionsOf } from "../from-markdown.js";
import { RESERVED } from "../names.js";
import type { FieldType } from "../structure.js";
import { type EvidenceExample, findExamples, gateHeadingIn, gatesAmong, type Label, labelOf } from "./examples.js";
import {
  type Finding,
  type Found,
  isFault,
  type Reading,
  type Requirement,
  type RequirementFault,
  unclear,
} from "./requirement.js";
import {
  askingOf,
  itemFindings,
  linesOf,
  longFindings,
  type NumberedLine,
  sentenceFindings,
  sentencesOf,
} from "./sentences.js";
import { tableFindings, tableIn } from "./tables.js";
import { type GateWord, gateWordIn, unreadFindings } from "./unread.js";

export interface DocumentGate extends Found {
  readonly examples: readonly EvidenceExample[];
}

/** Returns what {@link findRequirements} finds, with the examples of the text. Never throws. */
export async function readRequirements(text: string, defined: ReadonlySet<string> = new Set()): Promise<DocumentGate> {
  const found = findRequirements(text, defined);
  if (found.requirements.length === 0) return { ...found, examples: [] };
  const examples = await findExamples(text, found.requirements);
  return { ...found, requirements: found.requirements.map((one) => withExample(one, examples)), examples };
}

/** Returns each requirement once, in order. `defined` names the gate's own validators. Never throws. */
export function findRequirements(text: string, defined: ReadonlySet<string> = new Set()): Found {
  const source = withoutFrontMatter(text);
  const sections = sectionsOf(source);
  const gates = gatesAmong(sections);
  const findings = sections.flatMap((section, index) => {
    const reading = { text: source, inGate: gates[index] ?? false, defined };
    return [...headingFindings(section, reading), ...blocksFindings(section.blocks, reading)];
  });
  return mergeRequirements([...findings, ...unreadFindings(source, sections)]);
}

/** Takes the type from an example, if the type is only a guess. */
function withExample(requirement: Requirement, examples: readonly EvidenceExample[]): Requirement {
  const { field, certainty, validators } = requirement;
  const example = examples.find(({ values = {} }) => Object.hasOwn(values, field.name))?.values?.[field.name];
  if (example === undefined) return requirement;
  if (isOfType(example, field.type)) return { ...requirement, field: { ...field, example } };
  const type = typeOfValue(example);
  // A validator was chosen for the guessed type; dropping it would weaken the gate.
  if (certainty === "sure" || type === undefined || validators.length > 0) return requirement;
  return { ...requirement, field: { ...field, type, example }, typed: true };
}

/** Blanks out the front matter, so that positions stay the same. */
function withoutFrontMatter(text: string): string {
  const source = text.startsWith("\uFEFF") ? ` ${text.slice(1)}`.replace(/^ (?=#|-|\|)/, "") : text;
  return source.replace(/^---[ \t]*\r?\n(?:[\s\S]*?\r?\n)??---[ \t]*(?=\r?\n|$)/, (front) =>
    front.replace(/[^\r\n]/g, ""),
  );
}

/** Returns the first word that speaks of a gate, such as "evidence", of a text in which no requirement was found. */
export function unreadWord(text: string): GateWord | undefined {
  return gateWordIn(withoutFrontMatter(text));
}

function headingFindings({ written, heading, line, depth }: Section, reading: Reading): Finding[] {
  if (depth === 0) return [];
  const [sentence] = sentencesOf([{ text: written, line, column: 1 }]);
  const asking = sentence === undefined ? undefined : askingOf(sentence, false);
  if (sentence === undefined || asking?.kind !== "required" || asking.introduces) return [];
  const found = sentenceFindings(sentence, { ...reading, inGate: false });
  // "Checkpoint: the end" begins the requirements that follow.
  return gateHeadingIn(headingName(heading)) && found.every(isFault) ? [] : found;
}

/** Returns the requirements of adjacent blocks. A sentence that only announces requirements is about the next block. */
function blocksFindings(blocks: readonly RootContent[], reading: Reading): Finding[] {
  let { inGate, asked } = reading;
  return blocks.flatMap((block, index) => {
    if (block.type === "paragraph") {
      const lines = linesOf(block, reading.text);
      const label = labelOf(lines);
      if (label !== undefined) inGate = gateAfter(label, inGate, reading.inGate);
      const found = paragraphFindings(lines, { ...reading, inGate, asked }, blocks[index + 1]);
      asked = announces(lines) ?? (label === undefined ? undefined : asked);
      return found;
    }
    const here = { ...reading, inGate, asked };
    if (block.type !== "html") asked = undefined;
    if (block.type === "blockquote") return blocksFindings(block.children, here);
    return block.type === "list" ? listFindings(block, here) : [];
  });
}

/** Checks whether the text after a label belongs to a gate. A label in bold ends an earlier one. */
function gateAfter({ text, isBold }: Label, before: boolean, outside: boolean): boolean {
  return gateHeadingIn(headingName(text)) || (isBold ? outside : before);
}

function paragraphFindings(lines: readonly NumberedLine[], reading: Reading, next: RootContent | undefined): Finding[] {
  const table = tableIn(lines);
  const before = table?.before ?? lines;
  const sentences = sentencesOf(before);
  const found = [...longFindings(before), ...sentences.flatMap((sentence) => sentenceFindings(sentence, reading))];
  const last = sentences.at(-1);
  if (table !== undefined) {
    return [...found, ...(tableFindings(table, { ...reading, asked: announces(before) ?? reading.asked }) ?? [])];
  }
  const asking = last && askingOf(last, reading.inGate);
  const isFollowed = next !== undefined && ["list", "paragraph", "blockquote", "html"].includes(next.type);
  if (last === undefined || asking?.kind !== "required" || !asking.introduces || isFollowed) return found;
  const hint = "Write the names after it, or a list right below it: - `function_count`: a number greater than 0.";
  return [...found, unclear(last, "this announces what is required, and no list follows", hint)];
}

/** Returns how the list or table after a paragraph is asked for; undefined if the paragraph doesn't announce it. */
function announces(lines: readonly NumberedLine[]): Reading["asked"] {
  if (tableIn(lines) !== undefined) return undefined;
  const last = sentencesOf(lines).at(-1);
  const asking = last === undefined ? undefined : askingOf(last, true);
  if (asking?.introduces !== true || /\bexamples?\b/i.test(last?.plain ?? "")) return undefined;
  return asking.kind;
}

function listFindings(list: List, reading: Reading): Finding[] {
  return list.children.flatMap(({ children }) => {
    const [first, ...rest] = children;
    if (first?.type !== "paragraph") return blocksFindings(children, reading);
    const lines = linesOf(first, reading.text);
    const asked = announces(lines);
    const isBox = /^\[[ xX]\]\s/.test(lines[0]?.text ?? "");
    const table = tableIn(lines) === undefined ? undefined : paragraphFindings(lines, reading, rest[0]);
    const own = table ?? (asked === undefined ? itemFindings(lines, reading) : []);
    return [...own, ...blocksFindings(rest, { ...reading, asked, underBox: isBox || own.length > 0 })];
  });
}

/** Merges findings by name. A later place adds to an earlier one. */
function mergeRequirements(findings: readonly Finding[]): Found {
  const requirements = new Map<string, Requirement>();
  const numbers = new Map<string, number>();
  const faults: RequirementFault[] = findings.filter(isFault);
  for (const finding of findings) {
    if (isFault(finding)) continue;
    const { name } = finding.field;
    const known = requirements.get(name);
    if (known !== undefined && isSame(known, finding)) requirements.set(name, merged(known, finding, faults));
    else {
      const free = freeName(name, requirements, numbers);
      requirements.set(free, { ...finding, field: { ...finding.field, name: free } });
    }
  }
  return { requirements: [...requirements.values()], faults: faults.sort(byPlace) };
}

/** The same name is one field; two checkboxes with the same text are two claims. */
function isSame(known: Requirement, { named, field }: Requirement): boolean {
  return named ? known.named || known.field.type === "boolean" : known.named && known.field.type === field.type;
}

/** Adds a later place to an earlier one, and a warning for each contradiction. */
function merged(known: Requirement, again: Requirement, faults: RequirementFault[]): Requirement {
  const { name, required } = known.field;
  const other = again.field.type;
  const isFree = known.validators.length === 0 || fits(other, known.field.type);
  // A later place may know the type better, if the validators of the earlier one fit it.
  const takes = !known.typed && again.typed && isFree;
  const type = takes ? other : known.field.type;
  const differs = (how: string) => {
    const fault = unclear(again, `${name} is ${how}`, "Say it in one place, or the same in both.");
    faults.push({ ...fault, code: "REQUIREMENT_DIFFERS" });
  };
  if (again.typed && type !== other) {
    differs(`of type ${type} in line ${known.line}, and of type ${other} here; ${type} counts`);
  }
  if (!fits(type, other) && again.validators.length > 0) {
    differs(`to fulfil ${again.validators.join(", ")}, which is not asked of type ${type} and isn't read`);
  }
  if (known.named && again.named && required !== again.field.required) {
    differs("required in one of two places, and optional in the other; required counts");
  }
  return {
    ...known,
    ...(takes ? { typed: true, certainty: again.certainty } : {}),
    field: { ...known.field, type, required: required || again.field.required },
    validators: [...new Set([...known.validators, ...(fits(type, other) ? again.validators : [])])],
  };
}

function fits(type: FieldType, other: FieldType): boolean {
  const isNumber = (one: FieldType) => one === "integer" || one === "number";
  return type === other || (isNumber(type) && isNumber(other));
}

/** Returns a free name. `numbers` remembers the last suffix, so that many equal checkboxes take linear time. */
function freeName(name: string, taken: ReadonlyMap<string, Requirement>, numbers: Map<string, number>): string {
  const isFree = (candidate: string) => !taken.has(candidate) && !RESERVED.has(candidate);
  if (isFree(name)) return name;
  for (let number = numbers.get(name) ?? 2; ; number += 1) {
    numbers.set(name, number + 1);
    if (isFree(`${name}_${number}`)) return `${name}_${number}`;
  }
}

function byPlace(one: RequirementFault, other: RequirementFault): number {
  return one.line - other.line || one.column - other.column;
}
