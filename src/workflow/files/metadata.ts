/** The schema of metadata.json: facts about the workflow, its options, and how many phases it has. */
import * as z from "zod/mini";
import { schemaFaults } from "../../rules/schema-faults.js";
import {
  anyObject,
  anything,
  described,
  fieldNames,
  filled,
  flag,
  isMissing,
  label,
  later,
  listOf,
  object,
  optional,
  type Read,
  readBy,
  required,
  type Spot,
  said,
  schemaKey,
  text,
  texts,
  unknownIn,
  wanted,
  whole,
} from "../file-schema.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.js";
import { shown } from "../names.js";
import type { PhaseDefinition, WorkflowStructure } from "../structure.js";
import { metadataCheckpoint, verifyKey } from "./gate-schema.js";

export const taskEntry = described(
  object({
    task_number: required(whole, "The number of the task, counted within its phase.", '"task_number": 1'),
    name: optional(text, "Its name. Default: the first heading of its file."),
    purpose: optional(text, "What it is for. Default: the objective of its text."),
    file: optional(text, "Its file, in the phase's folder. Default: the file `task-N-….md`."),
  }),
  { id: "task", description: "A task of a phase." },
);

export const phaseEntry = said(
  object({
    phase_number: required(
      whole,
      'The number of the phase, from 0 on; gaps are fine. `"1-N"`: the entry describes all phases of a plan.',
      '"phase_number": 1',
    ),
    phase_name: optional(text, "Its name. Default: the first heading of its text."),
    phase_file: optional(text, "Its text, relative to the workflow's folder. Default: `phases/N/phase.md`."),
    purpose: optional(text, "What it is for. Default: the objective of its text."),
    estimated_effort: optional(label, 'How long it takes, in words: `"an hour"`. Default: what its text says.'),
    key_deliverables: optional(texts, "What it produces. For the host; agents find it in the text. Default: none."),
    validation_criteria: optional(texts, "Shown with the gate; not required by it. Default: none."),
    skippable: optional(flag, "True if the host may skip it; an agent cannot. Default: false.", false),
    skip_when: optional(
      text,
      "A rule in CEL over the options of a session, by which a session skips the phase: `!has(options.docs)`. Default: never.",
    ),
    skip_condition: optional(
      text,
      "The same in words: the reason in the log. Without `skip_when`, only `No NAME in options` is read as a rule.",
    ),
    tasks: optional(listOf(taskEntry), "Its tasks. Default: all its files `task-N-….md`."),
    required_evidence: optional(
      fieldNames,
      "Names of required evidence fields, of any type. Counts if there is no gate file, and its text requires nothing. Default: none.",
    ),
    checkpoint: later(metadataCheckpoint, "Rules and settings of the gate, if there is no gate file. Default: none."),
  }),
  { gated: ["required_evidence", "checkpoint"] },
);

/** The numbers of an entry for all phases of a plan: `"1-N"`. */
const OF_PLAN = /^\s*(?:[dD][yY][nN][aA][mM][iI][cC]|[nN]|\d+\s*-\s*(?:[nN]|\d+))\s*$/;

/** An entry for all phases of a plan: their tasks and gates come from the plan. */
const planEntry = object({
  phase_number: required(z.string().check(z.regex(OF_PLAN)), 'Which phases of the plan the entry describes: `"1-N"`.'),
  phase_name: optional(anything, "For people: what the phases are called."),
  purpose: optional(anything, "For people: what they are for."),
  estimated_effort: optional(anything, "For people: how long they take."),
  key_deliverables: optional(anything, "For people: what they produce."),
  validation_criteria: optional(anything, "For people: what is checked."),
  tasks: optional(anything, "For people: the tasks come from the plan."),
  task_execution: optional(anything, "For people: how the tasks are carried out."),
});

function isOfPlan(entry: JsonValue): boolean {
  return isJsonObject(entry) && typeof entry.phase_number === "string" && OF_PLAN.test(entry.phase_number);
}

const anyEntry = described(
  said(z.union([planEntry, phaseEntry]), { choose: (entry) => (isOfPlan(entry) ? planEntry : phaseEntry) }),
  { id: "phase", description: "A phase of the workflow." },
);

export const dynamicConfig = object({
  source_type: optional(text, "The same as `parser`, if that is not given."),
  parser: optional(text, "The reader of the plan. Default: `spec_tasks_parser`.", "spec_tasks_parser"),
  source_path_key: optional(text, "The option of a session that names the plan. Default: `spec_path`.", "spec_path"),
  templates: optional(
    object({
      phase: optional(text, "The template of a phase's text. Default: `phases/dynamic/phase-template.md`."),
      task: optional(text, "The template of a task's text. Default: `phases/dynamic/task-template.md`."),
    }),
    "The templates, relative to the workflow's folder.",
  ),
  enforce_dependencies: optional(
    flag,
    "True if a task cannot be noted as done before those that it depends on. Default: false.",
    false,
  ),
  verify: verifyKey("Checks against reality, the same at every gate of the plan. Default: none."),
  tick_criteria: optional(
    flag,
    "True if the acceptance criteria of a task are ticked in the plan with it. Default: false.",
    false,
  ),
});

const optionsSchema = described(
  z.looseObject({
    properties: required(z.record(z.string(), z.looseObject({})), "The options by name, each with its schema."),
  }),
  { allOf: [{ $ref: "http://json-schema.org/draft-07/schema#" }] },
);

const phaseKey = said(z.union([z.int().check(z.minimum(0)), z.string().check(z.regex(/\S/))]), {
  words: () => ({
    expected: "the number or the name of a phase",
    hint: 'Write the number of a phase, from 0 on, or its name: "start_phase": 1, say',
  }),
});

const count = z.int().check(z.minimum(1));
const COUNT_HINT = "Write how many folders there are below phases/, as a number without quotes";

export const metadataFile = object({
  ...schemaKey,
  workflow_type: required(filled, "The name of the workflow's folder."),
  name: required(filled, "The name that people see.", '"name": and what people call the workflow'),
  description: required(filled, "What the workflow is for.", '"description": and what it is for'),
  version: wanted(
    label,
    "For people: sessions are pinned to the content. `validate` warns if it is missing.",
    '"version": "1.0.0"',
  ),
  category: wanted(text, "Shown in lists. `validate` warns if it is missing.", '"category": "documentation", say'),
  estimated_duration: wanted(
    label,
    'How long a session takes, in words: `"1-2 hours"`. Shown in lists. `validate` warns if it is missing.',
    '"estimated_duration": "1-2 hours", say',
  ),
  target_languages: optional(texts, "Programming languages that it is for. Shown in lists. Default: none."),
  artifacts: optional(texts, "What it produces. Shown in lists. Default: none."),
  prerequisites: optional(texts, "What must exist first. Shown in lists. Default: none."),
  tags: optional(texts, "Words to find it by. Shown in lists. Default: none."),
  target: said(
    optional(z.literal("none"), "`none`: the workflow is not about a file or folder, and a start needs no target."),
    { empty: () => ({ expected: "none", hint: "Write none, or leave it out." }) },
  ),
  options_schema: later(optionsSchema, "A JSON Schema of the options that `start` takes. Default: any options."),
  start_phase: optional(phaseKey, "The phase that sessions start with, by number or name. Default: the first one."),
  phases: optional(
    said(z.union([listOf(anyEntry), count]), {
      words: () => ({ expected: "a list, or a number from 1 on", hint: `${COUNT_HINT}, or a list of the phases.` }),
    }),
    "The phases, or the number of folders in `phases/`, each of which is then a phase.",
  ),
  total_phases: optional(
    said(z.union([count, z.literal("dynamic")]), {
      words: () => ({ expected: "a number from 1 on", hint: `${COUNT_HINT}.` }),
    }),
    'The number of phases, or `"dynamic"` if they come from a plan. Default: the number of entries in `phases`.',
  ),
  dynamic_phases: optional(flag, "True if phases come from a plan. Default: false.", false),
  dynamic_config: later(dynamicConfig, "How the plan is found, and how its phases and tasks are shown."),
});

export interface Metadata {
  readonly written: Read<z.infer<typeof metadataFile>>;
  /** Keys that the schema doesn't know, kept. */
  readonly unknown: JsonObject | undefined;
  readonly spot: Spot;
}

/** A target of another kind may be meant for other programs: it stays an unknown key. */
const withoutTarget = object(z.omit(metadataFile, { target: true }).shape);

/** Reads metadata.json. Returns undefined and reports an error if it is no object. */
export function readMetadata(value: JsonValue, spot: Spot): Metadata | undefined {
  if (!isJsonObject(value)) {
    const message = "metadata.json must be an object with keys";
    spot.report.error("VALUE_WRONG", spot.place(), message, 'Begin it with "{".');
    return undefined;
  }
  const schema = value.target === "none" ? metadataFile : withoutTarget;
  const written = readBy(schema, value, spot) ?? {};
  return { written, unknown: unknownIn(schema, written), spot };
}

export interface Listed {
  readonly entry: Read<z.infer<typeof phaseEntry>>;
  readonly spot: Spot;
}

export interface PhaseClaims {
  /** The numbers given, with their keys. */
  readonly counts: readonly (readonly [key: "phases" | "total_phases", count: number])[];
  /** The entries of phases with their own numbers, if phases are listed. */
  readonly list: readonly Listed[] | undefined;
  readonly dynamic: boolean;
}

type WorkflowFacts = Omit<
  WorkflowStructure,
  "revision" | "startPhase" | "phases" | "dynamic" | "plan" | "optionsSchema" | "extra"
>;

export function factsOf({ written, spot }: Metadata, type: string, given: JsonValue | undefined): WorkflowFacts {
  checkType(written.workflow_type, given, type, spot);
  return {
    type,
    version: String(written.version ?? ""),
    name: written.name ?? "",
    description: written.description ?? "",
    category: written.category,
    estimatedDuration: labelOf(written.estimated_duration),
    targetLanguages: written.target_languages,
    artifacts: written.artifacts,
    prerequisites: written.prerequisites,
    tags: written.tags,
    target: written.target === "none" ? "none" : undefined,
  };
}

export function labelOf(label: string | number | undefined): string | undefined {
  return label === undefined ? undefined : String(label);
}

/** Reads `options_schema`: the JSON Schema of the options that a session can be started with. */
export async function readOptionsSchema({ written, spot }: Metadata): Promise<JsonObject | undefined> {
  const at = spot.at("options_schema");
  const schema = written.options_schema === undefined ? undefined : readBy(anyObject, written.options_schema, at);
  if (schema === undefined) return undefined;
  const faults = await schemaFaults(schema);
  for (const { path, message, hint } of faults) spot.report.error("VALUE_WRONG", at.place(...path), message, hint);
  return faults.length > 0 ? undefined : schema;
}

export function phaseClaims({ written, spot }: Metadata, given: JsonObject): PhaseClaims {
  const { report } = spot;
  const { phases, total_phases: total, dynamic_phases: flagged } = written;
  const entries = [phases]
    .flat()
    .flatMap((entry, index) =>
      entry === undefined || typeof entry === "number" ? [] : [{ entry, spot: spot.at("phases", index) }],
    );
  const list = entries.flatMap(({ entry, spot }) => (isNumbered(entry) ? [{ entry, spot }] : []));
  const ofPlan = entries.find(({ entry }) => !isNumbered(entry));
  const dynamic = flagged === true || total === "dynamic" || ofPlan !== undefined;
  if (isMissing(given.phases) && isMissing(given.total_phases) && flagged !== true) {
    const hint = 'Write "phases": and a list of phases, or how many folders there are below phases/.';
    report.error("KEY_MISSING", spot.place(), 'the key "phases" is missing', hint);
  }
  if (flagged === false && dynamic) {
    const place = ofPlan?.spot.place("phase_number") ?? spot.place("total_phases");
    const hint = 'Write "dynamic_phases": true, or a number in its place.';
    report.error("DYNAMIC_CONTRADICTS", place, 'phases come from a plan, but "dynamic_phases" is false', hint);
  }
  if (dynamic && typeof total === "number") {
    const message = `"total_phases" is ${total}, but the number of phases depends on the plan`;
    report.warn("DYNAMIC_CONTRADICTS", spot.place("total_phases"), message, 'Write "total_phases": "dynamic".');
  }
  const counts = [["phases", phases] as const, ["total_phases", dynamic ? undefined : total] as const].flatMap(
    ([key, count]) => (typeof count === "number" ? [[key, count] as const] : []),
  );
  return { counts, list: Array.isArray(phases) ? list : undefined, dynamic };
}

type Entry = Read<z.infer<typeof anyEntry>>;

function isNumbered(entry: Entry): entry is Listed["entry"] {
  return typeof entry.phase_number !== "string";
}

/** Compares the phases with their stated number. A missing one is an error, because its work would be skipped. */
export function checkCounts(claims: PhaseClaims, phases: readonly PhaseDefinition[], { report, place }: Spot): void {
  if (phases.length === 0 && claims.counts.length === 0 && claims.dynamic) return;
  if (phases.length === 0) {
    const hint = "Write phases/1/phase.md, and add the phase to metadata.json.";
    report.error("PHASES_MISSING", place("phases"), "the workflow has no phase", hint);
    return;
  }
  // An entry that can't be read has its own diagnostic.
  if (claims.list !== undefined && phases.length < claims.list.length) return;
  for (const [key, count] of claims.counts) {
    const found = phases.length === 1 ? "is 1 phase" : `are ${phases.length} phases`;
    const message = `${shown(key)} is ${count}, but there ${found}`;
    const write = `"${key}": ${phases.length}`;
    if (count > phases.length) {
      const hint = `Add the missing phases (there ${phases.length === 1 ? "is" : "are"} ${numbersOf(phases)}), or write ${write}.`;
      report.error("PHASE_COUNT", place(key), message, hint);
    } else if (count < phases.length) {
      report.warn("PHASE_COUNT", place(key), message, `Write ${write}.`);
    }
  }
}

export function checkType(
  type: string | undefined,
  given: JsonValue | undefined,
  folder: string,
  { report, place }: Spot,
) {
  const write = `"workflow_type": "${folder}"`;
  if (isMissing(given)) report.error("KEY_MISSING", place(), 'the key "workflow_type" is missing', `Write ${write}.`);
  if (type === undefined || type === folder) return;
  const message = "workflow_type is not the name of the workflow's folder";
  report.error("WORKFLOW_TYPE_DIFFERS", place("workflow_type"), message, `Write ${write}, or rename the folder.`);
}

const LISTED_MAX = 20;

function numbersOf(phases: readonly PhaseDefinition[]): string {
  const numbers = phases.slice(0, LISTED_MAX).map(({ number }) => number);
  return [...numbers, ...(phases.length > LISTED_MAX ? ["…"] : [])].join(", ");
}
