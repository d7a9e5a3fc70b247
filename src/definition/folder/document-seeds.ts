import type { DocumentGate } from "../requirements/document-gate.js";
import { readRequirements } from "../requirements/document-gate.js";
import type { RequirementFault } from "../requirements/requirement.js";
import type { FieldSeed } from "./read-field.js";
import type { Report } from "./report.js";
import type { WorkflowFiles } from "./workflow-files.js";

interface Document {
  /** The phase's text. */
  readonly file: string;
  readonly files: WorkflowFiles;
  readonly report: Report;
}

/** What a phase's text asks for. `defined` are the names of validators that its checkpoint defines. */
export async function readDocument(
  { file, files }: Pick<Document, "file" | "files">,
  defined: ReadonlySet<string> = new Set(),
): Promise<DocumentGate> {
  return readRequirements(files.text(file) ?? "", defined);
}

/** The fields of a text; each is told, so that people can see what was made of their words, and so is what can't be read. */
export function documentSeeds(phase: number, { requirements, faults }: DocumentGate, where: Document): FieldSeed[] {
  const { file, report } = where;
  reportFaults(faults, where);
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
    return { definition: field, place, validators, params: {}, verify: [] };
  });
}

/** Reports what is wrong in a text, where it stands. */
export function reportFaults(faults: readonly RequirementFault[], { file, report }: Document): void {
  for (const { severity, code, message, hint, line, column } of faults) {
    const place = { file, line, column };
    if (severity === "error") report.error(code, place, message, hint);
    else report.warn(code, place, message, hint);
  }
}
