/**
 * `defineWorkflow`: checks a workflow that is written in code and turns it into a definition. Unknown keys are errors,
 * because a misspelt key could leave a gate open. Whether its rules can run is checked when it is started: the language
 * of rules is loaded then.
 */
import { sinceFault } from "../gate-definition.js";
import { optional, revisionOf } from "../json.js";
import { jsonSchemaOf } from "../json-schema.js";
import { isPlainPath, isWorkflowType, shown, WORKFLOW_NAME_RULE } from "../names.js";
import { USUAL_TEMPLATES } from "../placeholders.js";
import type { DynamicDefinition, PhaseDefinition, TaskDefinition, WorkflowStructure } from "../structure.js";
import {
  type DynamicInput,
  type PhaseInput,
  readInput,
  type TaskInput,
  type TextInput,
  type Workflow,
  type WorkflowInput,
} from "../workflow-input.js";
import {
  buildGate,
  gateProblems,
  isFieldGate,
  type Keys,
  optionalList,
  refuseProblems,
  unknownKeys,
  wrongTypes,
} from "./define-gate.js";

/**
 * Defines a workflow in code whose phases, or the last of them, come from a plan. `completePhase` of its sessions takes any
 * object: only the plan says which phases there are.
 *
 * @throws {PhasegateError} `DEFINITION_INVALID` with the list of all problems.
 */
export function defineWorkflow(input: WorkflowInput & { readonly dynamic: DynamicInput }): Workflow;
/**
 * Defines a workflow in code. `completePhase` of its sessions takes exactly the evidence of the phase.
 *
 * @throws {PhasegateError} `DEFINITION_INVALID` with the list of all problems.
 */
export function defineWorkflow<const Phases extends readonly PhaseInput[]>(
  input: WorkflowInput<Phases>,
): Workflow<Phases>;
export function defineWorkflow<const Phases extends readonly PhaseInput[]>(
  input: WorkflowInput<Phases>,
): Workflow<Phases> {
  refuseProblems(Object(input).type, formProblems(input) ?? problemsOf(input), "Correct the listed problems.");
  const schemas = new Map(
    input.phases.flatMap(({ number, gate }) =>
      gate === undefined || isFieldGate(gate) ? [] : [[number, gate.evidence] as const],
    ),
  );
  return {
    definition: { structure: buildStructure(input), schemas, options: input.options },
    phases: input.phases,
    documents: { ...input.documents },
    text: (part) => textOf(input, part),
  };
}

const WORKFLOW: Keys<WorkflowInput> = {
  ...{ type: "any", name: "string", description: "string", revision: "string", version: "string", category: "string" },
  ...{ estimatedDuration: "string", targetLanguages: "strings", artifacts: "strings", prerequisites: "strings" },
  ...{ tags: "strings", target: "any", options: "any", startPhase: "any", dynamic: "any", documents: "object" },
  phases: "list!",
};
const PHASE: Keys<PhaseInput> = {
  ...{ number: "any", name: "string", purpose: "string", estimatedEffort: "string", keyDeliverables: "strings" },
  ...{ validationCriteria: "strings", skipWhen: "any", skipCondition: "string", gate: "any" },
  ...{ skippable: "flag", tasks: "list", content: "content" },
};
const TASK: Keys<TaskInput> = { number: "any", name: "text!", purpose: "string", content: "content" };
const DYNAMIC: Keys<DynamicInput> = {
  ...{ templates: "any", enforceDependencies: "flag", tickCriteria: "flag", parser: "text", sourcePathKey: "text" },
  verify: "list",
};

/** Returns what keeps a literal from being read at all, or from being stored; undefined if nothing does. */
function formProblems(input: unknown): string[] | undefined {
  const found = wrongTypes("the workflow", input, WORKFLOW);
  if (found.length > 0) return found;
  const { phases, documents = {} }: { phases: unknown[]; documents?: object } = Object(input);
  const texts = Object.fromEntries(Object.keys(documents).map((path) => [path, "content"] as const));
  const faults = phases.flatMap((phase, at) => {
    const wrong = wrongTypes(`phases[${at}]`, phase, PHASE);
    const tasks: unknown = Object(phase).tasks;
    if (!Array.isArray(tasks) || wrong.length > 0) return wrong;
    return tasks.flatMap((task, place) => wrongTypes(`phases[${at}].tasks[${place}]`, task, TASK));
  });
  const all = [...faults, ...wrongTypes("documents", documents, texts)];
  return all.length > 0 ? all : undefined;
}

function problemsOf(input: WorkflowInput): string[] {
  const problems: string[] = [];
  if (!isWorkflowType(input.type))
    problems.push(`${shown(input.type)} can't be a workflow's type. ${WORKFLOW_NAME_RULE}`);
  if (input.revision === "") problems.push("revision is empty");
  problems.push(...missing("", input, ["revision", "name", "description"]));
  problems.push(...unknownKeys("the workflow", input, WORKFLOW));
  if (input.phases.length === 0 && input.dynamic === undefined) problems.push("there is no phase");
  problems.push(...dynamicProblems(input.dynamic));
  problems.push(
    ...ascending(
      input.phases.map(({ number }) => number),
      "phase",
    ),
  );
  for (const phase of input.phases) {
    const about = `phase ${phase.number}`;
    const faults = gateProblems(phase.gate).map((problem) => `${about}: ${problem}`);
    problems.push(
      ...missing(`${about}: `, phase, ["name", "content"]),
      ...unknownKeys(about, phase, PHASE),
      ...(faults.length > 0 ? faults : sinceProblems(about, phase, input)),
      ...(phase.tasks ?? []).flatMap((task, at) => unknownKeys(`${about}: tasks[${at}]`, task, TASK)),
    );
    const { skipWhen, skipCondition } = phase;
    if (skipWhen !== undefined && (typeof skipWhen !== "string" || skipWhen.trim() === "")) {
      problems.push(`${about}: skipWhen must be a rule over the options, such as "!has(options.docs)"`);
    }
    if (skipCondition !== undefined && skipWhen === undefined) {
      problems.push(`${about}: skipCondition only says in words what skipWhen checks; write skipWhen too`);
    }
    const numbers = (phase.tasks ?? []).map(({ number }, index) => number ?? index + 1);
    problems.push(...ascending(numbers, `phase ${phase.number}: task`));
  }
  if (input.target !== undefined && input.target !== "none")
    problems.push(`target ${shown(input.target)} must be "none"`);
  if (input.options !== undefined && Object(input.options)["~standard"] === undefined)
    problems.push("options is not a Standard Schema");
  const wrong = Object.keys(input.documents ?? {}).filter((path) => !isPlainPath(path));
  problems.push(...wrong.map((path) => `documents: ${shown(path)} is not a path such as 'core/template.md'`));
  const start = input.startPhase;
  if (start !== undefined && !input.phases.some(({ number }) => number === start)) {
    problems.push(`startPhase ${start} is not a phase of the workflow`);
  }
  return problems;
}

/** Names the keys that types require and plain JavaScript may leave out: a session's log would be spoilt without them. */
function missing<T extends object>(about: string, value: T, keys: readonly (keyof T & string)[]): string[] {
  return keys.filter((key) => value[key] === undefined).map((key) => `${about}${key} is missing`);
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

/** Callers in plain JavaScript may pass anything. */
function dynamicProblems(dynamic: DynamicInput | undefined): string[] {
  if (dynamic === undefined) return [];
  const templates: unknown = Object(dynamic).templates;
  const texts = (["phase", "task"] as const).filter((kind) => {
    const text: unknown = Object(templates)[kind];
    return typeof text !== "string" && typeof text !== "function";
  });
  const { verify }: { readonly verify?: unknown } = Object(dynamic);
  const checks: unknown[] = Array.isArray(verify) ? verify : [];
  return [
    ...unknownKeys("dynamic", dynamic, DYNAMIC),
    ...wrongTypes("dynamic", dynamic, DYNAMIC),
    ...checks.flatMap((check, at) =>
      wrongTypes(`dynamic.verify[${at}]`, check, { verifier: "text!", params: "object" }),
    ),
    ...unknownKeys("dynamic.templates", templates, { phase: "any", task: "any" }),
    ...texts.map((kind) => `dynamic.templates.${kind} must be a text, or a function that returns one`),
  ];
}

function buildStructure(input: WorkflowInput): WorkflowStructure {
  const { type, revision, name, description, version = "1", phases, startPhase, options, dynamic, ...rest } = input;
  return {
    type,
    version,
    revision,
    name,
    description,
    category: rest.category,
    estimatedDuration: rest.estimatedDuration,
    ...optionalList("targetLanguages", rest.targetLanguages),
    ...optionalList("artifacts", rest.artifacts),
    ...optionalList("prerequisites", rest.prerequisites),
    ...optionalList("tags", rest.tags),
    ...optional("target", rest.target),
    ...optional("optionsSchema", options && jsonSchemaOf(options)),
    // The first phase of a plan has the number that the plan gives it.
    startPhase: startPhase ?? phases[0]?.number ?? 1,
    phases: phases.map(buildPhase),
    ...optional("dynamic", dynamic && buildDynamic(dynamic)),
  };
}

/** Defaults, as for a folder. */
function buildDynamic(dynamic: DynamicInput): DynamicDefinition {
  const { phase, task } = dynamic.templates;
  const revisions = { phase: revision(phase), task: revision(task) };
  return {
    parser: dynamic.parser ?? "spec_tasks_parser",
    sourcePathKey: dynamic.sourcePathKey ?? "spec_path",
    templates: { ...USUAL_TEMPLATES },
    templateRevisions: revisions,
    enforceDependencies: dynamic.enforceDependencies ?? false,
    tickCriteria: dynamic.tickCriteria ?? false,
    ...(dynamic.verify === undefined
      ? {}
      : { verify: dynamic.verify.map(({ verifier, params = {} }) => ({ verifier, params: { ...params } })) }),
  };
}

function buildPhase(phase: PhaseInput): PhaseDefinition {
  return {
    number: phase.number,
    name: phase.name,
    purpose: phase.purpose,
    estimatedEffort: phase.estimatedEffort,
    ...optionalList("keyDeliverables", phase.keyDeliverables),
    ...optionalList("validationCriteria", phase.validationCriteria),
    ...optional("skippable", phase.skippable || undefined),
    ...optional("skipWhen", skipOf(phase)),
    tasks: (phase.tasks ?? []).map(buildTask),
    gate: buildGate(phase.gate),
    ...optional("textRevision", revision(phase.content)),
  };
}

function skipOf({ skipWhen: cel, skipCondition }: PhaseInput): PhaseDefinition["skipWhen"] {
  return cel === undefined ? undefined : { cel, reason: skipCondition ?? `skipWhen holds: ${cel}` };
}

function buildTask(task: TaskInput, index: number): TaskDefinition {
  return {
    number: task.number ?? index + 1,
    name: task.name,
    purpose: task.purpose,
    textRevision: revision(task.content),
  };
}

/** A function's text is only read on request, so it has no revision. */
function revision(content: TextInput): string | undefined {
  return typeof content === "string" ? revisionOf(content) : undefined;
}

function textOf({ phases, dynamic }: WorkflowInput, part: Parameters<Workflow["text"]>[0]) {
  if ("template" in part) return dynamic && readInput(dynamic.templates[part.template]);
  const phase = phases.find(({ number }) => number === part.phase);
  if (part.task === undefined) return phase && readInput(phase.content);
  const task = phase?.tasks?.find(({ number }, index) => (number ?? index + 1) === part.task);
  return task && readInput(task.content);
}
