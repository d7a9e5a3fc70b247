/**
 * `defineWorkflow` and its input types: checks a workflow that is written in code and turns it into a definition. Unknown gate keys are
 * errors, because a misspelt key could leave a gate open.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { PhasegateError } from "../errors.js";
import { sinceFault } from "./gate-definition.js";
import { isJsonObject, type JsonObject, revisionOf } from "./json.js";
import { isWorkflowType, nearest, shown } from "./names.js";
import type {
  GateDefinition,
  PhaseDefinition,
  Reveal,
  SchemaGate,
  TaskDefinition,
  WorkflowDefinition,
  WorkflowStructure,
} from "./structure.js";

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
  /** `none` if the workflow is not about a file or folder: a start then needs no target. Default: it does. */
  readonly target?: "none";
  /** The number of the phase that sessions begin with. Default: the first phase. */
  readonly startPhase?: number;
  /** The phases, in ascending order of their numbers; at least one. */
  readonly phases: Phases;
}

/** A workflow defined in code: its definition and its texts. */
export interface Workflow<Phases extends readonly PhaseInput[] = readonly PhaseInput[]> {
  /** The definition that an engine runs. */
  readonly definition: WorkflowDefinition;
  /** The phases as given; the evidence types of `completePhase` are inferred from them. */
  readonly phases: Phases;
  /** Returns the text of a phase, or of one of its tasks; undefined if there is none. */
  text(part: { readonly phase: number; readonly task?: number }): string | Promise<string> | undefined;
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

/**
 * Defines a workflow in code. `completePhase` of its sessions takes exactly the evidence of the phase.
 *
 * @throws {PhasegateError} `DEFINITION_INVALID` with the list of all problems.
 */
export function defineWorkflow<const Phases extends readonly PhaseInput[]>(
  input: WorkflowInput<Phases>,
): Workflow<Phases> {
  const problems = problemsOf(input);
  if (problems.length > 0) {
    throw new PhasegateError(
      "DEFINITION_INVALID",
      `the workflow ${shown(input.type)} can't be used: ${problems.join("; ")}`,
      {
        remedy: "Correct the listed problems.",
        details: { workflowType: String(input.type), diagnostics: problems },
      },
    );
  }
  const schemas = new Map(
    input.phases.flatMap((phase) => (phase.gate === undefined ? [] : [[phase.number, phase.gate.evidence] as const])),
  );
  return {
    definition: { structure: buildStructure(input), schemas },
    phases: input.phases,
    text: (part) => textOf(input.phases, part),
  };
}

/** The keys of a literal's parts. The compiler checks that each is complete. */
const KEYS = {
  workflow: keysOf<WorkflowInput>({
    ...{ type: 1, revision: 1, name: 1, description: 1, version: 1, category: 1, estimatedDuration: 1 },
    ...{ targetLanguages: 1, artifacts: 1, prerequisites: 1, tags: 1, target: 1, startPhase: 1, phases: 1 },
  }),
  phase: keysOf<PhaseInput>({
    ...{ number: 1, name: 1, purpose: 1, estimatedEffort: 1, keyDeliverables: 1, validationCriteria: 1 },
    ...{ content: 1, tasks: 1, gate: 1, skippable: 1 },
  }),
  task: keysOf<TaskInput>({ number: 1, name: 1, purpose: 1, content: 1 }),
  gate: keysOf<GateInput>({ evidence: 1, example: 1, allowOverride: 1, verify: 1, approval: 1, reveal: 1 }),
  verify: keysOf<VerifyInput>({ verifier: 1, params: 1, field: 1 }),
  approval: keysOf<ApprovalInput>({ prompt: 1, approvers: 1 }),
};

function keysOf<T>(keys: Record<keyof T, 1>): readonly string[] {
  return Object.keys(keys);
}

function problemsOf(input: WorkflowInput): string[] {
  const problems: string[] = [];
  if (!isWorkflowType(input.type))
    problems.push(`type ${shown(input.type)} may contain letters, digits, '_', '-' and '.'`);
  if (input.revision === "") problems.push("revision is empty");
  problems.push(...missing("", input, ["revision", "name", "description"]));
  problems.push(...unknownKeys("the workflow", input, KEYS.workflow));
  if (input.phases.length === 0) problems.push("there is no phase");
  problems.push(
    ...ascending(
      input.phases.map(({ number }) => number),
      "phase",
    ),
  );
  for (const phase of input.phases) {
    const about = `phase ${phase.number}`;
    const { gate } = phase;
    // Callers in plain JavaScript may pass anything.
    if (gate !== undefined && Object(gate?.evidence)["~standard"] === undefined) {
      problems.push(`${about}: gate.evidence is not a Standard Schema`);
    }
    // A misspelt key would be ignored, and the gate would stay open.
    problems.push(
      ...missing(`${about}: `, phase, ["name", "content"]),
      ...unknownKeys(about, phase, KEYS.phase),
      ...unknownKeys(`${about}: gate`, gate, KEYS.gate),
      ...unknownKeys(`${about}: gate.approval`, gate?.approval, KEYS.approval),
      ...(gate?.verify ?? []).flatMap((check, at) => unknownKeys(`${about}: gate.verify[${at}]`, check, KEYS.verify)),
      ...sinceProblems(about, phase, input),
      ...(phase.tasks ?? []).flatMap((task, at) => unknownKeys(`${about}: tasks[${at}]`, task, KEYS.task)),
    );
    const numbers = (phase.tasks ?? []).map(({ number }, index) => number ?? index + 1);
    problems.push(...ascending(numbers, `phase ${phase.number}: task`));
  }
  if (input.target !== undefined && input.target !== "none")
    problems.push(`target ${shown(input.target)} must be "none"`);
  const start = input.startPhase;
  if (start !== undefined && !input.phases.some(({ number }) => number === start)) {
    problems.push(`startPhase ${start} is not a phase of the workflow`);
  }
  return problems;
}

/** Returns what is wrong with `since` in the params of a phase's checks. */
function sinceProblems(about: string, { number: phase, gate }: PhaseInput, { phases, startPhase }: WorkflowInput) {
  const place = { phase, phases: phases.map(({ number }) => number), startPhase };
  return (gate?.verify ?? []).flatMap(({ verifier, params }, at) => {
    const fault = sinceFault({ verifier, params: params ?? {} }, place);
    return fault === undefined ? [] : [`${about}: gate.verify[${at}]: ${fault.message}. ${fault.hint}`];
  });
}

function ascending(numbers: readonly number[], what: string): string[] {
  return numbers.flatMap((number, index) => {
    if (!Number.isSafeInteger(number) || number < 0) return [`${what} ${number} is not a whole number, 0 or more`];
    const before = numbers[index - 1];
    return before !== undefined && before >= number ? [`${what} ${number} follows ${before}: numbers must ascend`] : [];
  });
}

/** Names the keys that types require and plain JavaScript may leave out: a session's log would be spoilt without them. */
function missing<T extends object>(about: string, value: T, keys: readonly (keyof T & string)[]): string[] {
  return keys.filter((key) => value[key] === undefined).map((key) => `${about}${key} is missing`);
}

/** Names the keys that are not known. Those that begin with `x-` are for other programs. */
function unknownKeys(about: string, value: unknown, known: readonly string[]): string[] {
  const keys = Object.keys(Object(value)).filter((key) => !known.includes(key) && !key.startsWith("x-"));
  return keys.map((key) => {
    const meant = nearest(key, known);
    return `${about} has no key ${shown(key)}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
  });
}

function buildStructure(input: WorkflowInput): WorkflowStructure {
  const { type, revision, name, description, version = "1", phases, startPhase, ...rest } = input;
  return {
    type,
    version,
    revision,
    name,
    description,
    ...optional("category", rest.category),
    ...optional("estimatedDuration", rest.estimatedDuration),
    ...optionalList("targetLanguages", rest.targetLanguages),
    ...optionalList("artifacts", rest.artifacts),
    ...optionalList("prerequisites", rest.prerequisites),
    ...optionalList("tags", rest.tags),
    ...optional("target", rest.target),
    startPhase: startPhase ?? phases[0]?.number ?? 0,
    phases: phases.map(buildPhase),
  };
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  const entry: { [P in K]?: V } = {};
  if (value !== undefined) entry[key] = value;
  return entry;
}

function optionalList<K extends string>(key: K, value: readonly string[] | undefined): { [P in K]?: string[] } {
  return optional(key, value === undefined ? undefined : [...value]);
}

function buildPhase(phase: PhaseInput): PhaseDefinition {
  return {
    number: phase.number,
    name: phase.name,
    ...optional("purpose", phase.purpose),
    ...optional("estimatedEffort", phase.estimatedEffort),
    ...optionalList("keyDeliverables", phase.keyDeliverables),
    ...optionalList("validationCriteria", phase.validationCriteria),
    skippable: phase.skippable ?? false,
    tasks: (phase.tasks ?? []).map(buildTask),
    gate: buildGate(phase.gate),
    ...textRevision(phase.content),
  };
}

function buildTask(task: TaskInput, index: number): TaskDefinition {
  return {
    number: task.number ?? index + 1,
    name: task.name,
    ...optional("purpose", task.purpose),
    ...textRevision(task.content),
  };
}

/** A function's text is only read on request, so it has no revision. */
function textRevision(content: TextInput): { textRevision?: string } {
  return typeof content === "string" ? { textRevision: revisionOf(content) } : {};
}

function buildGate(gate: GateInput | undefined): GateDefinition {
  if (gate === undefined) return { kind: "open", allowOverride: false };
  return {
    kind: "schema",
    allowOverride: gate.allowOverride ?? false,
    ...optional("jsonSchema", jsonSchemaOf(gate.evidence)),
    ...optional("example", gate.example),
    ...demandsOf(gate),
  };
}

/**
 * Returns the JSON Schema of a Standard Schema, if its library provides one ("Standard JSON Schema",
 * standardschema.dev). It is only shown to agents and is not part of the check, so a schema without one is accepted.
 */
function jsonSchemaOf(schema: StandardSchemaV1): JsonObject | undefined {
  const standard: object = schema["~standard"];
  if (!("jsonSchema" in standard) || !isConverter(standard.jsonSchema)) return undefined;
  try {
    const found: unknown = JSON.parse(JSON.stringify(standard.jsonSchema.input({ target: "draft-2020-12" })));
    if (!isJsonObject(found)) return undefined;
    // The dialect is always the same; leaving it out saves tokens.
    delete found.$schema;
    return withoutSafeBounds(found);
  } catch {
    return undefined;
  }
}

function isConverter(value: unknown): value is { input(options: { target: string }): unknown } {
  return typeof value === "object" && value !== null && "input" in value && typeof value.input === "function";
}

/** Removes the bounds of safe integers, which zod adds to every integer and which agents don't need. */
function withoutSafeBounds(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema, (key, value: unknown) => {
    const isBound = key === "minimum" || key === "maximum";
    return isBound && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? undefined : value;
  });
  return JSON.parse(text);
}

function demandsOf({ verify, approval, reveal }: GateInput): Pick<SchemaGate, "verify" | "approval" | "reveal"> {
  return {
    ...optional(
      "verify",
      verify?.map(({ verifier, params, field }) => ({ verifier, params: params ?? {}, ...optional("field", field) })),
    ),
    ...(approval === undefined
      ? {}
      : { approval: { prompt: approval.prompt, ...optionalList("approvers", approval.approvers) } }),
    ...optional("reveal", reveal),
  };
}

function textOf(phases: readonly PhaseInput[], part: { readonly phase: number; readonly task?: number }) {
  const phase = phases.find(({ number }) => number === part.phase);
  if (part.task === undefined) return read(phase?.content);
  const task = phase?.tasks?.find(({ number }, index) => (number ?? index + 1) === part.task);
  return read(task?.content);
}

function read(content: TextInput | undefined): string | Promise<string> | undefined {
  return typeof content === "function" ? content() : content;
}
