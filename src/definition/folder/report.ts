import type { SourcePosition } from "../../errors.js";
import type { Diagnostic } from "../diagnostic.js";
import { escapeHidden } from "../names.js";
import type { InferredRequirement } from "../requirements/requirement.js";
import type { DiagnosticCode } from "./diagnostic-codes.js";

/** Collects what is wrong, so that all of it can be said at once, each with a hint of what to write instead. */
export interface Report {
  error(code: DiagnosticCode, place: SourcePosition, message: string, hint: string): void;
  warn(code: DiagnosticCode, place: SourcePosition, message: string, hint: string): void;
  /** Takes down what was read out of a phase's text. */
  infer(requirement: InferredRequirement): void;
  /** By file, line and column. */
  sorted(): Diagnostic[];
  /** In the order in which they were taken down. */
  inferred(): readonly InferredRequirement[];
}

/** An empty report, or one that begins with what others have found. */
export function createReport(found: readonly Diagnostic[] = []): Report {
  const diagnostics = [...found];
  const add = (severity: Diagnostic["severity"]): Report["error"] => {
    return (code, place, message, hint) => {
      // What a parser says of a text can hold parts of that text.
      diagnostics.push({ ...place, severity, code, message: singleLine(message), hint: singleLine(hint) });
    };
  };
  const inferred: InferredRequirement[] = [];
  return {
    error: add("error"),
    warn: add("warning"),
    infer: (requirement) => void inferred.push(requirement),
    sorted: () => [...diagnostics].sort(byPlace),
    inferred: () => inferred,
  };
}

/** Returns a text as one line: line feeds and tabs become a space, hidden characters become escapes. */
export function singleLine(text: string): string {
  return escapeHidden(text.replace(/(?:\r?\n|\t)+/g, " "));
}

function byPlace(a: Diagnostic, b: Diagnostic): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
