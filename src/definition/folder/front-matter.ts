import type { JsonObject } from "../json.js";
import { shown } from "../names.js";
import { nearest } from "../nearest.js";
import type { ObjectReader } from "./object-reader.js";
import type { ParsedSource } from "./positions.js";
import { readYaml } from "./read-yaml.js";
import type { Report } from "./report.js";

/** A text, its front matter apart from the rest. */
export interface SplitText {
  /** What stands between the two `---`; undefined where there is none, or none that can be read. `null` where it is empty. */
  readonly source?: ParsedSource;
  /** The text, with an empty line for each line of the front matter, so that lines keep their numbers. */
  readonly body: string;
}

const FENCED = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)??---[ \t]*(?:\r?\n|$)/;

/** Reads the YAML between two `---` at the very beginning of a text. */
export async function splitFrontMatter(file: string, text: string, report: Report): Promise<SplitText> {
  const found = FENCED.exec(text);
  if (found === null) return { body: text };
  const lines = found[0].split("\n").length - 1;
  const body = "\n".repeat(lines) + text.slice(found[0].length);
  // One line for the `---` before it, so that positions are those in the file.
  const source = await readYaml(file, `\n${found[1] ?? ""}`, report);
  return source === undefined ? { body } : { source, body };
}

/** Any other key is nobody's business here; one that was meant to hold the work back must not be passed over. */
export function refuseMisspelt(
  entries: JsonObject,
  keys: readonly string[],
  reader: ObjectReader,
  report: Report,
): void {
  for (const [key, value] of Object.entries(entries)) {
    const meant = keys.includes(key) ? key : nearest(key, keys);
    if (meant === undefined) continue;
    if (meant !== key) {
      report.error("KEY_UNKNOWN", reader.place(key), `the key ${shown(key)} has no meaning here`, `Write ${meant}.`);
    } else if (value === null) {
      reader.wrong([key], value, "given", "Write its value, or take the key out.");
    }
  }
}
