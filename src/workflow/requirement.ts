/**
 * A requirement that was found in the text of a phase, or a passage that seems to ask for something and can't be read.
 */
import type { SourcePosition } from "../errors.js";
import type { DiagnosticCode } from "./diagnostic-codes.js";
import type { FieldDefinition } from "./structure.js";
/** A requirement in the text of a phase. */
export interface Requirement {
  readonly field: FieldDefinition;
  /** Names of validators, or rules. */
  readonly validators: readonly string[];
  /** The form in which the text asks. */
  readonly from: "table" | "checkbox" | "sentence";
  /** `sure` if the form is unambiguous, `guess` if words were interpreted. */
  readonly certainty: "sure" | "guess";
  /** True if something in the text gives the type; otherwise it is a text by default. */
  readonly typed: boolean;
  /** True if the text gives the name; otherwise the name is made of the whole claim. */
  readonly named: boolean;
  /** The line, from 1. */
  readonly line: number;
  readonly column: number;
}

/** A passage that seems to ask for something and can't be read. */
export interface RequirementFault {
  readonly severity: "error" | "warning";
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly hint: string;
  /** The line, from 1. */
  readonly line: number;
  readonly column: number;
}

/** The result of reading one passage. */
export type Finding = Requirement | RequirementFault;

/** The result of reading a text: requirements and faults, each in order. */
export interface Found {
  readonly requirements: readonly Requirement[];
  readonly faults: readonly RequirementFault[];
}

/** A position, from 1. */
export type Place = Pick<Requirement, "line" | "column">;

export function isFault(finding: Finding): finding is RequirementFault {
  return "severity" in finding;
}

/** Creates the warning for a passage that asks for something and can't be read. */
export function unclear(place: Place, message: string, hint: string): RequirementFault {
  return { severity: "warning", code: "REQUIREMENT_UNCLEAR", message, hint, line: place.line, column: place.column };
}

/** A requirement that was read from the text of a phase, for people to review. */
export interface InferredRequirement extends SourcePosition {
  readonly phase: number;
  readonly name: string;
  readonly type: FieldDefinition["type"];
  readonly required: boolean;
  readonly validators: readonly string[];
  readonly from: Requirement["from"];
  readonly certainty: Requirement["certainty"];
}
