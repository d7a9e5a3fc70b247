import { ObjectReader } from "../../definition/folder/object-reader.js";
import { readGateObject } from "../../definition/folder/read-gate.js";
import { readYaml } from "../../definition/folder/read-yaml.js";
import type { Report } from "../../definition/folder/report.js";
import { isJsonObject, type JsonObject } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import type { RoutedStep } from "../../definition/routed-definition.js";
import type { SourcePosition } from "../../errors.js";

/** What a step's front matter says. */
export interface StepSettings extends Pick<RoutedStep, "next" | "gate" | "maxVisits"> {
  /** Where each of them stands, for what is found wrong with it later. */
  place(key: string): SourcePosition;
}

/** A step's text, its front matter apart from the rest. */
export interface SplitStep {
  readonly settings: StepSettings;
  /** The text, with an empty line for each line of the front matter, so that lines keep their numbers. */
  readonly body: string;
}

const KEYS = ["next", "gate", "max_visits"];
const FENCED = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)??---[ \t]*(?:\r?\n|$)/;

/**
 * Reads the YAML between two `---` at the very beginning of a step: `next`, `gate` and `max_visits`. What can't be read is
 * an error: a gate that is misspelt must not be an open one.
 */
export async function splitStep(file: string, text: string, report: Report): Promise<SplitStep> {
  const found = FENCED.exec(text);
  const none = { settings: { place: () => ({ file, line: 1 }) }, body: text };
  if (found === null) return none;
  const lines = found[0].split("\n").length - 1;
  const body = "\n".repeat(lines) + text.slice(found[0].length);
  // One line for the `---` before it, so that positions are those in the file.
  const source = await readYaml(file, `\n${found[1] ?? ""}`, report);
  if (source === undefined || source.value === null) return { ...none, body };
  if (!isJsonObject(source.value)) {
    const hint = "Write keys: next, gate, max_visits. For a rule, put an empty line before it.";
    report.error("VALUE_WRONG", { file, line: 1 }, "the front matter must have keys", hint);
    return { ...none, body };
  }
  const reader = new ObjectReader(source, source.value, [], report);
  refuseMisspelt(source.value, reader, report);
  return { settings: await settingsOf(reader, report), body };
}

/** Any other key is nobody's business here; one that was meant to hold the work back must not be passed over. */
function refuseMisspelt(entries: JsonObject, reader: ObjectReader, report: Report): void {
  for (const [key, value] of Object.entries(entries)) {
    const meant = KEYS.includes(key) ? key : nearest(key, KEYS);
    if (meant === undefined) continue;
    if (meant !== key) {
      report.error("KEY_UNKNOWN", reader.place(key), `the key ${shown(key)} has no meaning here`, `Write ${meant}.`);
    } else if (value === null) {
      reader.wrong([key], value, "given", "Write its value, or take the key out.");
    }
  }
}

async function settingsOf(reader: ObjectReader, report: Report): Promise<StepSettings> {
  const next = reader.texts("next");
  if (next?.length === 0) {
    reader.wrong(["next"], [], "a list of steps", 'Name at least one step, or "FINISH".');
  }
  const maxVisits = reader.whole("max_visits");
  if (maxVisits === 0) reader.wrong(["max_visits"], 0, "a number from 1 on", "Write 1 or more.");
  const gate = reader.object("gate");
  const read = gate === undefined ? undefined : await readGateObject(gate, report);
  reader.rest();
  return {
    place: (key) => reader.place(key),
    ...(next === undefined ? {} : { next }),
    ...(read === undefined ? {} : { gate: read }),
    ...(maxVisits === undefined ? {} : { maxVisits }),
  };
}
