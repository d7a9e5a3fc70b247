import type { SourcePosition } from "../../errors.js";
import type { FieldDefinition } from "../structure.js";

/** Something that a phase's text asks for. */
export interface Requirement {
  readonly field: FieldDefinition;
  /** Validators by name, or rules. */
  readonly validators: readonly string[];
  /** In which form it stands there. */
  readonly from: "table" | "checkbox" | "sentence";
  /** `sure` where its form says it, `guess` where words were interpreted. */
  readonly certainty: "sure" | "guess";
  /** From 1. */
  readonly line: number;
  readonly column: number;
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
