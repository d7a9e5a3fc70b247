/**
 * `defineWorkflow` makes a definition of a workflow in code. Unknown keys are errors: a misspelt one could leave a gate
 * open. Rules are checked at a start, when their language is loaded.
 */
import { sinceFault } from "../gate-definition.js";
import { revisionOf } from "../json.js";
import { jsonSchemaOf } from "../json-schema.js";
import { isPlainPath, isWorkflowType, shown, WORKFLOW_NAME_RULE } from "../names.js";
import { USUAL_TEMPLATES } from "../placeholders.js";
import type { DynamicDefinition, PhaseDefinition, TaskDefinition, WorkflowStructure } from "../structure.js";
import {
  type DynamicInput,
  dotted,
  inputProblems,
  type PhaseInput,
  readInput,
  type TaskInput,
  type TextInput,
  type Workflow,
  type WorkflowInput,
  workflowInput,
} from "../workflow-input.js";
import { buildGate, gateProblems, isFieldGate, refuseProblems } from "./define-gate.js";

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
  refuseProblems(Object(input).type, problemsOf(input), "Correct the listed problems.");
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

/** Returns what is wrong with a workflow. Callers in plain JavaScript may pass anything. */
function problemsOf(input: WorkflowInput): string[] {
  const { wrong, unknown } = inputProblems("the workflow", workflowInput, input, ([key, at, ...rest]) => {
    if (key !== "phases" || at === undefined) return undefined;
    return `phase ${input.phases[Number(at)]?.number}${dotted(rest).replace(".", ": ")}`;
  });
  if (wrong.length > 0) return [...wrong, ...unknown];
  const { type, revision, phases, startPhase, dynamic, documents = {} } = input;
  const numbers = phases.map(({ number }) => number);
  return [
    ...(isWorkflowType(type) ? [] : [`${shown(type)} can't be a workflow's type. ${WORKFLOW_NAME_RULE}`]),
    ...(revision === "" ? ["revision is empty"] : []),
    ...unknown,
    ...(phases.length === 0 && dynamic === undefined ? ["there is no phase"] : []),
    ...ascending(numbers, "phase"),
    ...phases.flatMap((phase) => phaseProblems(phase, input)),
    ...Object.keys(documents)
      .filter((path) => !isPlainPath(path))
      .map((path) => `documents: ${shown(path)} is not a path such as 'core/template.md'`),
    ...(startPhase === undefined || numbers.includes(startPhase)
      ? []
      : [`startPhase ${startPhase} is not a phase of the workflow`]),
  ];
}

function phaseProblems(phase: PhaseInput, input: WorkflowInput): string[] {
  const { number, gate, skipWhen, skipCondition, tasks = [] } = phase;
  const about = `phase ${number}`;
  const faults = gateProblems(gate).map((problem) => `${about}: ${problem}`);
  const isIdle = skipCondition !== undefined && skipWhen === undefined;
  return [
    ...(faults.length > 0 ? faults : sinceProblems(about, phase, input)),
    ...(isIdle ? [`${about}: skipCondition only says in words what skipWhen checks; write skipWhen too`] : []),
    ...ascending(
      tasks.map((task, index) => task.number ?? index + 1),
      `${about}: task`,
    ),
  ];
}

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

function buildStructure(input: WorkflowInput): WorkflowStructure {
  const { version = "1", phases, startPhase, options, dynamic } = input;
  const { type, revision, name, description, category, estimatedDuration, target } = input;
  return {
    ...{ type, version, revision, name, description, category, estimatedDuration, target },
    targetLanguages: copied(input.targetLanguages),
    artifacts: copied(input.artifacts),
    prerequisites: copied(input.prerequisites),
    tags: copied(input.tags),
    optionsSchema: options && jsonSchemaOf(options),
    // The first phase of a plan has the number that the plan gives it.
    startPhase: startPhase ?? phases[0]?.number ?? 1,
    phases: phases.map(buildPhase),
    dynamic: dynamic && buildDynamic(dynamic),
  };
}

const copied = (texts: readonly string[] | undefined) => texts && [...texts];

function buildDynamic({ templates, verify, ...dynamic }: DynamicInput): DynamicDefinition {
  return {
    parser: dynamic.parser ?? "spec_tasks_parser",
    sourcePathKey: dynamic.sourcePathKey ?? "spec_path",
    templates: { ...USUAL_TEMPLATES },
    templateRevisions: { phase: revisionIf(templates.phase), task: revisionIf(templates.task) },
    enforceDependencies: dynamic.enforceDependencies ?? false,
    tickCriteria: dynamic.tickCriteria ?? false,
    verify: verify?.map(({ verifier, params, description, waivable }) => ({
      ...{ verifier, params: { ...params }, description },
      waivable: waivable === false ? waivable : undefined,
    })),
  };
}

function buildPhase(phase: PhaseInput): PhaseDefinition {
  const { number, name, purpose, estimatedEffort, skipWhen: cel, skipCondition, tasks = [] } = phase;
  return {
    ...{ number, name, purpose, estimatedEffort },
    keyDeliverables: copied(phase.keyDeliverables),
    validationCriteria: copied(phase.validationCriteria),
    skippable: phase.skippable || undefined,
    skipWhen: cel === undefined ? undefined : { cel, reason: skipCondition ?? `skipWhen holds: ${cel}` },
    tasks: tasks.map(buildTask),
    gate: buildGate(phase.gate),
    textRevision: revisionIf(phase.content),
  };
}

function buildTask({ number, name, purpose, content }: TaskInput, index: number): TaskDefinition {
  return { number: number ?? index + 1, name, purpose, textRevision: revisionIf(content) };
}

/** A function's text is only read on request, so it has no revision. */
function revisionIf(content: TextInput): string | undefined {
  return typeof content === "string" ? revisionOf(content) : undefined;
}

function textOf({ phases, dynamic }: WorkflowInput, part: Parameters<Workflow["text"]>[0]) {
  if ("template" in part) return dynamic && readInput(dynamic.templates[part.template]);
  const phase = phases.find(({ number }) => number === part.phase);
  if (part.task === undefined) return phase && readInput(phase.content);
  const task = phase?.tasks?.find(({ number }, index) => (number ?? index + 1) === part.task);
  return task && readInput(task.content);
}
