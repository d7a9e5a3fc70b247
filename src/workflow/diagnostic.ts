/** The problems of a definition, with the codes of all checks; positions in source texts. */
import { isPhasegateError, type SourcePosition } from "../errors.js";
import type { JsonValue } from "./json.js";
import { shown } from "./names.js";
import type { WorkflowStructure } from "./structure.js";

/** A problem in a definition. A workflow with an *error* can't be started; a *warning* doesn't prevent it. */
export interface Diagnostic extends SourcePosition {
  /** `error` prevents the workflow from being started; `warning` does not. */
  readonly severity: "error" | "warning";
  /** The check that found the problem, for programs: `KEY_MISSING`, `YAML_SYNTAX`, … */
  readonly code: string;
  /** The problem, in one sentence. */
  readonly message: string;
  /** The correction: what to write instead. */
  readonly hint?: string;
}

/** Returns a diagnostic as `file:line:column: severity: message (hint)`, like a compiler. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const { file, line, column, severity, message, hint } = diagnostic;
  const place = [file, line, line === undefined ? undefined : column].filter((part) => part !== undefined).join(":");
  return `${place}: ${severity}: ${message}${hint === undefined ? "" : ` (${hint})`}`;
}

/** Returns the diagnostic for a reader that has thrown. Foreign messages may hold secrets, so only their name is shown. */
export function unreadable(error: unknown, file = "."): Diagnostic & { readonly code: "DEFINITION_UNREADABLE" } {
  const name = error instanceof Error ? error.name : typeof error;
  return {
    file,
    severity: "error",
    code: "DEFINITION_UNREADABLE",
    message: `the definition can't be read: ${isPhasegateError(error) ? error.message : `its reading has failed (${name})`}`,
    hint: "Correct or simplify it; `phasegate validate` checks a folder. If it looks right, report this with the file.",
  };
}

/** Returns a warning for each gate that asks for less than the one of the workflow that is extended. */
export function weakerGates({ extends: from }: Pick<WorkflowStructure, "extends">): Diagnostic[] {
  return (from?.weaker ?? []).map(({ phase, what, reason, than = from?.type }) => ({
    ...{ file: ".", severity: "warning", code: "GATE_WEAKER" satisfies DiagnosticCode },
    message: `the gate of ${shown(phase)} asks for less than in ${than}: ${what.join("; ")}`,
    hint: `Its author says why: ${reason}`,
  }));
}

export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((diagnostic) => diagnostic.severity === "error");
}

export type KeyPath = readonly (string | number)[];

/** A parsed value and the positions of its parts in the text. */
export interface ParsedSource {
  readonly value: JsonValue;
  /** Returns the position of a key or element, or of the nearest one around it if it doesn't exist. */
  place(path: KeyPath): SourcePosition;
}

/** Returns a function that turns an offset in a text into line and column, from 1. */
export function linesOf(file: string, text: string): (offset: number) => Required<SourcePosition> {
  const starts = [0];
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) starts.push(end + 1);
  return (offset) => {
    const line = lastAtMost(starts, offset);
    return { file, line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

/** Returns the index of the last number that is at most `bound`, in an ascending list that begins with 0. */
function lastAtMost(numbers: readonly number[], bound: number): number {
  let low = 0;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((numbers[middle] ?? 0) <= bound) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Every check of a workflow's files, by the code of its diagnostics. */
export const DIAGNOSTIC_CODES = {
  // files
  METADATA_MISSING: "the folder has no metadata.json",
  FILE_UNREADABLE: "a file or folder can't be read: it is outside its root, of another kind, or refused by the system",
  FILE_TOO_LARGE: "a file is over its size limit",
  FOLDER_TOO_LARGE: "the folder has more files than are read",
  NOT_UTF8: "a file is not UTF-8 text",
  DEFINITION_TOO_LARGE: "the definition as a whole is too large to be pinned to a session",
  BOM: "a file begins with a byte order mark",
  CRLF: "a file has line ends of two characters",
  DEFINITION_UNREADABLE: "reading the definition has failed in a way that no other check names, or took too long",
  DIAGNOSTICS_MORE: "there are more problems than are listed",
  // syntax
  JSON_SYNTAX: "metadata.json is not strict JSON",
  YAML_SYNTAX: "a gate file is not YAML",
  YAML_VERSION: "a gate file requires another version of YAML than 1.2, or has another directive",
  YAML_TAG: "a gate file has a tag that is not part of YAML's core",
  YAML_MERGE: "a gate file has a merge key",
  YAML_ALIASES: "a gate file's aliases expand too far",
  NESTED_TOO_DEEPLY: "values are nested too deeply",
  VALUE_NOT_JSON: "a value can't be written as JSON",
  // keys and values
  KEY_MISSING: "a key is missing",
  KEY_UNKNOWN: "a key has no meaning to this version",
  KEY_DUPLICATE: "a key appears twice",
  NAME_RESERVED: "a name that would reach an object's prototype",
  VALUE_WRONG: "a value is of the wrong kind",
  PATH_REFUSED: "a path leaves the workflow's folder",
  // the workflow
  WORKFLOW_TYPE_INVALID: "the folder's name can't be a workflow type",
  WORKFLOW_TYPE_DIFFERS: "workflow_type is not the folder's name",
  WORKFLOW_HIDDEN: "a workflow of the same type in a later folder or source is not used",
  GATE_WEAKER:
    "a gate asks for less than the one of the workflow that is extended: an error where nothing says why it may",
  BASE_MISSING: "there is no workflow of the type that a workflow extends",
  BASE_BROKEN: "the workflow that a workflow extends can't be used",
  BASE_CIRCULAR: "workflows extend one another in a circle",
  CHILD_MISSING: "a phase is a workflow that is not there",
  PHASE_UNKNOWN: "a change names a phase that the extended workflow does not have, or a task",
  DYNAMIC_CONTRADICTS: "the metadata says both that phases come from a plan and that they don't",
  TEMPLATE_MISSING: "a template of the phases or tasks of a plan is missing",
  TEMPLATE_PLACEHOLDER_UNKNOWN:
    "a template has a placeholder that nothing fills, which is left out, or a text has one of an unknown option",
  PHASES_MISSING: "the workflow has no phase",
  PHASE_COUNT: "there are fewer phases than the metadata says (an error), or more (a warning)",
  PHASE_DUPLICATE: "a phase number appears twice",
  PHASE_FILE_MISSING: "the text of a phase is missing",
  PHASE_UNLISTED: "a phase's folder that the metadata doesn't list",
  START_PHASE_UNKNOWN: "start_phase is not the number or the name of a phase",
  DOCUMENT_MISSING: "a text names a file that the workflow's folder doesn't have",
  TITLE_MISSING: "a phase or task has a name neither in the metadata nor in its text",
  TASK_DUPLICATE: "a task number appears twice in a phase",
  TASK_FILE_MISSING: "the text of a task is missing",
  TASK_UNLISTED: "a task's file that the metadata doesn't list",
  // gates
  GATE_OPEN: "a phase requires nothing: any evidence object passes",
  GATE_EMPTY: "a gate file requires nothing",
  GATE_DUPLICATE: "a phase has two gate files",
  GATE_FILE_MISNAMED: "a file or folder that looks like a gate's but has not its name or place, and is not read",
  GATE_DIFFERS: "gate file, metadata and the phase's text ask for different things",
  REQUIREMENT_UNREAD: "a text speaks of a gate, and nothing was read that its phase requires",
  REQUIREMENT_UNCLEAR: "a phase's text asks for something that can't be read",
  REQUIREMENT_DIFFERS: "the text of a phase contradicts itself about a field",
  EXAMPLE_REFUSED: "an example of evidence in a phase's text would not pass its gate",
  FIELD_TYPE_UNKNOWN: "a field of evidence has a type that isn't known",
  SINCE_WRONG: "a check compares with the end of a phase that is not an earlier one",
  FAILURE_UNEXPLAINED: "a command must fail, and its output is not looked at",
  RULE_MISPLACED: "a field asks for what only a gate can ask for",
  WORKFLOW_PHASE_WRONG: "the gate of a phase that is a workflow can't be used",
  RULE_INVALID: "a rule that can't be read, or doesn't fit the evidence that it is about",
  EXAMPLE_WRONG: "a field's example doesn't pass its own gate",
  EXAMPLE_MISSING: "no example was found that a field's rules take",
  VALIDATOR_UNKNOWN: "a field names a validator that there isn't",
  VALIDATOR_UNUSED: "a validator is defined that no field names",
  // routed workflows
  INDEX_MISSING: "a routed workflow has no index.md",
  INDEX_UNREADABLE: "an index is too large or too deeply nested to be read",
  STEPS_MISSING: "an index names no step",
  STEP_FILE_MISSING: "the text of a step is missing",
  STEP_DUPLICATE: "two steps have the same name or the same file",
  STEP_NAME_INVALID: "a step has no name, or one that means something else",
  STEP_UNLISTED: "a file among the steps that the index doesn't list",
  STEP_UNNAMED: "a step that no other one leads to",
  STEP_UNKNOWN: "a step is named that there isn't",
  STEP_AMBIGUOUS: "a text names a step in a way that fits more than one",
  SECTION_MISSING: "a step lacks its guidance or its instructions",
  SECTION_DUPLICATE: "a step has a section twice",
  LINK_MISSING: "a link leads to a missing file",
  WORKFLOW_ENDLESS: "nothing leads to the end of a workflow",
  INCLUDE_MISSING: "an included file is missing",
  INCLUDE_CIRCULAR: "files include one another in a circle",
  INCLUDE_TOO_DEEP: "files include one another too deeply",
  // bundles
  BUNDLE_NAME_DUPLICATE: "two bundles have the same name",
  BUNDLE_PART_DUPLICATE: "a bundle has two agents, or two workflows, of the same name",
  BUNDLE_PART_MISSING: "a file or folder that a bundle names is missing",
  BUNDLE_ENTRY_MISSING: "none of a bundle's agents is one to begin with",
} as const;

export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES;
