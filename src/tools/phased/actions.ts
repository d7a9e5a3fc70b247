/**
 * The actions of the workflow tool and their parameters: one table from which the input schema, the
 * descriptions and the checks are made.
 */

import * as z from "zod/mini";

/** Every parameter of the tool: seed names, with what an agent reads of each. */
export const PARAMETERS = {
  session_id: z.string().check(z.describe("from start")),
  workflow_type: z.string().check(z.describe("from list_workflows")),
  target_file: z.string().check(z.describe("path in the project, for start")),
  options: z.record(z.string(), z.unknown()).check(z.describe("for start")),
  phase: z.int().check(z.describe("phase number")),
  task_number: z.int(),
  evidence: z.record(z.string(), z.unknown()).check(z.describe("what the checkpoint asks for")),
  category: z.string(),
  status: z.enum(["active", "paused", "completed", "failed"]),
  reason: z.string(),
  checkpoint_note: z.string(),
  reset_evidence: z.boolean(),
  to_phase: z.int().check(z.describe("earlier phase, for rollback")),
  idempotency_key: z.string().check(z.describe("repeat a call safely")),
  cursor: z.string().check(z.describe("next page")),
  brief: z.boolean().check(z.describe("get_state in short")),
  preview: z.boolean().check(z.describe("only say what would change")),
} as const;

/** The name of a parameter. */
export type Parameter = keyof typeof PARAMETERS;

/** What an action takes. */
interface ActionSpec {
  readonly required: readonly Parameter[];
  readonly optional: readonly Parameter[];
}

/** The actions, in the order in which they are listed. */
const ACTIONS = {
  list_workflows: { required: [], optional: ["category", "cursor"] },
  start: { required: ["workflow_type", "target_file"], optional: ["options", "idempotency_key"] },
  get_phase: { required: ["session_id"], optional: ["phase", "cursor"] },
  get_task: { required: ["session_id", "phase", "task_number"], optional: ["cursor"] },
  complete_phase: { required: ["session_id", "phase", "evidence"], optional: ["idempotency_key"] },
  get_state: { required: ["session_id"], optional: ["brief", "cursor"] },
  list_sessions: { required: [], optional: ["status", "cursor"] },
  get_session: { required: ["session_id"], optional: ["cursor"] },
  delete_session: { required: ["session_id"], optional: ["reason"] },
  pause: { required: ["session_id"], optional: ["checkpoint_note", "idempotency_key"] },
  resume: { required: ["session_id"], optional: ["idempotency_key"] },
  retry_phase: { required: ["session_id", "phase"], optional: ["reset_evidence", "idempotency_key"] },
  rollback: { required: ["session_id", "to_phase"], optional: ["idempotency_key"] },
  sync_plan: { required: ["session_id"], optional: ["preview", "cursor", "idempotency_key"] },
  get_errors: { required: ["session_id"], optional: ["cursor"] },
  get_history: { required: ["session_id"], optional: ["cursor"] },
  get_metrics: { required: [], optional: [] },
} as const satisfies Record<string, ActionSpec>;

/** One of the tool's actions. */
export type Action = keyof typeof ACTIONS;

/** All actions. */
export const ACTION_NAMES: readonly Action[] = Object.keys(ACTIONS).filter(isAction);

/** Whether a value names an action. */
export function isAction(value: unknown): value is Action {
  return typeof value === "string" && Object.hasOwn(ACTIONS, value);
}

type Values = { [P in Parameter]: z.infer<(typeof PARAMETERS)[P]> };
type Spec<A extends Action> = (typeof ACTIONS)[A];

/** The checked parameters of an action: the required ones are there, the others may be. */
export type ParametersOf<A extends Action> = { readonly [P in Spec<A>["required"][number]]: Values[P] } & {
  readonly [P in Spec<A>["optional"][number]]?: Values[P];
};

/** A checked call. */
export type Request = { [A in Action]: { readonly action: A; readonly params: ParametersOf<A> } }[Action];

const EXAMPLES: Record<Parameter, unknown> = {
  session_id: "<session_id from start>",
  workflow_type: "<workflow_type from list_workflows>",
  target_file: "src/calculator.py",
  options: {},
  phase: 1,
  task_number: 1,
  evidence: { tests_pass: true },
  category: "code_generation",
  status: "active",
  reason: "no longer needed",
  checkpoint_note: "waiting for review",
  reset_evidence: true,
  to_phase: 1,
  idempotency_key: "a-key-of-your-own",
  cursor: "<cursor of the page before>",
  brief: true,
  preview: true,
};

/** A right call of an action, with its required parameters and those that are named. */
export function exampleCall(action: Action, also: readonly Parameter[] = []): Record<string, unknown> {
  const spec: ActionSpec = ACTIONS[action];
  const shown = [...spec.required, ...also.filter((name) => !spec.required.includes(name))];
  return { action, ...Object.fromEntries(shown.map((name) => [name, EXAMPLES[name]])) };
}

/** The parameters that an action knows. */
export function parametersOf(action: Action): { required: readonly Parameter[]; all: readonly Parameter[] } {
  const { required, optional }: ActionSpec = ACTIONS[action];
  return { required, all: [...required, ...optional] };
}

/** A JSON Schema as MCP lists it: an object's. */
export interface ObjectSchema {
  readonly type: "object";
  readonly [key: string]: unknown;
}

/** What the tool says of itself; short, for it is in every context all the time. */
export function toolDescription(actions: readonly Action[]): string {
  const given = (...wanted: Action[]) => wanted.every((action) => actions.includes(action));
  const way = (["list_workflows", "start", "get_phase", "get_task", "complete_phase"] as const).filter((action) =>
    given(action),
  );
  return [
    "Runs phase-gated workflows. You see one phase at a time and pass its checkpoint with evidence; phases can't be skipped.",
    ...(way.length > 1 ? [`${way.join(" → ")}; do the work of each phase, repeat until workflow_complete.`] : []),
    "Every answer's `next` is the call to make.",
    ...(given("list_sessions", "get_state") ? ["After a context loss: list_sessions, then get_state with brief."] : []),
    `Actions: ${actions.join(", ")}.`,
  ].join("\n");
}

/** The input of all actions in one object; which action takes what is checked by `dispatch`. */
export function inputSchema(actions: readonly Action[]): ObjectSchema {
  const schema = z.object({ action: z.enum(actions), ...optionalParameters(actions) });
  return objectSchema(z.toJSONSchema(schema, { io: "input", override: dropBounds }));
}

/** The envelope that all answers share. */
export function outputSchema(): ObjectSchema {
  const schema = z.looseObject({
    status: z.enum(["success", "error"]),
    action: z.string(),
    // Null where no call of the agent's helps: `blocked` says whom to ask.
    next: z.nullish(z.looseObject({})),
    error: z.optional(z.string()),
    remediation: z.optional(z.string()),
  });
  return objectSchema(z.toJSONSchema(schema, { override: dropBounds }));
}

function optionalParameters(actions: readonly Action[]): Record<string, z.ZodMiniType> {
  const used = new Set<string>(actions.flatMap((action) => parametersOf(action).all));
  const entries = Object.entries(PARAMETERS).filter(([name]) => used.has(name));
  return Object.fromEntries(entries.map(([name, schema]) => [name, z.optional<z.ZodMiniType>(schema)]));
}

/** The bounds of safe integers and the names of free keys cost tokens and say nothing. */
function dropBounds({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  delete jsonSchema.minimum;
  delete jsonSchema.maximum;
  delete jsonSchema.propertyNames;
  delete jsonSchema.additionalProperties;
}

function objectSchema({ $schema: _, ...schema }: z.core.JSONSchema.BaseSchema): ObjectSchema {
  return { ...schema, type: "object" };
}
