import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject } from "./json.js";
import type { Reveal } from "./structure.js";

/** A text, or a function that gives it when it is asked for. */
export type TextInput = string | (() => string | Promise<string>);

/** A task of a workflow in code. */
export interface TaskInput {
  /** Its number in the phase; its position, from 1, if not given. */
  readonly number?: number;
  readonly name: string;
  readonly purpose?: string;
  /** What the agent reads, as Markdown. */
  readonly content: TextInput;
}

/** A check against reality, of a gate in code. */
export interface VerifyInput {
  readonly verifier: string;
  readonly params?: JsonObject;
  /** The field of evidence whose value is looked at. */
  readonly field?: string;
}

/** The question that a gate in code asks a person. */
export interface ApprovalInput {
  readonly prompt: string;
  /** Who may answer; any approver if not given. */
  readonly approvers?: readonly string[];
}

/** A gate of a workflow in code. */
export interface GateInput {
  /** zod, or any other Standard Schema, for the whole evidence object; it may be asynchronous. */
  readonly evidence: StandardSchemaV1;
  /** A right answer to show where evidence is refused. */
  readonly example?: JsonObject;
  /** Whether the host may let a session pass without evidence. */
  readonly allowOverride?: boolean;
  /** Checks against reality, by the names of verifiers that the host has registered. */
  readonly verify?: readonly VerifyInput[];
  /** The person who must say yes. */
  readonly approval?: ApprovalInput;
  /** How much of what the gate asks for agents are shown: all of it if not given. */
  readonly reveal?: Reveal;
}

/** A phase of a workflow in code. */
export interface PhaseInput {
  /** Its number, 0 or more; numbers rise, with gaps if you like. */
  readonly number: number;
  readonly name: string;
  readonly purpose?: string;
  readonly estimatedEffort?: string;
  readonly keyDeliverables?: readonly string[];
  readonly validationCriteria?: readonly string[];
  /** What the agent reads, as Markdown. */
  readonly content: TextInput;
  readonly tasks?: readonly TaskInput[];
  /** What must be shown; without it any evidence object passes. */
  readonly gate?: GateInput;
  /** Whether the host may skip the phase. */
  readonly skippable?: boolean;
}

/** A workflow in code. */
export interface WorkflowInput<Phases extends readonly PhaseInput[] = readonly PhaseInput[]> {
  /** Its type: letters, digits, `_`, `-` and `.`. */
  readonly type: string;
  /**
   * Names this state of the definition. Change it whenever what a gate accepts changes: sessions
   * under way keep to the revision that they were started with.
   */
  readonly revision: string;
  readonly name: string;
  readonly description: string;
  readonly version?: string;
  readonly category?: string;
  readonly estimatedDuration?: string;
  readonly targetLanguages?: readonly string[];
  readonly artifacts?: readonly string[];
  readonly prerequisites?: readonly string[];
  readonly tags?: readonly string[];
  /** The number of the phase that sessions begin with; the first one if not given. */
  readonly startPhase?: number;
  readonly phases: Phases;
}
