import { readYaml } from "../../definition/folder/read-yaml.js";
import { createReport } from "../../definition/folder/report.js";
import { isJsonObject, type JsonValue } from "../../definition/json.js";

/** What a text says of itself before it begins. */
export interface FrontMatter {
  /** How many lines of the text it takes; 0 if there is none. */
  readonly lines: number;
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  readonly tags: readonly string[];
}

const FENCED = /^---[ \t]*\r?\n([\s\S]*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/m;
const NONE: FrontMatter = { lines: 0, tags: [] };
/** More than anybody writes above a text. */
const LONGEST = 16 * 1024;

/**
 * Reads the YAML between two `---` at the very beginning of a text: `workflow`, `phase`, `task`, and `tags`
 * as a list or with commas between. Anything that isn't YAML with keys is part of the text: a text may
 * begin with a rule. Never throws.
 */
export async function readFrontMatter(text: string): Promise<FrontMatter> {
  if (!text.startsWith("---")) return NONE;
  const found = FENCED.exec(text.slice(0, LONGEST));
  if (found === null || found.index !== 0) return NONE;
  const report = createReport();
  const value = (await readYaml("front matter", found[1] ?? "", report))?.value;
  if (!isJsonObject(value)) return NONE;
  const { workflow, phase, task, tags } = value;
  return {
    lines: found[0].split("\n").length - (found[0].endsWith("\n") ? 1 : 0),
    ...(typeof workflow === "string" ? { workflow } : {}),
    ...(isNumber(phase) ? { phase } : {}),
    ...(isNumber(task) ? { task } : {}),
    tags: tagsOf(tags),
  };
}

/** Tags as people write them: a list, or one text with commas. */
export function tagsOf(value: JsonValue | undefined): string[] {
  const list = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  return list.flatMap((tag) => (typeof tag === "string" && tag.trim() !== "" ? [tag.trim()] : []));
}

function isNumber(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
