/**
 * The definition of a workflow as plain JSON: what a session pins when it starts. This is the entry file of the folder.
 * The interfaces say what each member means; the schemas below check the same when a definition is read from a store.
 *
 * What is decided where:
 * - gate-definition.ts: the four kinds of gates, and what each can ask for
 * - workflow-input.ts: the input types of `defineWorkflow`
 * - json-schema.ts, schema-sample.ts: which values a schema accepts as far as its JSON Schema says, and examples for agents
 * - routed-definition.ts: the definition of a routed workflow, and when two step names are the same
 * - names.ts: which ids, types and paths from outside are accepted, which characters are escaped, and which
 *   files are never shown to agents because they hold secrets
 * - field-types.ts: the words for field types, and when a value is blank
 * - json.ts: canonical JSON, digests and revisions
 * - json-source.ts, yaml.ts: which JSON and YAML is accepted, with the position of every value
 * - object-reader.ts: how wrong, missing and unknown keys are reported; how many diagnostics and rules a definition may have
 * - diagnostic.ts: every check that reading a definition can report
 * - from-markdown.ts: parsing Markdown in linear time
 * - markdown-facts.ts: the facts shown from the text of a phase or task
 * - placeholders.ts: the placeholders that templates may use
 *
 * `files/` reads workflow folders; `infer/` reads gates from prose.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as z from "zod/mini";
import { type GateDefinition, gateSchema, type VerifyDefinition, verifySchema } from "./gate-definition.js";
import { type JsonObject, storedObjectSchema } from "./json.js";

export type {
  ApprovalDefinition,
  FieldDefinition,
  FieldGate,
  FieldType,
  GateDefinition,
  OpenGate,
  PlanGate,
  Reveal,
  RuleDefinition,
  SchemaGate,
  VerifyDefinition,
} from "./gate-definition.js";

/** A definition that an engine can run. */
export interface WorkflowDefinition {
  /** The part that is plain JSON. */
  readonly structure: WorkflowStructure;
  /** The evidence schemas, which exist only as code, by phase number. */
  readonly schemas: ReadonlyMap<number, StandardSchemaV1>;
  /** The schema of a start's options, if it exists as code. */
  readonly options?: StandardSchemaV1;
}

/** A whole definition as plain JSON. */
export interface WorkflowStructure {
  /** The workflow's type: the name that sessions are started with. */
  type: string;
  /** The author's version. */
  version: string;
  /** Identifies this version of the definition: chosen by the author in code, a digest for files. */
  revision: string;
  /** The name for people. */
  name: string;
  /** What the workflow is for. */
  description: string;
  /** The author's category, if any. */
  category?: string | undefined;
  /** How long the workflow takes, in the author's words. */
  estimatedDuration?: string | undefined;
  /** The programming languages that it is for. */
  targetLanguages?: string[] | undefined;
  /** What the workflow produces, in the author's words. */
  artifacts?: string[] | undefined;
  /** What must be there before it starts, in the author's words. */
  prerequisites?: string[] | undefined;
  /** The author's tags. */
  tags?: string[] | undefined;
  /** `none` if the workflow is not about a file or folder: its sessions have the project itself, `.`, as their target. */
  target?: "none" | undefined;
  /** True if a text of its folder tells the agent to search. */
  searches?: true | undefined;
  /** The JSON Schema of the options that a session can be started with. Any options if missing. */
  optionsSchema?: JsonObject | undefined;
  /** The number of the first phase. */
  startPhase: number;
  /**
   * In ascending order of their numbers, which may have gaps and may begin at 0. Empty only if all phases
   * come from a plan that is not pinned yet.
   */
  phases: PhaseDefinition[];
  /** How phases are read from a plan, if they are. */
  dynamic?:
    | {
        /** The name of the source parser. */
        parser: string;
        /** The session option that holds the path of the plan. */
        sourcePathKey: string;
        /** Paths of the templates, relative to the workflow's folder. */
        templates: { phase: string; task: string };
        /** The revisions of the templates' texts when the definition was read. */
        templateRevisions?: { phase?: string | undefined; task?: string | undefined } | undefined;
        /** True if a task can't be read while its dependencies are open. */
        enforceDependencies: boolean;
        /** True if acceptance criteria are ticked with their tasks. */
        tickCriteria: boolean;
        /** Checks at the gate of every phase from the plan. None if missing. */
        verify?: VerifyDefinition[] | undefined;
        /** Keys of the source that this version doesn't know, kept. */
        extra?: JsonObject | undefined;
      }
    | undefined;
  /** The pinned plan of a session whose phases come from a plan. */
  plan?:
    | {
        /** The path of the plan, relative to the project root. */
        path: string;
        /** The digest of the text that was pinned. */
        hash: string;
        /** The dialect that the plan was read in. */
        dialect: string;
        /** What was added to the plan's own phase numbers. */
        shift: number;
        /** True if tasks are ticked in the plan once their phase's gate has passed; not every source can be written. */
        ticked: boolean;
      }
    | undefined;
  /** Keys of the source that this version doesn't know, kept. */
  extra?: JsonObject | undefined;
}

/** One phase, with its tasks and its gate. */
export interface PhaseDefinition {
  /** Its number in the session. */
  number: number;
  /** Its name. */
  name: string;
  /** The path of its text, relative to the workflow's folder. */
  file?: string | undefined;
  /** What the phase is for. */
  purpose?: string | undefined;
  /** How much work it is, in the author's words. */
  estimatedEffort?: string | undefined;
  /** What it produces, in the author's words. */
  keyDeliverables?: string[] | undefined;
  /** When it is done, in the author's words. The gate decides. */
  validationCriteria?: string[] | undefined;
  /** True if the host may skip it. It may not if missing. */
  skippable?: boolean | undefined;
  /** When a session skips it on its own. Never if missing. */
  skipWhen?:
    | {
        /** The rule over the session's options, in CEL. */
        cel: string;
        /** The reason that is recorded, in the author's words. */
        reason: string;
      }
    | undefined;
  /** Its tasks, in order. */
  tasks: TaskDefinition[];
  /** What its evidence must fulfil. */
  gate: GateDefinition;
  /** The revision of the phase's text when the definition was read. */
  textRevision?: string | undefined;
  /** What the plan says of it, if it comes from one. */
  plan?:
    | {
        /** The number in the plan; it differs from the session's number where phases were shifted. */
        number: number;
        /** The number as the plan's file has it, where it differs: `1.5`, `A`. */
        written?: string | undefined;
        /** The phase's goal. */
        goal?: string | undefined;
        /** How long it takes, in the plan's words. */
        estimatedDuration?: string | undefined;
      }
    | undefined;
  /** Keys of the source that this version doesn't know, kept. */
  extra?: JsonObject | undefined;
}

/** One task of a phase. */
export interface TaskDefinition {
  /** Its number in the phase. */
  number: number;
  /** Its name. */
  name: string;
  /** What the task is for. */
  purpose?: string | undefined;
  /** The path of its text, relative to the workflow's folder. */
  file?: string | undefined;
  /** The revision of the task's text when the definition was read. */
  textRevision?: string | undefined;
  /** What the plan says of it, if it comes from one. */
  plan?:
    | {
        /** The plan's own id. */
        id: string;
        /** The text below the task's name. */
        description?: string | undefined;
        /** How long it takes, in the plan's words. */
        estimatedTime?: string | undefined;
        /** Ids of the tasks that must be done before this one. */
        dependencies: string[];
        /** When the task is done. */
        acceptanceCriteria: string[];
        /** The requirements that the task serves, if the plan names them. */
        requirements?: string[] | undefined;
        /** The task's state when the plan was pinned. The gate does not require a task that was dropped. */
        state: "pending" | "in_progress" | "queued" | "blocked" | "done" | "dropped";
        /** True if the phase can pass without it. */
        optional: boolean;
        /** True if it can be done at the same time as its neighbours. */
        parallel: boolean;
      }
    | undefined;
  /** Keys of the source that this version doesn't know, kept. */
  extra?: JsonObject | undefined;
}

/** Returns the number of a phase as its plan's file has it, where the session has another one. */
export function numberInPlan({ number, plan }: PhaseDefinition): string | undefined {
  const written = plan && (plan.written ?? `${plan.number}`);
  return written === `${number}` ? undefined : written;
}

/** How the phases after the static ones are read from a plan. */
export type DynamicDefinition = NonNullable<WorkflowStructure["dynamic"]>;
/** What a session keeps of a task in a plan. */
export type PlannedTask = NonNullable<TaskDefinition["plan"]>;

const texts = z.optional(z.array(z.string()));
const text = z.optional(z.string());
const number = z.int().check(z.nonnegative());

const plannedTaskSchema = z.object({
  id: z.string(),
  description: text,
  estimatedTime: text,
  dependencies: z.array(z.string()),
  acceptanceCriteria: z.array(z.string()),
  requirements: texts,
  state: z.enum(["pending", "in_progress", "queued", "blocked", "done", "dropped"]),
  optional: z.boolean(),
  parallel: z.boolean(),
});

const taskSchema = z.object({
  number,
  name: z.string(),
  purpose: text,
  file: text,
  textRevision: text,
  plan: z.optional(plannedTaskSchema),
  extra: z.optional(storedObjectSchema),
});

const phaseSchema = z.object({
  number,
  name: z.string(),
  file: text,
  purpose: text,
  estimatedEffort: text,
  keyDeliverables: texts,
  validationCriteria: texts,
  skippable: z.optional(z.boolean()),
  skipWhen: z.optional(z.object({ cel: z.string(), reason: z.string() })),
  tasks: z.array(taskSchema),
  gate: gateSchema,
  textRevision: text,
  plan: z.optional(z.object({ number, written: text, goal: text, estimatedDuration: text })),
  extra: z.optional(storedObjectSchema),
});

const dynamicSchema = z.object({
  parser: z.string(),
  sourcePathKey: z.string(),
  templates: z.object({ phase: z.string(), task: z.string() }),
  templateRevisions: z.optional(z.object({ phase: text, task: text })),
  enforceDependencies: z.boolean(),
  tickCriteria: z.boolean(),
  verify: z.optional(z.array(verifySchema)),
  extra: z.optional(storedObjectSchema),
});

const planPinSchema = z.object({
  path: z.string(),
  hash: z.string(),
  dialect: z.string(),
  shift: z.int(),
  ticked: z.boolean(),
});

const shape = z.object({
  type: z.string(),
  version: z.string(),
  revision: z.string(),
  name: z.string(),
  description: z.string(),
  category: text,
  estimatedDuration: text,
  targetLanguages: texts,
  artifacts: texts,
  prerequisites: texts,
  tags: texts,
  target: z.optional(z.literal("none")),
  searches: z.optional(z.literal(true)),
  optionsSchema: z.optional(storedObjectSchema),
  startPhase: number,
  phases: z.array(phaseSchema),
  dynamic: z.optional(dynamicSchema),
  plan: z.optional(planPinSchema),
  extra: z.optional(storedObjectSchema),
});

/** Checks a definition that is read from a store. */
export const structureSchema = shape.check(
  z.refine(
    ({ phases, dynamic, plan }) => phases.length > 0 || (dynamic !== undefined && plan === undefined),
    "a workflow needs a phase, or a plan that gives it some",
  ),
);
