/** Evidence as a phase's text shows it: in code fences below the headings of requirements, evidence or examples. */
import type { Code, RootContent } from "mdast";
import { readYaml } from "../folder/read-yaml.js";
import { createReport } from "../folder/report.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.js";
import { headingName } from "../markdown/inline-text.js";
import { type Section, sectionsOf } from "../markdown/markdown-blocks.js";
import { parsePython } from "../rules/python-parser.js";
import { PythonFault } from "../rules/python-tokens.js";
import type { PythonNode } from "../rules/python-tree.js";
import { gatesAmong } from "./gate-headings.js";
import type { Place, Requirement } from "./requirement.js";

const LANGUAGES = new Set(["json", "jsonc", "json5", "yaml", "yml", "python", "py", ""]);

/** A name that something is given to. */
const NAMED = /(?<=^|[\s{,"'])([A-Za-z_][\w-]*)["']?\s*[:=]/g;

/** A fence with evidence in it. */
export interface EvidenceExample extends Place {
  /** Undefined where it can't be read. */
  readonly values?: JsonObject;
}

/** The examples of a text: fences that name a field of its gate, in their order. Never throws. */
export async function findExamples(
  text: string,
  requirements: readonly Requirement[],
): Promise<readonly EvidenceExample[]> {
  const names = new Set(requirements.map(({ field }) => field.name));
  const fences = sectionsFor(sectionsOf(text), requirements).flatMap(({ blocks }) => blocks.flatMap(fencesIn));
  const examples = await Promise.all(fences.map((fence) => exampleIn(fence, names)));
  return examples.flatMap((example) => example ?? []);
}

/** The sections of evidence and of examples, those below a gate's heading, and those that ask for something. */
function sectionsFor(sections: readonly Section[], requirements: readonly Requirement[]): readonly Section[] {
  const gates = gatesAmong(sections);
  return sections.filter(({ heading, line }, index) => {
    if (gates[index] === true || /\b(?:evidence|examples?)\b/.test(headingName(heading))) return true;
    const end = sections[index + 1]?.line ?? Number.POSITIVE_INFINITY;
    return requirements.some((requirement) => line <= requirement.line && requirement.line < end);
  });
}

function fencesIn(block: RootContent): Code[] {
  if (block.type === "code") return LANGUAGES.has(block.lang?.toLowerCase() ?? "") ? [block] : [];
  return "children" in block ? block.children.flatMap(fencesIn) : [];
}

async function exampleIn(fence: Code, names: ReadonlySet<string>): Promise<EvidenceExample | undefined> {
  const { line = 1, column = 1 } = fence.position?.start ?? {};
  const value = await exampleValue(fence.value, fence.lang?.toLowerCase() ?? "");
  if (value === undefined) {
    const isMeant = [...fence.value.matchAll(NAMED)].some(([, name = ""]) => names.has(name));
    return isMeant && (fence.lang ?? "") !== "" ? { line, column } : undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { evidence } = value;
  const values = isJsonObject(evidence) && !names.has("evidence") ? evidence : value;
  return Object.keys(values).some((name) => names.has(name)) ? { values, line, column } : undefined;
}

async function exampleValue(text: string, language: string): Promise<JsonValue | undefined> {
  const bare = /^json[c5]?$/.test(language) ? text.replace(/^[ \t]*\/\/.*$/gm, "") : text;
  return fromPython(bare) ?? (/^py/.test(language) ? undefined : await fromYaml(bare));
}

async function fromYaml(text: string): Promise<JsonValue | undefined> {
  return (await readYaml("", text, createReport()))?.value;
}

/** A dict, or a name that one is given to. JSON without true, false and null is one, too. */
function fromPython(text: string): JsonValue | undefined {
  try {
    return plainValue(parsePython(text.replace(/^\s*[A-Za-z_]\w*\s*=\s*(?=\{)/, "")));
  } catch (error) {
    if (error instanceof PythonFault) return undefined;
    throw error;
  }
}

function plainValue(node: PythonNode): JsonValue {
  if (node.kind === "list") return node.items.map(plainValue);
  if (node.kind === "constant") return typeof node.value === "bigint" ? Number(node.value) : node.value;
  const below = node.kind === "minus" ? plainValue(node.of) : undefined;
  if (typeof below === "number") return -below;
  if (node.kind !== "dict") throw new PythonFault(node.at, "no value");
  return Object.fromEntries(node.entries.map(([key, value]) => [String(plainValue(key)), plainValue(value)]));
}
