/** What the providers of content have in common: how they answer. Without `node:`. */

import { PhasegateError } from "../errors.js";
import type { Content, ContentPart, TemplatePart, WorkflowListing } from "../ports/content-provider.js";
import { type Diagnostic, formatDiagnostic } from "../workflow/diagnostic.js";
import type { ReadWorkflow } from "../workflow/files/read-workflow.js";
import { revisionOf } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import { USUAL_TEMPLATES } from "../workflow/placeholders.js";
import type { WorkflowStructure } from "../workflow/structure.js";
/** A text as a provider gives it. */
export function contentOf(text: string, source: string): Content {
  return { text, revision: revisionOf(text), sources: [source], tokens: Math.ceil(text.length / 4) };
}

/** How a list shows what came of reading a workflow. */
export function listingOf(type: string, { definition, diagnostics }: ReadWorkflow): WorkflowListing {
  if (definition === undefined) return { status: "broken", type, diagnostics };
  return { status: "ready", type, definition, diagnostics };
}

/** A workflow that has errors. */
export function definitionInvalid(type: string, diagnostics: readonly Diagnostic[]) {
  const lines = diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
  const more = lines.length > 1 ? `, and ${lines.length - 1} more` : "";
  return new PhasegateError("DEFINITION_INVALID", `the workflow ${shown(type)} can't be used: ${lines[0]}${more}`, {
    remedy: "Mend the files at the places that are listed; the workflow is read again by itself.",
    details: { workflowType: type, diagnostics: lines },
  });
}

/** Where a text lies in a workflow's folder; undefined if the definition has none. */
export function fileOf({ phases, dynamic }: WorkflowStructure, part: ContentPart): string | undefined {
  if ("template" in part) return dynamic?.templates[part.template];
  const phase = phases.find(({ number }) => number === part.phase);
  return part.task === undefined ? phase?.file : phase?.tasks.find(({ number }) => number === part.task)?.file;
}

/** What is known of a text that can't be had: its file, and for the host's eyes what has failed. */
interface Failure {
  readonly file?: string;
  readonly cause?: unknown;
}

/** A text that can't be had. */
export function contentUnavailable(type: string, part: ContentPart, reason: string, failure: Failure = {}) {
  if ("template" in part) return templateUnavailable(type, part, reason, failure);
  const { phase, task } = part;
  const what = task === undefined ? `phase ${phase}` : `task ${task} of phase ${phase}`;
  return new PhasegateError("CONTENT_UNAVAILABLE", `no text for ${what} of ${shown(type)}: ${reason}`, {
    remedy: "Check the workflow's folder (or what it is registered with): its text must be there while sessions run.",
    details: { workflowType: type, phase, ...(task === undefined ? {} : { task }) },
    cause: failure.cause,
  });
}

function templateUnavailable(type: string, { template }: TemplatePart, reason: string, failure: Failure) {
  const file = failure.file ?? USUAL_TEMPLATES[template];
  return new PhasegateError("TEMPLATE", `no template of ${template}s for ${shown(type)}: ${reason}`, {
    remedy: `Check the workflow's folder: ${file} must be there while sessions run.`,
    details: { file, workflowType: type },
    cause: failure.cause,
  });
}
