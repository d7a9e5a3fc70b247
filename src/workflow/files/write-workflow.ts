/**
 * workflowToFiles: writes a workflow as the files of a folder. It reads the files again, and refuses a workflow that they don't
 * give back: no gate becomes another one on the way.
 */
import { formatDiagnostic } from "../diagnostic.js";
import type { GateDefinition } from "../gate-definition.js";
import { canonicalJson, isJsonObject, type JsonValue, revisionOf } from "../json.js";
import { isPlainPath, shown } from "../names.js";
import type {
  DynamicDefinition,
  PhaseDefinition,
  TaskDefinition,
  WorkflowDefinition,
  WorkflowStructure,
} from "../structure.js";
import { readInput, type Workflow, type WorkflowPart } from "../workflow-input.js";
import { unusable } from "./define-gate.js";
import { METADATA_FILE, withoutMark } from "./workflow-files.js";
import { gateFileText } from "./write-gate.js";

/**
 * Writes a workflow as the files of its folder, by their paths: `MemoryContent` takes them as one of its `sources`, and on a
 * disk they belong into a folder with the name of the workflow's type. Reading them gives the same workflow, with a revision
 * of its own. Texts stay as they are. Rejects with what a function throws that returns a text.
 *
 * @throws {PhasegateError} `DEFINITION_INVALID` with everything that files can't say: a gate that is a schema, options
 * without a JSON Schema, and what a reader of the files would refuse or read in another way.
 */
export async function workflowToFiles(
  workflow: Pick<Workflow, "definition" | "text"> & Partial<Pick<Workflow, "documents">>,
): Promise<Readonly<Record<string, string>>> {
  const { definition, documents = {} } = workflow;
  const { type } = definition.structure;
  const files = new Map<string, string>();
  const problems = problemsOf(definition);
  const add = (path: string, text: string) => {
    if (!isPlainPath(path)) problems.push(`${shown(path)} is not a path such as 'core/template.md'`);
    if (text !== withoutMark(text))
      problems.push(`${shown(path)} would begin with a byte order mark, which readers drop`);
    if ((files.get(path) ?? text) !== text) problems.push(`two different texts belong into ${shown(path)}`);
    files.set(path, text);
  };
  const placed = withFiles(definition.structure);
  for (const { part, file, about } of textsOf(placed)) {
    const text = await workflow.text(part);
    if (text === undefined) problems.push(`${about} has no text`);
    else add(file, text);
  }
  for (const [path, document] of Object.entries(documents)) add(path, await readInput(document));
  for (const { number, gate } of placed.phases) {
    const text = await gateText(gate);
    if (text !== undefined) add(`phases/${number}/gate-definition.yaml`, text);
  }
  add(METADATA_FILE, `${JSON.stringify(metadataOf(placed), undefined, 2)}\n`);
  const remedy = "Change the workflow, or keep it in code.";
  if (problems.length > 0) throw unusable(type, problems, remedy);
  const faults = await faultsOf(withRevisions(placed, files), files);
  if (faults.length > 0) throw unusable(type, faults, remedy);
  return Object.fromEntries(files);
}

function problemsOf({ structure, options }: WorkflowDefinition): string[] {
  const gates = structure.phases.flatMap(({ number, gate }) => {
    if (gate.kind === "schema")
      return [`phase ${number}: its gate is a schema in code; write its fields and rules instead`];
    return gate.kind === "plan" ? [`phase ${number} comes from a plan`] : [];
  });
  const isInCode = options !== undefined && structure.optionsSchema === undefined;
  return isInCode ? [...gates, "the schema of the options has no JSON Schema"] : gates;
}

interface PlacedTask extends TaskDefinition {
  file: string;
}
interface PlacedPhase extends PhaseDefinition {
  file: string;
  tasks: PlacedTask[];
}
interface PlacedStructure extends WorkflowStructure {
  phases: PlacedPhase[];
}

/** Gives each text its path: the one that it was read from, else the usual one. */
function withFiles(structure: WorkflowStructure): PlacedStructure {
  const phases = structure.phases.map((phase): PlacedPhase => {
    const tasks = phase.tasks.map((task) => ({
      ...task,
      file: task.file ?? `phases/${phase.number}/task-${task.number}.md`,
    }));
    return { ...phase, file: phase.file ?? `phases/${phase.number}/phase.md`, tasks };
  });
  return { ...structure, phases };
}

interface PlacedText {
  readonly part: WorkflowPart;
  readonly file: string;
  readonly about: string;
}

function textsOf({ phases, dynamic }: PlacedStructure): PlacedText[] {
  const texts = phases.flatMap(({ number, file, tasks }): PlacedText[] => [
    { part: { phase: number }, file, about: `phase ${number}` },
    ...tasks.map((task) => ({
      part: { phase: number, task: task.number },
      file: task.file,
      about: `task ${task.number} of phase ${number}`,
    })),
  ]);
  const { phase, task } = dynamic?.templates ?? {};
  if (phase !== undefined) texts.push({ part: { template: "phase" }, file: phase, about: "the template of phases" });
  if (task !== undefined) texts.push({ part: { template: "task" }, file: task, about: "the template of tasks" });
  return texts;
}

/** Returns the text of a gate file; undefined for an open gate with a setting that only metadata.json can have. */
async function gateText(gate: GateDefinition): Promise<string | undefined> {
  if (gate.kind === "fields") return gateFileText(gate);
  return gate.kind === "open" && gate.allowOverride === undefined ? "gate: none\n" : undefined;
}

function metadataOf(structure: PlacedStructure) {
  const { type, name, description, version, category, estimatedDuration, target, startPhase, phases, dynamic } =
    structure;
  return {
    ...structure.extra,
    ...{ workflow_type: type, name, description, version, category, target },
    estimated_duration: estimatedDuration,
    target_languages: structure.targetLanguages,
    artifacts: structure.artifacts,
    prerequisites: structure.prerequisites,
    tags: structure.tags,
    options_schema: structure.optionsSchema,
    start_phase: startPhase === phases[0]?.number || phases.length === 0 ? undefined : startPhase,
    phases: phases.map(phaseEntry),
    ...(dynamic && dynamicKeys(dynamic)),
  };
}

function phaseEntry(phase: PlacedPhase) {
  const { number, name, purpose, estimatedEffort, keyDeliverables, validationCriteria, skippable, skipWhen } = phase;
  return {
    ...phase.extra,
    ...{ phase_number: number, phase_name: name, phase_file: phase.file, purpose, skippable },
    estimated_effort: estimatedEffort,
    key_deliverables: keyDeliverables,
    validation_criteria: validationCriteria,
    skip_when: skipWhen?.cel,
    skip_condition: skipWhen?.reason,
    checkpoint: phase.gate.kind === "open" ? phase.gate.allowOverride && { allow_override: true } : undefined,
    tasks: phase.tasks.map((task) => ({
      ...task.extra,
      ...{ task_number: task.number, name: task.name, purpose: task.purpose, file: task.file },
    })),
  };
}

function dynamicKeys({ parser, sourcePathKey, templates, verify, extra, ...dynamic }: DynamicDefinition) {
  return {
    total_phases: "dynamic",
    dynamic_phases: true,
    dynamic_config: {
      ...extra,
      ...{ parser, source_path_key: sourcePathKey, templates },
      enforce_dependencies: dynamic.enforceDependencies,
      tick_criteria: dynamic.tickCriteria,
      verify: verify?.map(({ params, ...check }) => ({ ...check, ...params })),
    },
  };
}

function withRevisions(structure: PlacedStructure, files: ReadonlyMap<string, string>): WorkflowStructure {
  const revision = (path: string) => revisionOf(files.get(path) ?? "");
  const { dynamic, phases } = structure;
  const templates = dynamic && { phase: revision(dynamic.templates.phase), task: revision(dynamic.templates.task) };
  return {
    ...structure,
    dynamic: dynamic && { ...dynamic, templateRevisions: templates },
    phases: phases.map((phase) => ({
      ...phase,
      textRevision: revision(phase.file),
      tasks: phase.tasks.map((task) => ({ ...task, textRevision: revision(task.file) })),
    })),
  };
}

/** The most differences that an error lists. */
const LISTED_MAX = 20;

/** Reads the files, and returns what is wrong in them, or is not as in the definition. */
async function faultsOf(structure: WorkflowStructure, files: ReadonlyMap<string, string>): Promise<string[]> {
  // The readers of files are loaded when they are needed, as they are with content in memory.
  const { readWorkflow } = await import("./read-workflow.js");
  const texts = [...files].map(([path, text]) => ({ path, text }));
  const { definition, diagnostics } = await readWorkflow(structure.type, texts);
  if (definition === undefined) return diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
  return differences(comparable(structure), comparable(definition.structure), "").slice(0, LISTED_MAX);
}

/**
 * Returns a definition as JSON without what a reader chooses: revision, generated examples, and the place of a gate. The files have
 * all of an extended workflow, so they extend none.
 */
function comparable({ revision: _, searches: __, extends: ___, phases, ...workflow }: WorkflowStructure): JsonValue {
  const compared = phases.map(({ gate, ...phase }) => ({ ...phase, gate: comparableGate(gate) }));
  return JSON.parse(canonicalJson({ ...workflow, phases: compared }));
}

function comparableGate(gate: GateDefinition) {
  if (gate.kind !== "fields") return gate;
  const { source: _, fields, verify, ...others } = gate;
  // Files have the checks of fields at the fields, so they come first.
  const names = [...fields.map(({ name }): string | undefined => name), undefined];
  const checks = verify && names.flatMap((name) => verify.filter(({ field }) => field === name));
  return { ...others, fields: fields.map(({ sample: _, ...field }) => field), verify: checks };
}

/** Returns the places where two values differ. A blank text, or an empty list, is as good as none. */
function differences(one: JsonValue | undefined, other: JsonValue | undefined, place: string): string[] {
  if (isJsonObject(one) && isJsonObject(other)) {
    const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
    return [...keys].flatMap((key) => differences(one[key], other[key], place === "" ? key : `${place}.${key}`));
  }
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    return one.flatMap((item, index) => differences(item, other[index], `${place}[${index}]`));
  }
  const isEmpty = (typeof one === "string" && one.trim() === "") || (Array.isArray(one) && one.length === 0);
  if ((isEmpty && other === undefined) || canonicalJson(one) === canonicalJson(other)) return [];
  const said = (value: JsonValue | undefined) => (value === undefined ? "nothing" : shown(value));
  return [`${place} is ${said(one)}, and would be read as ${said(other)}`];
}
