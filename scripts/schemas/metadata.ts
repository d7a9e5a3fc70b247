/** The schema of metadata.json. */
import * as z from "zod";
import { metadataCheckpoint, verify } from "./gate.js";
import { fieldNames, filled, label, optional, required, schemaKey, texts, whole, withKeywords } from "./parts.js";

const task = z
  .strictObject({
    task_number: required(whole, "The number of the task, counted within its phase."),
    name: optional(z.string(), "Its name. Default: the first heading of its file."),
    purpose: optional(z.string(), "What it is for. Default: the objective of its text."),
    file: optional(z.string(), "Its file, in the phase's folder. Default: the file `task-N-….md`."),
  })
  .meta({ id: "task", description: "A task of a phase." });

const phase = z.strictObject({
  phase_number: required(
    z.union([whole, z.string()]),
    'The number of the phase, from 0 on; gaps are fine. `"1-N"`: the entry describes all phases of a plan.',
  ),
  phase_name: optional(z.string(), "Its name. Default: the first heading of its text."),
  phase_file: optional(z.string(), "Its text, relative to the workflow's folder. Default: `phases/N/phase.md`."),
  purpose: optional(z.string(), "What it is for. Default: the objective of its text."),
  estimated_effort: optional(label, 'How long it takes, in words: `"an hour"`. Default: what its text says.'),
  key_deliverables: optional(texts, "What it produces. For the host; agents find it in the text. Default: none."),
  validation_criteria: optional(texts, "Shown with the gate; not required by it. Default: none."),
  skippable: optional(z.boolean(), "True if the host may skip it; an agent cannot. Default: false.", false),
  skip_when: optional(
    z.string(),
    "A rule in CEL over the options of a session, by which a session skips the phase: `!has(options.docs)`. Default: never.",
  ),
  skip_condition: optional(
    z.string(),
    "The same in words: the reason in the log. Without `skip_when`, only `No NAME in options` is read as a rule.",
  ),
  tasks: optional(z.array(task), "Its tasks. Default: all its files `task-N-….md`."),
  required_evidence: optional(
    fieldNames,
    "Names of required evidence fields, of any type. Counts if there is no gate file, and its text requires nothing. Default: none.",
  ),
  checkpoint: optional(metadataCheckpoint, "Rules and settings of the gate, if there is no gate file. Default: none."),
});

/** An entry for all phases of a plan: their tasks and gates come from the plan. */
const planPhases = z.strictObject({
  phase_number: required(
    z.string().regex(/^\s*(?:[dD][yY][nN][aA][mM][iI][cC]|[nN]|\d+\s*-\s*(?:[nN]|\d+))\s*$/),
    'Which phases of the plan the entry describes: `"1-N"`.',
  ),
  phase_name: z.unknown().optional().describe("For people: what the phases are called."),
  purpose: z.unknown().optional().describe("For people: what they are for."),
  estimated_effort: z.unknown().optional().describe("For people: how long they take."),
  key_deliverables: z.unknown().optional().describe("For people: what they produce."),
  validation_criteria: z.unknown().optional().describe("For people: what is checked."),
  tasks: z.unknown().optional().describe("For people: the tasks come from the plan."),
  task_execution: z.unknown().optional().describe("For people: how the tasks are carried out."),
});

/** An entry of `phases`. The type of its number decides which of the two it is. */
const phaseEntry = z.union([planPhases, phase]).meta({ id: "phase", description: "A phase of the workflow." });

const count = z.int().min(1);

const dynamicConfig = z.strictObject({
  source_type: optional(z.string(), "The same as `parser`, if that is not given."),
  parser: optional(z.string(), "The reader of the plan. Default: `spec_tasks_parser`.", "spec_tasks_parser"),
  source_path_key: optional(
    z.string(),
    "The option of a session that names the plan. Default: `spec_path`.",
    "spec_path",
  ),
  templates: optional(
    z.strictObject({
      phase: optional(z.string(), "The template of a phase's text. Default: `phases/dynamic/phase-template.md`."),
      task: optional(z.string(), "The template of a task's text. Default: `phases/dynamic/task-template.md`."),
    }),
    "The templates, relative to the workflow's folder.",
  ),
  enforce_dependencies: optional(
    z.boolean(),
    "True if a task cannot be noted as done before those that it depends on. Default: false.",
    false,
  ),
  verify: optional(verify, "Checks against reality, the same at every gate of the plan. Default: none."),
  tick_criteria: optional(
    z.boolean(),
    "True if the acceptance criteria of a task are ticked in the plan with it. Default: false.",
    false,
  ),
});

/** metadata.json. */
export const metadataSchema = withKeywords(
  z.strictObject({
    ...schemaKey,
    workflow_type: required(filled, "The name of the workflow's folder."),
    name: required(filled, "The name that people see."),
    description: required(filled, "What the workflow is for."),
    version: optional(label, "For people: sessions are pinned to the content. `validate` warns if it is missing."),
    category: optional(z.string(), "Shown in lists. `validate` warns if it is missing."),
    estimated_duration: optional(
      label,
      'How long a session takes, in words: `"1-2 hours"`. Shown in lists. `validate` warns if it is missing.',
    ),
    target_languages: optional(texts, "Programming languages that it is for. Shown in lists. Default: none."),
    artifacts: optional(texts, "What it produces. Shown in lists. Default: none."),
    prerequisites: optional(texts, "What must exist first. Shown in lists. Default: none."),
    tags: optional(texts, "Words to find it by. Shown in lists. Default: none."),
    target: z
      .literal("none")
      .optional()
      .describe("`none`: the workflow is not about a file or folder, and a start needs no target."),
    options_schema: optional(
      withKeywords(
        z.looseObject({
          properties: required(z.record(z.string(), z.looseObject({})), "The options by name, each with its schema."),
        }),
        {
          allOf: [{ $ref: "http://json-schema.org/draft-07/schema#" }],
        },
      ),
      "A JSON Schema of the options that `start` takes. Default: any options.",
    ),
    start_phase: optional(whole, "The number of the phase that sessions start with. Default: the first one."),
    phases: optional(
      z.union([z.array(phaseEntry), count]),
      "The phases, or the number of folders in `phases/`, each of which is then a phase.",
    ),
    total_phases: optional(
      z.union([count, z.literal("dynamic")]),
      'The number of phases, or `"dynamic"` if they come from a plan. Default: the number of entries in `phases`.',
    ),
    dynamic_phases: optional(z.boolean(), "True if phases come from a plan. Default: false.", false),
    dynamic_config: optional(dynamicConfig, "How the plan is found, and how its phases and tasks are shown."),
  }),
  {
    title: "phasegate: metadata.json",
    description: "A phased workflow: what it is for, and its phases.",
    if: {
      anyOf: [
        { required: ["total_phases"], properties: { total_phases: { not: { type: "null" } } } },
        { required: ["dynamic_phases"], properties: { dynamic_phases: { const: true } } },
      ],
    },
    else: { required: ["phases"], properties: { phases: { not: { type: "null" } } } },
  },
);
