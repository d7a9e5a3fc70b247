/** The input types of `defineWorkflow`. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject } from "./json.js";
import type { Reveal } from "./structure.js";

/** A text, or a function that returns it on request. */
export type TextInput = string | (() => string | Promise<string>);

/** A task of a workflow in code. */
export interface TaskInput {
  /** The number in the phase. Default: its position, from 1. */
  readonly number?: number;
  /** The name of the task. */
  readonly name: string;
  /** Why the task is done. */
  readonly purpose?: string;
  /** The instructions for the agent, as Markdown. */
  readonly content: TextInput;
}

/** A check against reality, in a gate defined in code. */
export interface VerifyInput {
  /** The name of a verifier that the host has registered. */
  readonly verifier: string;
  /** Parameters of the verifier. Default: none. */
  readonly params?: JsonObject;
  /** The evidence field whose value is checked. */
  readonly field?: string;
}

/** An approval by a person, in a gate defined in code. */
export interface ApprovalInput {
  /** The question for the person. */
  readonly prompt: string;
  /** The names of the approvers who may answer. Default: any approver. */
  readonly approvers?: readonly string[];
}

/** The gate of a phase defined in code. */
export interface GateInput {
  /** A schema for the whole evidence object: zod or any other Standard Schema. It may be asynchronous. */
  readonly evidence: StandardSchemaV1;
  /** An example of valid evidence, shown when evidence is refused. */
  readonly example?: JsonObject;
  /** True if the host may let a session pass without evidence. Default false. */
  readonly allowOverride?: boolean;
  /** Checks against reality, by verifiers that the host has registered. */
  readonly verify?: readonly VerifyInput[];
  /** The approval by a person that the gate needs. */
  readonly approval?: ApprovalInput;
  /** The part of the gate that agents see. Default: all of it. */
  readonly reveal?: Reveal;
}

/** A phase of a workflow defined in code. */
export interface PhaseInput {
  /** The number of the phase, 0 or more. Numbers must ascend and may have gaps. */
  readonly number: number;
  /** The name of the phase. */
  readonly name: string;
  /** Why the phase is done. */
  readonly purpose?: string;
  /** The estimated effort, as text. */
  readonly estimatedEffort?: string;
  /** The main results of the phase. */
  readonly keyDeliverables?: readonly string[];
  /** Criteria that agents are shown; they are not checked. */
  readonly validationCriteria?: readonly string[];
  /** The instructions for the agent, as Markdown. */
  readonly content: TextInput;
  /** The tasks of the phase, in ascending order of their numbers. */
  readonly tasks?: readonly TaskInput[];
  /** The gate of the phase. Without it any evidence object passes. */
  readonly gate?: GateInput;
  /** True if the host may skip the phase. Default false. */
  readonly skippable?: boolean;
}

/** A workflow defined in code. */
export interface WorkflowInput<Phases extends readonly PhaseInput[] = readonly PhaseInput[]> {
  /** The workflow type: letters, digits, `_`, `-` and `.`, at most 128 characters. */
  readonly type: string;
  /**
   * Identifies this version of the definition. Change it whenever the gates accept something else: running sessions
   * stay on the revision that they were started with.
   */
  readonly revision: string;
  /** The name that people see. */
  readonly name: string;
  /** The purpose of the workflow. */
  readonly description: string;
  /** The version that people see. Default `1`. */
  readonly version?: string;
  /** A category, for lists. */
  readonly category?: string;
  /** The estimated duration, as text. */
  readonly estimatedDuration?: string;
  /** The programming languages that the workflow is for. */
  readonly targetLanguages?: readonly string[];
  /** The artifacts that the workflow produces. */
  readonly artifacts?: readonly string[];
  /** Requirements that must be met before the workflow starts. */
  readonly prerequisites?: readonly string[];
  /** Tags, for searches. */
  readonly tags?: readonly string[];
  /** The number of the phase that sessions begin with. Default: the first phase. */
  readonly startPhase?: number;
  /** The phases, in ascending order of their numbers; at least one. */
  readonly phases: Phases;
}
