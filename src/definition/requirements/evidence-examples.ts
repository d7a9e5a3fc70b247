/** Evidence as a phase's text shows it: in code fences below a heading that speaks of evidence or an example. */
import type { RootContent } from "mdast";
import { readYaml } from "../folder/read-yaml.js";
import { createReport } from "../folder/report.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.js";
import { headingName } from "../markdown/inline-text.js";
import { sectionsOf } from "../markdown/markdown-blocks.js";
import { parsePython } from "../rules/python-parser.js";
import { PythonFault } from "../rules/python-tokens.js";
import type { PythonNode } from "../rules/python-tree.js";

const LANGUAGES = new Set(["json", "jsonc", "yaml", "yml", "python", "py", ""]);

/** All fields that examples show, the first value of each. Never throws. */
export async function findExamples(text: string): Promise<ReadonlyMap<string, JsonValue>> {
  const examples = new Map<string, JsonValue>();
  const sections = sectionsOf(text).filter(({ heading }) => /\b(?:evidence|examples?)\b/.test(headingName(heading)));
  for (const block of sections.flatMap(({ blocks }) => blocks)) {
    for (const [name, value] of Object.entries((await exampleIn(block)) ?? {})) {
      if (!examples.has(name)) examples.set(name, value);
    }
  }
  return examples;
}

async function exampleIn(block: RootContent): Promise<JsonObject | undefined> {
  if (block.type !== "code" || !LANGUAGES.has(block.lang?.toLowerCase() ?? "")) return undefined;
  const value = fromPython(block.value) ?? (await readYaml("", block.value, createReport()))?.value;
  if (!isJsonObject(value)) return undefined;
  const { evidence } = value;
  return isJsonObject(evidence) && Object.keys(value).length === 1 ? evidence : value;
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
  if (node.kind !== "dict") throw new PythonFault(node.at, "no value");
  return Object.fromEntries(node.entries.map(([key, value]) => [String(plainValue(key)), plainValue(value)]));
}
