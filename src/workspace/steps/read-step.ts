import { formatDiagnostic, hasErrors } from "../../definition/diagnostic.js";
import { refuseMisspelt, splitFrontMatter } from "../../definition/folder/front-matter.js";
import { ObjectReader } from "../../definition/folder/object-reader.js";
import { readGateObject } from "../../definition/folder/read-gate.js";
import { createReport } from "../../definition/folder/report.js";
import { isJsonObject, type JsonObject } from "../../definition/json.js";
import type { FieldGate } from "../../definition/structure.js";
import { definitionInvalid } from "../preload/definition-invalid.js";

/** A step's file, read. */
export interface ReadStep {
  readonly text: string;
  /** What must be shown before the next step is given. */
  readonly gate?: FieldGate;
  /** What its front matter says that follows. */
  readonly nextStepFile?: string;
}

/**
 * Reads a step's front matter. Its `gate:` is what a gate file holds. Throws `DEFINITION_INVALID` where a gate may be meant
 * and can't be read, and for one that asks for verifiers or a person: a gate never opens because nobody understood it.
 */
export async function readStep(skill: string, file: string, text: string): Promise<ReadStep> {
  const report = createReport();
  const { source, body } = await splitFrontMatter(file, text, report);
  if (source === undefined) {
    const front = text.slice(0, text.length - body.trimStart().length);
    if (hasErrors(report.sorted()) && /^[^\S\r\n\u2028\u2029]*["']?gates?\b/im.test(front))
      throw definitionInvalid(skill, lines(report));
    return { text };
  }
  if (!isJsonObject(source.value)) return { text };
  const reader = new ObjectReader(source, source.value, [], report);
  // `date` is as near to `gate` as a slip of the finger, and a word of its own.
  const { date, ...entries } = source.value;
  refuseMisspelt(entries, ["gate"], reader, report);
  const given = reader.object("gate");
  const gate = given === undefined ? undefined : await readGateObject(given, report);
  if (hasErrors(report.sorted())) throw definitionInvalid(skill, lines(report));
  if (gate !== undefined) refuseUnrun(skill, file, gate);
  return { text, ...(gate === undefined ? {} : { gate }), ...next(entries) };
}

function next({ nextStepFile }: JsonObject): { readonly nextStepFile?: string } {
  return typeof nextStepFile === "string" ? { nextStepFile } : {};
}

function refuseUnrun(skill: string, file: string, { verify, approval }: FieldGate): void {
  if (verify === undefined && approval === undefined) return;
  const what = verify === undefined ? "a person's approval" : "verifiers";
  throw definitionInvalid(skill, [`${file}: error: the gate asks for ${what}, which no step of a skill can have`]);
}

function lines(report: ReturnType<typeof createReport>): string[] {
  return report
    .sorted()
    .filter(({ severity }) => severity === "error")
    .map(formatDiagnostic);
}
