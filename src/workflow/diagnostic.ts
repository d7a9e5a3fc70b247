/** Diagnostics: what is wrong with a definition, where, and what to write instead. */
import { isPhasegateError, type SourcePosition } from "../errors.js";
/** A problem in a definition. A workflow with an *error* can't be started; a *warning* doesn't prevent it. */
export interface Diagnostic extends SourcePosition {
  /** `error` prevents the workflow from being started; `warning` does not. */
  readonly severity: "error" | "warning";
  /** The check that found the problem, for programs: `KEY_MISSING`, `YAML_SYNTAX`, … */
  readonly code: string;
  /** What is wrong, in one sentence. */
  readonly message: string;
  /** What to write instead. */
  readonly hint?: string;
}

/** Returns a diagnostic as `file:line:column: severity: message (hint)`, like a compiler. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const { file, line, column, severity, message, hint } = diagnostic;
  const place = [file, line, line === undefined ? undefined : column].filter((part) => part !== undefined).join(":");
  return `${place}: ${severity}: ${message}${hint === undefined ? "" : ` (${hint})`}`;
}

/**
 * Returns the diagnostic for a definition whose reader has thrown. Of an error from outside phasegate only the name is
 * shown: its message may hold paths and secrets, and agents see diagnostics.
 */
export function unreadable(error: unknown, file = "."): Diagnostic & { readonly code: "DEFINITION_UNREADABLE" } {
  const name = error instanceof Error ? error.name : typeof error;
  return {
    file,
    severity: "error",
    code: "DEFINITION_UNREADABLE",
    message: `the definition can't be read: ${isPhasegateError(error) ? error.message : `its reading has failed (${name})`}`,
    hint: "Mend or simplify it; `phasegate validate` reads a folder. If it looks right, report this with the file.",
  };
}

/** Checks whether a list holds an error. */
export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((diagnostic) => diagnostic.severity === "error");
}
