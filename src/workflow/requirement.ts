import type { SourcePosition } from "../errors.js";
import type { DiagnosticCode } from "./diagnostic-codes.js";
import type { FieldDefinition } from "./structure.js";
/** Something that a phase's text asks for. */
export interface Requirement {
  readonly field: FieldDefinition;
  /** Validators by name, or rules. */
  readonly validators: readonly string[];
  /** In which form it stands there. */
  readonly from: "table" | "checkbox" | "sentence";
  /** `sure` where its form says it, `guess` where words were interpreted. */
  readonly certainty: "sure" | "guess";
  /** Whether anything said of which type it is; else it is a text because nothing says otherwise. */
  readonly typed: boolean;
  /** Whether its own words name it; a claim's name is made of the whole of them. */
  readonly named: boolean;
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

/** Something in a phase's text that asks, and can't be read as it stands. */
export interface RequirementFault {
  readonly severity: "error" | "warning";
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly hint: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

/** What one place of a text gives. */
export type Finding = Requirement | RequirementFault;

/** What a text gives, requirements and faults in their order. */
export interface Found {
  readonly requirements: readonly Requirement[];
  readonly faults: readonly RequirementFault[];
}

/** Where something stands, from 1. */
export type Place = Pick<Requirement, "line" | "column">;

export function isFault(finding: Finding): finding is RequirementFault {
  return "severity" in finding;
}

/** A warning of words that ask for something that can't be read. */
export function unclear(place: Place, message: string, hint: string): RequirementFault {
  return { severity: "warning", code: "REQUIREMENT_UNCLEAR", message, hint, line: place.line, column: place.column };
}

/** A requirement that was read out of a phase's text, for people to look over. */
export interface InferredRequirement extends SourcePosition {
  readonly phase: number;
  readonly name: string;
  readonly type: FieldDefinition["type"];
  readonly required: boolean;
  readonly validators: readonly string[];
  readonly from: Requirement["from"];
  readonly certainty: Requirement["certainty"];
}
