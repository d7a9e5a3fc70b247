/** Texts with their tokens (characters / 4), listings and errors of all content providers. Runs without Node. */
import { PhasegateError } from "../errors.js";
import type { Content, ContentPart, TemplatePart, WorkflowListing } from "../ports/content-provider.js";
import { type Diagnostic, formatDiagnostic } from "../workflow/diagnostic.js";
import type { ReadWorkflow } from "../workflow/files/read-workflow.js";
import { revisionOf } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import { USUAL_TEMPLATES } from "../workflow/placeholders.js";
import type { WorkflowStructure } from "../workflow/structure.js";

export function contentOf(text: string, source: string): Content {
  return { text, revision: revisionOf(text), sources: [source], tokens: Math.ceil(text.length / 4) };
}

export function listingOf(type: string, { definition, diagnostics }: ReadWorkflow): WorkflowListing {
  if (definition === undefined) return { status: "broken", type, diagnostics };
  return { status: "ready", type, definition, diagnostics };
}

export function definitionInvalid(type: string, diagnostics: readonly Diagnostic[]) {
  const lines = diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
  const more = lines.length > 1 ? `, and ${lines.length - 1} more` : "";
  return new PhasegateError("DEFINITION_INVALID", `the workflow ${shown(type)} can't be used: ${lines[0]}${more}`, {
    remedy: "Correct the files at the listed lines. The workflow is then read again automatically.",
    details: { workflowType: type, diagnostics: lines },
  });
}

/** Returns the path of a text in the workflow's folder; undefined if the definition has none. */
export function fileOf({ phases, dynamic }: WorkflowStructure, part: ContentPart): string | undefined {
  if ("template" in part) return dynamic?.templates[part.template];
  const phase = phases.find(({ number }) => number === part.phase);
  return part.task === undefined ? phase?.file : phase?.tasks.find(({ number }) => number === part.task)?.file;
}

interface Failure {
  /** The file that should contain it. */
  readonly file?: string;
  /** The original error, which only the host sees. */
  readonly cause?: unknown;
}

export function contentUnavailable(type: string, part: ContentPart, reason: string, failure: Failure = {}) {
  if ("template" in part) return templateUnavailable(type, part, reason, failure);
  const { phase, task } = part;
  const what = task === undefined ? `phase ${phase}` : `task ${task} of phase ${phase}`;
  return new PhasegateError("CONTENT_UNAVAILABLE", `no text for ${what} of ${shown(type)}: ${reason}`, {
    remedy: "Check the workflow's folder (or its registration in code): the text must exist while sessions run.",
    details: { workflowType: type, phase, task, file: failure.file },
    cause: failure.cause,
  });
}

function templateUnavailable(type: string, { template }: TemplatePart, reason: string, failure: Failure) {
  const file = failure.file ?? USUAL_TEMPLATES[template];
  return new PhasegateError("TEMPLATE", `no ${template} template for ${shown(type)}: ${reason}`, {
    remedy: `Check the workflow's folder: ${file} must exist while sessions run.`,
    details: { file, workflowType: type },
    cause: failure.cause,
  });
}
