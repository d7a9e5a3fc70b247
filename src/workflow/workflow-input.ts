/** The input of `defineWorkflow`, and the types that are inferred from it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FieldType } from "./gate-definition.js";
import type { JsonObject, JsonValue } from "./json.js";
import type { Reveal, WorkflowDefinition } from "./structure.js";

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
  /** What it checks, for the agent. */
  readonly description?: string;
  /** `false` if nobody may waive a check of the gate as a whole. Default: true. */
  readonly waivable?: boolean;
}

/** An approval by a person, in a gate defined in code. */
export interface ApprovalInput {
  /** The question for the person. */
  readonly prompt: string;
  /** The names of the approvers who may answer. Default: any approver. */
  readonly approvers?: readonly string[];
}

/** A rule with the message for evidence that breaks it. */
export interface RuleInput {
  /** The rule, in CEL. */
  readonly rule: string;
  /** The message for evidence that breaks it. Default: the rule itself. */
  readonly errorMessage?: string;
}

/** A field of evidence, in a gate defined in code. */
export interface FieldInput {
  /** The type of the value. Default: `any`. */
  readonly type?: FieldType;
  /** True if evidence without it is refused; a required boolean must be true. Default: true. */
  readonly required?: boolean;
  /** What the field means, for the agent. */
  readonly description?: string;
  /** A valid value, for the agent. Default: a usual value of the type, which the rules may refuse. */
  readonly example?: JsonValue;
  /** True if the example may be what the work gives. Default: evidence that equals it is refused as copied. */
  readonly allowExample?: boolean;
  /** A validator by its name, a rule over `value`, or a list of them. Default: none. */
  readonly validator?: string | readonly string[];
  /** The value of `params` in them. Default: none. */
  readonly validatorParams?: JsonObject;
  /** `false` if nobody may waive the field. Default: true. */
  readonly waivable?: boolean;
}

/** The part that all gates defined in code can have. */
export interface GateDemands {
  /** True if the host may let a session pass without evidence. Default false. */
  readonly allowOverride?: boolean;
  /** Checks against reality, by verifiers that the host has registered. */
  readonly verify?: readonly VerifyInput[];
  /** The approval by a person that the gate needs. */
  readonly approval?: ApprovalInput;
  /** The part of the gate that agents see. Default: all of it. */
  readonly reveal?: Reveal;
}

/** A gate defined in code: a schema for the evidence. */
export interface GateInput extends GateDemands {
  /** A schema for the whole evidence object: zod or any other Standard Schema. It may be asynchronous. */
  readonly evidence: StandardSchemaV1;
  /** An example of valid evidence, for hosts. */
  readonly example?: JsonObject;
  /** True if the example may be what the work gives. Default: evidence that equals it is refused as copied. */
  readonly allowExample?: boolean;
}

/** A gate in code with named fields and rules, as a gate file has them. */
export interface FieldGateInput extends GateDemands {
  /** The fields of the evidence, by name. */
  readonly fields: Readonly<Record<string, FieldInput>>;
  /** Further validators, by name: rules over `value` that fields can name. Default: none. */
  readonly validators?: Readonly<Record<string, string | RuleInput>>;
  /** Rules between fields, over `evidence`. Default: none. */
  readonly crossFieldValidation?: readonly (string | RuleInput)[];
  /** True if rules block, false if they only warn. Default: true. */
  readonly strict?: boolean;
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
  /** The gate of the phase: a schema, or fields with rules. Without it any evidence object passes. */
  readonly gate?: GateInput | FieldGateInput;
  /** True if the host may skip the phase. Default false. */
  readonly skippable?: boolean;
  /**
   * A rule in CEL over the options of the start, such as `!has(options.docs)`: a session whose options fulfil it skips the
   * phase. One that can't be evaluated, because an option is missing, say, skips nothing. Default: never.
   */
  readonly skipWhen?: string;
  /** The reason for the log, in words. Default: the rule. */
  readonly skipCondition?: string;
}

/** How the phases after those in code are read from a plan, as `dynamic_config` says for a folder. */
export interface DynamicInput {
  /** The texts of the plan's phases and tasks, with placeholders such as `[PHASE_NAME]`. */
  readonly templates: { readonly phase: TextInput; readonly task: TextInput };
  /** The option of a start that names the plan; without it, the target is the plan. Default: `spec_path`. */
  readonly sourcePathKey?: string;
  /** The parser of the plan, built-in or the host's own. Default: `spec_tasks_parser`, which recognises dialects. */
  readonly parser?: string;
  /** True if a task can't be read while its dependencies are open. Default: false. */
  readonly enforceDependencies?: boolean;
  /** True if acceptance criteria are ticked with their tasks. Default: false. */
  readonly tickCriteria?: boolean;
  /** Checks at the gate of every phase from the plan. Default: none. */
  readonly verify?: readonly Pick<VerifyInput, "verifier" | "params">[];
}

/** A workflow defined in code. */
export interface WorkflowInput<Phases extends readonly PhaseInput[] = readonly PhaseInput[]> {
  /** The workflow type: a folder name that every file system accepts, at most 128 characters. */
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
  /** `none` if the workflow is not about a file or folder: a start then needs no target. Default: it does. */
  readonly target?: "none";
  /**
   * The options that a session can be started with: zod or any other Standard Schema of an object. Its output, with its
   * defaults, is what rules and placeholders see. Default: any options.
   */
  readonly options?: StandardSchemaV1;
  /** The number of the phase that sessions begin with. Default: the first phase. */
  readonly startPhase?: number;
  /** Takes further phases from a plan: those of the host's `plans`. Default: none. */
  readonly dynamic?: DynamicInput;
  /** The phases, in ascending order of their numbers; at least one, unless they come from a plan. */
  readonly phases: Phases;
  /**
   * Texts that the phases' texts name, by path: `core/template.md`. One below `phases/2/` can be read from phase 2 on.
   * Default: none.
   */
  readonly documents?: Readonly<Record<string, TextInput>>;
}

/** Selects a text of a workflow: of a phase, of a task, or a template for those of a plan. */
export type WorkflowPart = { readonly phase: number; readonly task?: number } | { readonly template: "phase" | "task" };

/** A workflow defined in code: its definition and its texts. */
export interface Workflow<Phases extends readonly PhaseInput[] = readonly PhaseInput[]> {
  /** The definition that an engine runs. */
  readonly definition: WorkflowDefinition;
  /** The phases as given; the evidence types of `completePhase` are inferred from them. */
  readonly phases: Phases;
  /** The documents as given. */
  readonly documents: Readonly<Record<string, TextInput>>;
  /** Returns the text of a phase, of one of its tasks, or a template; undefined if there is none. */
  text(part: WorkflowPart): string | Promise<string> | undefined;
}

/** The phase numbers of a workflow, as a union of literals. */
export type PhaseNumberOf<W extends Workflow> = W["phases"][number]["number"];

/** The evidence that a phase takes: the input of its schema, or any object if it has none. */
export type EvidenceOf<W extends Workflow, N extends number> =
  Extract<W["phases"][number], { readonly number: N }> extends {
    readonly gate: { readonly evidence: infer S extends StandardSchemaV1 };
  }
    ? StandardSchemaV1.InferInput<S>
    : JsonObject;

/** Returns a text, also if a function returns it. */
export function readInput(content: TextInput): string | Promise<string> {
  return typeof content === "function" ? content() : content;
}
