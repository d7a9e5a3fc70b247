/** The input of `defineWorkflow`: one schema for each part, which gives its type. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as z from "zod/mini";
import { type FieldType, REVEALS } from "./gate-definition.js";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.js";
import { orNearest, shown } from "./names.js";
import type { WorkflowDefinition } from "./structure.js";

/** A text, or a function that returns it on request. */
export type TextInput = string | (() => string | Promise<string>);

/** Other programs may add keys that begin with `x-`. A misspelt key would be ignored, and could leave a gate open. */
export function keysOf<T extends z.core.$ZodLooseShape>(shape: T, what = "an object") {
  const strange = (key: string) => `has no key ${shown(key)}${orNearest(key, Object.keys(shape))}`;
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys
            .filter((key) => !key.startsWith("x-"))
            .map(strange)
            .join("\n")
        : what,
  });
}

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";
const isList = (value: unknown, is: (one: unknown) => boolean): value is readonly string[] =>
  Array.isArray(value) && value.every(is);

/** A value that is checked elsewhere. */
export const anyOf = <T>() => z.custom<T>();
/** A text, which may be blank. */
export const text = z.string("a text");
export const texts = z.custom<readonly string[]>(
  (value) => isList(value, (one) => typeof one === "string"),
  "a list of texts",
);
export const filled = z.custom<string>(isText, "a text");
const someTexts = z.custom<readonly string[]>((value) => isList(value, isText) && value.length > 0, "a list of texts");
const flag = z.boolean("true or false");
export const object = z.custom<JsonObject>(isJsonObject, "an object");
export const content = z.custom<TextInput>(
  (value) => typeof value === "string" || typeof value === "function",
  "a text, or a function that returns one",
);
const standardSchema = z.custom<StandardSchemaV1>(
  (value) => Object(value)["~standard"] !== undefined,
  "a Standard Schema",
);
export const list = <T extends z.ZodMiniType>(of: T) => z.readonly(z.array(of, "a list"));

/** Problems of an input: values of a wrong kind, and keys that are not known. */
interface InputProblems {
  readonly wrong: readonly string[];
  readonly unknown: readonly string[];
}

/**
 * Checks an input by its schema: one that no compiler has seen, such as JSON, may hold the text `"false"`, which counts as
 * true. `named` returns the words for an object with an unknown key.
 */
export function inputProblems(
  about: string,
  schema: z.ZodMiniType,
  value: unknown,
  named?: (path: readonly PropertyKey[]) => string | undefined,
): InputProblems {
  const issues = z.safeParse(schema, value).error?.issues ?? [];
  // Only the own keys of a workflow are named with it.
  const place = (path: readonly PropertyKey[], own: number) =>
    about.includes(" ") && path.length > own ? dotted(path).slice(1) : `${about}${dotted(path)}`;
  const wrong = issues.flatMap(({ code, path, message }) => {
    if (code === "unrecognized_keys") return [];
    const given = path.reduce<unknown>((inner, key) => Object(inner)[key], value);
    const isGone = given === undefined && path.length > 0;
    return [`${place(path, 1)} ${isGone ? "is missing" : `must be ${message}, not ${shown(given)}`}`];
  });
  const unknown = issues.flatMap(({ code, path, message }) =>
    code === "unrecognized_keys" && message !== ""
      ? message.split("\n").map((fault) => `${named?.(path) ?? place(path, 0)} ${fault}`)
      : [],
  );
  return { wrong, unknown };
}

/** Returns a path as code has it: `.verify[0].params`. */
export function dotted(path: readonly PropertyKey[]): string {
  return path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
}

const taskInput = keysOf({
  /** The number in the phase. Default: its position, from 1. */
  number: z.optional(anyOf<number>()),
  /** The name of the task. */
  name: filled,
  /** Why the task is done. */
  purpose: z.optional(text),
  /** The instructions for the agent, as Markdown. */
  content,
});
/** A task of a workflow in code. */
export type TaskInput = z.infer<typeof taskInput>;

const planCheck = {
  /** The name of a verifier that the host has registered. */
  verifier: filled,
  /** Parameters of the verifier. Default: none. */
  params: z.optional(object),
  /** What it checks, for the agent. */
  description: z.optional(filled),
  /** `false` if nobody may waive a check of the gate as a whole. Default: true. */
  waivable: z.optional(flag),
};
const verifyInput = keysOf({
  ...planCheck,
  /** The evidence field whose value is checked. */
  field: z.optional(filled),
});
const approvalInput = keysOf({
  /** The question for the person. */
  prompt: filled,
  /** The names of the approvers who may answer. Default: any approver. */
  approvers: z.optional(someTexts),
});
/** An approval by a person, in a gate defined in code. */
export type ApprovalInput = z.infer<typeof approvalInput>;

export const ruleInput = keysOf({
  /** The rule, in CEL. */
  rule: filled,
  /** The message for evidence that breaks it. Default: the rule itself. */
  errorMessage: z.optional(text),
});
/** A rule with the message for evidence that breaks it. */
export type RuleInput = z.infer<typeof ruleInput>;

const fieldInput = keysOf(
  {
    /** The type of the value. Default: `any`. */
    type: z.optional(anyOf<FieldType>()),
    /** True if evidence without it is refused; a required boolean must be true. Default: true. */
    required: z.optional(flag),
    /** What the field means, for the agent. */
    description: z.optional(filled),
    /** A valid value, for the agent. Default: a usual value of the type, which the rules may refuse. */
    example: z.optional(anyOf<JsonValue>()),
    /** True if the example may be what the work gives. Default: evidence that equals it is refused as copied. */
    allowExample: z.optional(flag),
    /** A validator by its name, a rule over `value`, or a list of them. Default: none. */
    validator: z.optional(anyOf<string | readonly string[]>()),
    /** The value of `params` in them. Default: none. */
    validatorParams: z.optional(object),
    /** `false` if nobody may waive the field. Default: true. */
    waivable: z.optional(flag),
  },
  'an object, such as { type: "boolean" }',
);
/** A field of evidence, in a gate defined in code. */
export type FieldInput = z.infer<typeof fieldInput>;

const demands = {
  /** True if the host may let a session pass without evidence. Default false. */
  allowOverride: z.optional(flag),
  /** Checks against reality, by verifiers that the host has registered. */
  verify: z.optional(list(verifyInput)),
  /** The approval by a person that the gate needs. */
  approval: z.optional(approvalInput),
  /** The part of the gate that agents see. Default: all of it. */
  reveal: z.optional(z.enum(REVEALS, `one of ${REVEALS.join(", ")}`)),
};

export const gateInput = keysOf({
  ...demands,
  /** A schema for the whole evidence object: zod or any other Standard Schema. It may be asynchronous. */
  evidence: standardSchema,
  /** An example of valid evidence, for hosts. */
  example: z.optional(anyOf<JsonObject>()),
  /** True if the example may be what the work gives. Default: evidence that equals it is refused as copied. */
  allowExample: z.optional(flag),
});
/** A gate defined in code: a schema for the evidence. */
export type GateInput = z.infer<typeof gateInput>;

export const fieldGateInput = keysOf({
  ...demands,
  /** The fields of the evidence, by name. */
  fields: z.record(z.string(), fieldInput, "an object with the fields by name"),
  /** Further validators, by name: rules over `value` that fields can name. Default: none. */
  validators: z.optional(anyOf<Readonly<Record<string, string | RuleInput>>>()),
  /** Rules between fields, over `evidence`. Default: none. */
  crossFieldValidation: z.optional(anyOf<readonly (string | RuleInput)[]>()),
  /** True if rules block, false if they only warn. Default: true. */
  strict: z.optional(flag),
});
/** A gate in code with named fields and rules, as a gate file has them. */
export type FieldGateInput = z.infer<typeof fieldGateInput>;

const valueOrRule = z.custom<string | { readonly rule: string }>(
  (value) => isText(value) || isText(Object(value).rule),
  "a text, or { rule: … }",
);

export const childGateInput = keysOf({
  /** The type of the workflow. */
  workflow: filled,
  /** What its sessions work on: a path, or a rule in CEL that gives one. Default: what this session works on. */
  target: z.optional(valueOrRule),
  /** The options that they are started with: values, or rules as `{ rule: "artifacts.plan.depth" }`. Default: none. */
  options: z.optional(object),
  /** A rule that gives a list: one session for each of its items, which the other rules read as `item`. Default: one session. */
  forEach: z.optional(filled),
  /** True if the phase passes where that list is empty. Default: false. */
  allowEmpty: z.optional(flag),
  /** True if the host may let a session pass without them. Default: false. */
  allowOverride: z.optional(flag),
});
/** The gate of a phase that is a workflow: it passes when the sessions on that workflow are completed, and by nothing else. */
export type ChildGateInput = z.infer<typeof childGateInput>;

export const phaseInput = keysOf({
  /** The number of the phase, 0 or more. Numbers must ascend and may have gaps. Default: its place, if no phase has one. */
  number: z.optional(anyOf<number>()),
  /** The name of the phase. */
  name: text,
  /** Why the phase is done. */
  purpose: z.optional(text),
  /** The estimated effort, as text. */
  estimatedEffort: z.optional(text),
  /** The main results of the phase. */
  keyDeliverables: z.optional(texts),
  /** Criteria that agents are shown; they are not checked. */
  validationCriteria: z.optional(texts),
  /** The instructions for the agent, as Markdown. */
  content,
  /** The tasks of the phase, in ascending order of their numbers. */
  tasks: z.optional(list(taskInput)),
  /** The gate of the phase: a schema, fields with rules, or another workflow. Without it any evidence object passes. */
  gate: z.optional(anyOf<GateInput | FieldGateInput | ChildGateInput>()),
  /** True if the host may skip the phase. Default false. */
  skippable: z.optional(flag),
  /**
   * A rule in CEL over the options of the start, such as `!has(options.docs)`: a session whose options fulfil it skips the
   * phase. One that can't be evaluated, because an option is missing, say, skips nothing. Default: never.
   */
  skipWhen: z.optional(z.custom<string>(isText, 'a rule over the options, such as "!has(options.docs)"')),
  /** The reason for the log, in words. Default: the rule. */
  skipCondition: z.optional(text),
});
/** A phase of a workflow defined in code. */
export type PhaseInput = z.infer<typeof phaseInput>;

/** A phase for any workflow, which numbers it. */
export interface PhasePart extends Omit<PhaseInput, "number"> {
  /** A part has none. */
  readonly number?: undefined;
}
/** A phase with the number that it has in a workflow. */
export interface NumberedPhase extends PhaseInput {
  readonly number: number;
}

const dynamicInput = keysOf({
  /** The texts of the plan's phases and tasks, with placeholders such as `[PHASE_NAME]`. */
  templates: keysOf({ phase: content, task: content }),
  /** The option of a start that names the plan; without it, the target is the plan. Default: `spec_path`. */
  sourcePathKey: z.optional(filled),
  /** The parser of the plan, built-in or the host's own. Default: `spec_tasks_parser`, which recognises dialects. */
  parser: z.optional(filled),
  /** True if a task can't be read while its dependencies are open. Default: false. */
  enforceDependencies: z.optional(flag),
  /** True if acceptance criteria are ticked with their tasks. Default: false. */
  tickCriteria: z.optional(flag),
  /** Checks at the gate of every phase from the plan. Default: none. */
  verify: z.optional(list(keysOf(planCheck))),
});
/** How the phases after those in code are read from a plan, as `dynamic_config` says for a folder. */
export type DynamicInput = z.infer<typeof dynamicInput>;

export const workflowInput = keysOf({
  /** The workflow type: a folder name that every file system accepts, at most 128 characters. */
  type: anyOf<string>(),
  /**
   * Identifies this version of the definition. Change it whenever the gates accept something else: running sessions
   * stay on the revision that they were started with.
   */
  revision: text,
  /** The name that people see. */
  name: text,
  /** The purpose of the workflow. */
  description: text,
  /** The version that people see. Default `1`. */
  version: z.optional(text),
  /** A category, for lists. */
  category: z.optional(text),
  /** The estimated duration, as text. */
  estimatedDuration: z.optional(text),
  /** The programming languages that the workflow is for. */
  targetLanguages: z.optional(texts),
  /** The artifacts that the workflow produces. */
  artifacts: z.optional(texts),
  /** Requirements that must be met before the workflow starts. */
  prerequisites: z.optional(texts),
  /** Tags, for searches. */
  tags: z.optional(texts),
  /** `none` if the workflow is not about a file or folder: a start then needs no target. Default: it does. */
  target: z.optional(z.literal("none", '"none"')),
  /**
   * The options that a session can be started with: zod or any other Standard Schema of an object. Its output, with its
   * defaults, is what rules and placeholders see. Default: any options.
   */
  options: z.optional(standardSchema),
  /** The phase that sessions begin with, by its number or name. Default: the first phase. */
  startPhase: z.optional(anyOf<number | string>()),
  /** Takes further phases from a plan: those of the host's `plans`. Default: none. */
  dynamic: z.optional(dynamicInput),
  /**
   * The phases, in ascending order of their numbers; at least one, unless they come from a plan. If no phase has a number,
   * they are numbered from 1.
   */
  phases: list(phaseInput),
  /**
   * Texts that the phases' texts name, by path: `core/template.md`. One below `phases/2/` can be read from phase 2 on.
   * Default: none.
   */
  documents: z.optional(z.record(z.string(), content, "an object")),
});

/** A workflow defined in code. */
export interface WorkflowInput<Phases extends readonly PhaseInput[] = readonly PhaseInput[]>
  extends Omit<z.infer<typeof workflowInput>, "phases"> {
  /**
   * The phases, in ascending order of their numbers; at least one, unless they come from a plan. If no phase has a number,
   * they are numbered from 1.
   */
  readonly phases: Phases;
}

/** Selects a text of a workflow: of a phase, of a task, or a template for those of a plan. */
export type WorkflowPart = { readonly phase: number; readonly task?: number } | { readonly template: "phase" | "task" };

/** A workflow defined in code: its definition and its texts. */
export interface Workflow<Phases extends readonly PhaseInput[] = readonly PhaseInput[]> {
  /** The definition that an engine runs. */
  readonly definition: WorkflowDefinition;
  /** The phases as given; the evidence types of `completePhase` are inferred from them. Those without numbers may be used again. */
  readonly phases: Phases;
  /** The documents as given. */
  readonly documents: Readonly<Record<string, TextInput>>;
  /** Returns the text of a phase, of one of its tasks, or a template; undefined if there is none. */
  text(part: WorkflowPart): string | Promise<string> | undefined;
}

/** Returns a text, also if a function returns it. */
export function readInput(content: TextInput): string | Promise<string> {
  return typeof content === "function" ? content() : content;
}
