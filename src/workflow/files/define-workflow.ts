/**
 * `defineWorkflow` makes a definition of a workflow in code. Unknown keys are errors: a misspelt one could leave a gate
 * open. Rules are checked at a start, when their language is loaded.
 */
import { type GatePlace, sinceFault, withSinceNumber } from "../gate-definition.js";
import type { KnownPhase, KnownPhases } from "../inferred-types.js";
import { revisionOf } from "../json.js";
import { jsonSchemaOf } from "../json-schema.js";
import { firstFew, isPlainPath, isWorkflowType, shown, WORKFLOW_NAME_RULE } from "../names.js";
import { PhaseNames } from "../phase-names.js";
import { USUAL_TEMPLATES } from "../placeholders.js";
import type { DynamicDefinition, PhaseDefinition, TaskDefinition, WorkflowStructure } from "../structure.js";
import {
  type DynamicInput,
  dotted,
  inputProblems,
  type NumberedPhase,
  type PhaseInput,
  type PhasePart,
  phaseInput,
  readInput,
  type TaskInput,
  type TextInput,
  type Workflow,
  type WorkflowInput,
  workflowInput,
} from "../workflow-input.js";
import { buildGate, gateProblems, isFieldGate, plainGate, refuseProblems } from "./define-gate.js";

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
  input: WorkflowInput<Phases> & { readonly phases: KnownPhases<Phases> },
): Workflow<Phases>;
export function defineWorkflow<const Phases extends readonly PhaseInput[]>(
  input: WorkflowInput<Phases>,
): Workflow<Phases> {
  refuseProblems(Object(input).type, problemsOf(input), REMEDY);
  const phases = numbered(input.phases);
  const schemas = new Map(
    phases.flatMap(({ number, gate: given }) => {
      const gate = plainGate(given);
      return gate === undefined || isFieldGate(gate) ? [] : [[number, gate.evidence] as const];
    }),
  );
  return {
    definition: { structure: buildStructure(input, phases), schemas, options: input.options },
    phases: input.phases,
    documents: { ...input.documents },
    text: (part) => textOf(input, phases, part),
  };
}

/**
 * Defines a phase for any workflow: it has no number, and rules and checks name other phases by their names. What can be
 * checked without the workflow is checked here.
 *
 * @throws {PhasegateError} `DEFINITION_INVALID` with the list of all problems.
 */
export function definePhase<const Phase extends PhasePart>(phase: Phase & KnownPhase<Phase>): Phase {
  const { wrong, unknown } = inputProblems("the phase", phaseInput, phase);
  const { name, number }: PhaseInput = Object(phase);
  const own = wrong.length > 0 ? [] : phaseProblems("", phase);
  const given = number === undefined ? [] : ["number is given: leave it out, since each workflow numbers its phases"];
  refuseProblems(name, [...wrong, ...unknown, ...given, ...own], REMEDY, "phase");
  return phase;
}

const REMEDY = "Correct the listed problems.";

/** Returns phases with their numbers: their own, or their places if none has one. */
function numbered(phases: readonly PhaseInput[]): readonly NumberedPhase[] {
  return phases.map((phase, index) => ({ ...phase, number: phase.number ?? index + 1 }));
}

/** Numbers are for all phases or for none: a phase without one could stand anywhere between those with one. */
function mixedProblems(phases: readonly PhaseInput[]): string[] {
  const without = phases.flatMap(({ number, name }) => (number === undefined ? [shown(name)] : []));
  const given = phases.flatMap(({ number }) => (number === undefined ? [] : [String(number)]));
  if (without.length === 0 || given.length === 0) return [];
  const [numbers, names] = [firstFew(given, LISTED_MAX), firstFew(without, LISTED_MAX)];
  const what = "give all phases a number or none, by { ...phase, number: 7 } or { ...phase, number: undefined }";
  return [`some phases have a number (${numbers}) and others have none (${names}): ${what}`];
}

/** The greatest number of phases that a problem lists. */
const LISTED_MAX = 10;

/** Returns what is wrong with a workflow. Callers in plain JavaScript may pass anything. */
function problemsOf(input: WorkflowInput): string[] {
  const { wrong, unknown } = inputProblems("the workflow", workflowInput, input, ([key, at, ...rest]) => {
    if (key !== "phases" || at === undefined) return undefined;
    return `phase ${input.phases[Number(at)]?.number ?? Number(at) + 1}${dotted(rest).replace(".", ": ")}`;
  });
  if (wrong.length > 0) return [...wrong, ...unknown];
  const mixed = mixedProblems(input.phases);
  const phases = numbered(input.phases);
  const names = new PhaseNames(phases);
  const { type, revision, startPhase: start, dynamic, documents = {} } = input;
  const startPhase = start === undefined ? undefined : names.find(String(start));
  return [
    ...(isWorkflowType(type) ? [] : [`${shown(type)} can't be a workflow's type. ${WORKFLOW_NAME_RULE}`]),
    ...(revision === "" ? ["revision is empty"] : []),
    ...unknown,
    ...(phases.length === 0 && dynamic === undefined ? ["there is no phase"] : []),
    ...(mixed.length > 0 ? mixed : ascending(names.numbers, "phase")),
    ...phases.flatMap((phase) =>
      phaseProblems(`phase ${phase.number}: `, phase, { phase: phase.number, phases: names, startPhase }),
    ),
    ...Object.keys(documents)
      .filter((path) => !isPlainPath(path))
      .map((path) => `documents: ${shown(path)} is not a path such as 'core/template.md'`),
    ...(start === undefined || startPhase !== undefined ? [] : [startProblem(String(start), names)]),
  ];
}

function startProblem(start: string, names: PhaseNames): string {
  const { message } = names.sharedFault(start) ?? { message: `${start} is not a phase of the workflow` };
  return `startPhase ${message}`;
}

/** Returns what is wrong with a phase, by itself or at its place in a workflow. `about` begins each problem. */
function phaseProblems(about: string, phase: PhaseInput, place?: GatePlace): string[] {
  const { gate, skipWhen, skipCondition, tasks = [] } = phase;
  const faults = gateProblems(gate);
  const misplaced = faults.length > 0 || place === undefined ? [] : sinceProblems(phase, place);
  const isIdle = skipCondition !== undefined && skipWhen === undefined;
  return [
    ...[...faults, ...misplaced].map((problem) => `${about}${problem}`),
    ...(isIdle ? [`${about}skipCondition only says in words what skipWhen checks; write skipWhen too`] : []),
    ...ascending(
      tasks.map((task, index) => task.number ?? index + 1),
      `${about}task`,
    ),
  ];
}

function sinceProblems({ gate }: PhaseInput, place: GatePlace): string[] {
  return (plainGate(gate)?.verify ?? []).flatMap(({ verifier, params }, at) => {
    const fault = sinceFault({ verifier, params: params ?? {} }, place);
    return fault === undefined ? [] : [`gate.verify[${at}]: ${fault.message}. ${fault.hint}`];
  });
}

function ascending(numbers: readonly number[], what: string): string[] {
  return numbers.flatMap((number, index) => {
    if (!Number.isSafeInteger(number) || number < 0) return [`${what} ${number} is not a whole number, 0 or more`];
    const before = numbers[index - 1];
    return before !== undefined && before >= number ? [`${what} ${number} follows ${before}: numbers must ascend`] : [];
  });
}

function buildStructure(input: WorkflowInput, phases: readonly NumberedPhase[]): WorkflowStructure {
  const { version = "1", startPhase, options, dynamic } = input;
  const names = new PhaseNames(phases);
  const { type, revision, name, description, category, estimatedDuration, target } = input;
  return {
    ...{ type, version, revision, name, description, category, estimatedDuration, target },
    targetLanguages: copied(input.targetLanguages),
    artifacts: copied(input.artifacts),
    prerequisites: copied(input.prerequisites),
    tags: copied(input.tags),
    optionsSchema: options && jsonSchemaOf(options),
    // The first phase of a plan has the number that the plan gives it.
    startPhase: (startPhase === undefined ? undefined : names.find(String(startPhase))) ?? phases[0]?.number ?? 1,
    phases: phases.map((phase) => buildPhase(phase, names)),
    dynamic: dynamic && buildDynamic(dynamic, names),
  };
}

const copied = (texts: readonly string[] | undefined) => texts && [...texts];

function buildDynamic({ templates, verify, ...dynamic }: DynamicInput, names: PhaseNames): DynamicDefinition {
  return {
    parser: dynamic.parser ?? "spec_tasks_parser",
    sourcePathKey: dynamic.sourcePathKey ?? "spec_path",
    templates: { ...USUAL_TEMPLATES },
    templateRevisions: { phase: revisionIf(templates.phase), task: revisionIf(templates.task) },
    enforceDependencies: dynamic.enforceDependencies ?? false,
    tickCriteria: dynamic.tickCriteria ?? false,
    verify: verify?.map(({ verifier, params = {}, description, waivable }) => ({
      ...{ verifier, params: withSinceNumber(params, names), description },
      waivable: waivable === false ? waivable : undefined,
    })),
  };
}

function buildPhase(phase: NumberedPhase, names: PhaseNames): PhaseDefinition {
  const { number, name, purpose, estimatedEffort, skipWhen: cel, skipCondition, tasks = [] } = phase;
  return {
    ...{ number, name, purpose, estimatedEffort },
    keyDeliverables: copied(phase.keyDeliverables),
    validationCriteria: copied(phase.validationCriteria),
    skippable: phase.skippable || undefined,
    skipWhen: cel === undefined ? undefined : { cel, reason: skipCondition ?? `skipWhen holds: ${cel}` },
    tasks: tasks.map(buildTask),
    gate: buildGate(phase.gate, names),
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

function textOf({ dynamic }: WorkflowInput, phases: readonly NumberedPhase[], part: Parameters<Workflow["text"]>[0]) {
  if ("template" in part) return dynamic && readInput(dynamic.templates[part.template]);
  const phase = phases.find(({ number }) => number === part.phase);
  if (part.task === undefined) return phase && readInput(phase.content);
  const task = phase?.tasks?.find(({ number }, index) => (number ?? index + 1) === part.task);
  return task && readInput(task.content);
}
