import { readRequirements } from "../requirements/document-gate.js";
import type { FieldSeed } from "./read-field.js";
import type { Report } from "./report.js";
import type { WorkflowFiles } from "./workflow-files.js";

interface Document {
  /** The phase's text. */
  readonly file: string;
  readonly files: WorkflowFiles;
  readonly report: Report;
}

/** The fields that a phase's text asks for; each is told, so that people can see what was made of their words. */
export async function documentSeeds(phase: number, { file, files, report }: Document): Promise<FieldSeed[]> {
  const requirements = await readRequirements(files.text(file) ?? "");
  return requirements.map((requirement) => {
    const { field, validators, from, certainty, line, column } = requirement;
    const place = { file, line, column };
    report.infer({
      ...place,
      phase,
      name: field.name,
      type: field.type,
      required: field.required,
      validators,
      from,
      certainty,
    });
    return { definition: field, place, examplePlace: place, validators, params: {}, verify: [] };
  });
}
