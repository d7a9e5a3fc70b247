/** What a session pins of a plan, and of how its phases come out of one. */
import * as z from "zod";
import { storedObjectSchema } from "./json.js";

/** What a plan says of a task, as far as a session needs it. */
export const plannedTaskSchema = z.object({
  /** The plan's own id. */
  id: z.string(),
  description: z.string().optional(),
  estimatedTime: z.string().optional(),
  /** Ids of tasks that must be done first. */
  dependencies: z.array(z.string()),
  acceptanceCriteria: z.array(z.string()),
  /** What it is done for, where the plan says so. */
  requirements: z.array(z.string()).optional(),
  /** What the plan said when it was pinned. */
  state: z.enum(["pending", "in_progress", "queued", "blocked", "done"]),
  optional: z.boolean(),
  parallel: z.boolean(),
});

/** What a plan says of a phase, as far as a session needs it. */
export const plannedPhaseSchema = z.object({
  /** The plan's own number, which is another one where phases were shifted. */
  number: z.int().nonnegative(),
  goal: z.string().optional(),
  estimatedDuration: z.string().optional(),
});

/** How the phases after the static ones come out of a plan. */
export const dynamicSchema = z.object({
  /** The name of the source parser. */
  parser: z.string(),
  /** The option of a session that says where its plan lies. */
  sourcePathKey: z.string(),
  /** Where the templates lie, relative to the workflow's folder. */
  templates: z.object({ phase: z.string(), task: z.string() }),
  /** The revisions of the templates' texts when the definition was read. */
  templateRevisions: z.object({ phase: z.string().optional(), task: z.string().optional() }).optional(),
  /** Whether a task whose dependencies are open can be read. */
  enforceDependencies: z.boolean(),
  /** Whether acceptance criteria are ticked with their tasks. */
  tickCriteria: z.boolean(),
  /** Keys of the source that this version doesn't know, kept. */
  extra: z.optional(storedObjectSchema),
});

/** The plan that a session has pinned. */
export const planPinSchema = z.object({
  /** Where it lies, relative to the project root. */
  path: z.string(),
  /** The state of the text that was pinned. */
  hash: z.string(),
  dialect: z.string(),
  /** What was added to the plan's own phase numbers. */
  shift: z.int(),
  /** Whether tasks are ticked in it once their phase's gate has passed: not every source can be written. */
  ticked: z.boolean(),
});

/** What a plan says of a task, as far as a session needs it. */
export type PlannedTask = z.infer<typeof plannedTaskSchema>;
/** What a plan says of a phase, as far as a session needs it. */
export type PlannedPhase = z.infer<typeof plannedPhaseSchema>;
/** How the phases after the static ones come out of a plan. */
export type DynamicDefinition = z.infer<typeof dynamicSchema>;
/** The plan that a session has pinned. */
export type PlanPin = z.infer<typeof planPinSchema>;
