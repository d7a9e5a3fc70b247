/** What the providers of content have in common: how they answer. Without `node:`. */
import { type Diagnostic, formatDiagnostic } from "../definition/diagnostic.js";
import { revisionOf } from "../definition/digest.js";
import type { ReadWorkflow } from "../definition/folder/read-workflow.js";
import { shown } from "../definition/names.js";
import { PhasegateError } from "../errors.js";
import type { Content, ContentPart, WorkflowListing } from "../ports/content-provider.js";

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

/** A text that can't be had; `cause` is for the host's eyes. */
export function contentUnavailable(type: string, { phase, task }: ContentPart, reason: string, cause?: unknown) {
  const what = task === undefined ? `phase ${phase}` : `task ${task} of phase ${phase}`;
  return new PhasegateError("CONTENT_UNAVAILABLE", `no text for ${what} of ${shown(type)}: ${reason}`, {
    remedy: "Check the workflow's folder (or what it is registered with): its text must be there while sessions run.",
    details: { workflowType: type, phase, ...(task === undefined ? {} : { task }) },
    cause,
  });
}
