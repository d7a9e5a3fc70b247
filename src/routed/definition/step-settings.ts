import { refuseMisspelt, splitFrontMatter } from "../../definition/folder/front-matter.js";
import { ObjectReader } from "../../definition/folder/object-reader.js";
import { readGateObject } from "../../definition/folder/read-gate.js";
import type { Report } from "../../definition/folder/report.js";
import { isJsonObject } from "../../definition/json.js";
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

/**
 * Reads the YAML between two `---` at the very beginning of a step: `next`, `gate` and `max_visits`. What can't be read is
 * an error: a gate that is misspelt must not be an open one.
 */
export async function splitStep(file: string, text: string, report: Report): Promise<SplitStep> {
  const { source, body } = await splitFrontMatter(file, text, report);
  const none = { settings: { place: () => ({ file, line: 1 }) }, body };
  if (source === undefined || source.value === null) return none;
  if (!isJsonObject(source.value)) {
    const hint = "Write keys: next, gate, max_visits. For a rule, put an empty line before it.";
    report.error("VALUE_WRONG", { file, line: 1 }, "the front matter must have keys", hint);
    return none;
  }
  const reader = new ObjectReader(source, source.value, [], report);
  refuseMisspelt(source.value, KEYS, reader, report);
  return { settings: await settingsOf(reader, report), body };
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
