import { isPhasegateError, type SourcePosition } from "../errors.js";
/**
 * Something that is wrong with a definition. An *error* keeps the workflow from being started; a
 * *warning* doesn't.
 */
export interface Diagnostic extends SourcePosition {
  readonly severity: "error" | "warning";
  /** Which check it was, for machines: `KEY_MISSING`, `YAML_SYNTAX`, … */
  readonly code: string;
  /** What is wrong, in one sentence. */
  readonly message: string;
  /** What to write instead. */
  readonly hint?: string;
}

/** `file:line:column: severity: message (hint)`, as compilers print it. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const { file, line, column, severity, message, hint } = diagnostic;
  const place = [file, line, line === undefined ? undefined : column].filter((part) => part !== undefined).join(":");
  return `${place}: ${severity}: ${message}${hint === undefined ? "" : ` (${hint})`}`;
}

/**
 * Returns what is said of a definition whose reading has thrown. Of an error that is none of phasegate's only the name: what a
 * host's own source throws may hold paths and secrets, and agents see this.
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

/** Whether a list holds an error. */
export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((diagnostic) => diagnostic.severity === "error");
}
