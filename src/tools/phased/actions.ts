/**
 * The actions of the workflow tool and their parameters: one table from which the input schema, the descriptions, the checks,
 * the examples and the HTTP routes are made; and the context that every action gets.
 */
import * as z from "zod/mini";
import type { ApprovalRequest } from "../../phased/approval/ledger.js";
import type { WaiverRequest } from "../../phased/approval/requests.js";
import type { CompleteRequest } from "../../phased/complete-phase.js";
import type { Engine } from "../../phased/engine.js";
import type { Followed } from "../../phased/verify/verify.js";
import type { Metrics } from "../../runtime/operations.js";
import type { Paging } from "../dispatch.js";
import type { PersonsAnswer } from "../person.js";
import { fieldNames, isOptional, type ObjectSchema, publishedSchema } from "../schemas.js";
import type { WireObject } from "../wire.js";

/**
 * An object that is passed on unchanged: zod's record would drop keys such as `__proto__`, which the engine refuses. What is
 * no plain JSON inside is the engine's to refuse, too, since it can say what it is.
 */
const objectSchema = z
  .custom<WireObject>((value) => Object.prototype.toString.call(value) === "[object Object]")
  .check(z.meta({ type: "object" }));

/** Every parameter of the tool, with its description for agents. */
export const PARAMETERS = {
  session_id: z.string().check(z.describe("from start")),
  workflow_type: z.string(),
  target_file: z.string().check(z.describe("a path")),
  options: objectSchema,
  phase: z.int().check(z.describe("its number")),
  task_number: z.int(),
  item: z.int(),
  path: z.string(),
  evidence: objectSchema,
  category: z.string(),
  status: z.enum(["active", "paused", "completed", "failed"]),
  reason: z.string(),
  fields: z.array(z.string()),
  note: z.string(),
  outcome: z.enum(["done", "given_up"]),
  skipped: z.array(z.int()),
  checkpoint_note: z.string(),
  reset_evidence: z.boolean(),
  to_phase: z.int(),
  idempotency_key: z.string().check(z.describe("for retries")),
  cursor: z.string().check(z.describe("next page")),
  brief: z.boolean(),
  preview: z.boolean(),
} as const;

/** The name of a parameter. */
export type Parameter = keyof typeof PARAMETERS;

const { session_id, phase, task_number, path, fields, reason, to_phase } = PARAMETERS;

const OPTIONAL = z.partial(z.object(PARAMETERS)).shape;

/** Returns parameters that a call may leave out. */
function may<P extends Parameter>(...names: P[]): Pick<typeof OPTIONAL, P> {
  return Object.fromEntries(names.map((name) => [name, OPTIONAL[name]])) as Pick<typeof OPTIONAL, P>;
}

/** An action of the tool. */
interface ActionEntry {
  /** What it does, for people who read the HTTP API. */
  readonly summary: string;
  readonly takes: z.ZodMiniObject;
  /** What it does to sessions; without it, it changes them. Agents get one that deletes only if the host says so. */
  readonly effect?: "reads" | "deletes";
  readonly paging?: Paging | ((given: WireObject) => Paging);
  /** The optional parameters that a usual call has. */
  readonly usual?: readonly Parameter[];
}

/** The actions, in the order in which they are listed. What runs each of them is in the files that table.ts names. */
export const ACTIONS = {
  list_workflows: {
    summary: "List the workflows",
    takes: z.strictObject(may("workflow_type", "category", "cursor")),
    effect: "reads",
    paging: "own",
  },
  start: {
    summary: "Start a session",
    takes: z
      .strictObject(may("workflow_type", "target_file", "options", "session_id", "item", "idempotency_key"))
      .check(
        z.refine(({ workflow_type: type, session_id: parent }) => type !== undefined || parent !== undefined, {
          path: ["workflow_type"],
          when: ({ value }) => Object(value) === value,
        }),
      ),
    usual: ["workflow_type", "target_file"],
  },
  get_phase: {
    summary: "Read the current phase, or one before",
    takes: z.strictObject({ session_id, ...may("phase", "cursor") }),
    effect: "reads",
    paging: "own",
  },
  get_task: {
    summary: "Read a task of the current phase, or of one before",
    takes: z.strictObject({ session_id, phase, task_number, ...may("cursor") }),
    effect: "reads",
    paging: "own",
  },
  get_document: {
    summary: "Read a document that a text names",
    takes: z.strictObject({ session_id, path, ...may("cursor") }),
    effect: "reads",
    paging: "own",
  },
  complete_task: {
    summary: "Note a task as done, or as given up",
    takes: z.strictObject({
      ...{ session_id, phase },
      ...may("task_number", "note", "outcome", "skipped", "idempotency_key"),
    }),
    usual: ["task_number"],
  },
  complete_phase: {
    summary: "Submit the evidence for the current phase; without evidence, wait for what was submitted under the key",
    takes: z.strictObject({ session_id, phase, ...may("evidence", "idempotency_key") }).check(
      z.refine(({ evidence, idempotency_key: key }) => evidence !== undefined || key !== undefined, {
        path: ["evidence"],
        // With other faults, too: all are reported at once.
        when: ({ value }) => Object(value) === value,
      }),
    ),
    usual: ["evidence"],
  },
  request_waiver: {
    summary: "Ask a person to waive what can't be met",
    takes: z.strictObject({ session_id, phase, fields, reason, ...may("idempotency_key") }),
  },
  get_state: {
    summary: "Get the state of a session, or what one completed phase has handed on",
    takes: z.strictObject({ session_id, ...may("brief", "phase", "cursor") }),
    effect: "reads",
    paging: "json",
  },
  list_sessions: {
    summary: "List the sessions, newest first",
    takes: z.strictObject(may("status", "cursor")),
    effect: "reads",
    paging: "own",
  },
  get_session: {
    summary: "Get everything about a session",
    takes: z.strictObject({ session_id, ...may("cursor") }),
    effect: "reads",
    paging: "json",
  },
  delete_session: {
    summary: "Delete a session",
    takes: z.strictObject({ session_id, ...may("reason") }),
    effect: "deletes",
  },
  pause: {
    summary: "Pause a session; resume continues it",
    takes: z.strictObject({ session_id, ...may("checkpoint_note", "idempotency_key") }),
  },
  resume: {
    summary: "Continue a paused session",
    takes: z.strictObject({ session_id, ...may("idempotency_key") }),
  },
  retry_phase: {
    summary: "Try a phase again after the session has failed",
    takes: z.strictObject({ session_id, phase, ...may("reset_evidence", "idempotency_key") }),
  },
  rollback: {
    summary: "Return to an earlier phase; it and all later ones are then open",
    takes: z.strictObject({ session_id, to_phase, ...may("idempotency_key") }),
  },
  sync_plan: {
    summary: "Adopt an edited plan",
    takes: z.strictObject({ session_id, ...may("preview", "cursor", "idempotency_key") }),
    paging: ({ preview }: WireObject) => (preview === true ? "own" : "none"),
  },
  get_errors: {
    summary: "Read what gates have refused",
    takes: z.strictObject({ session_id, ...may("cursor") }),
    effect: "reads",
    paging: "own",
  },
  get_history: {
    summary: "Read the history of a session",
    takes: z.strictObject({ session_id, ...may("cursor") }),
    effect: "reads",
    paging: "own",
  },
  get_metrics: {
    summary: "Get the number and the duration of calls",
    takes: z.strictObject({}),
    effect: "reads",
  },
} satisfies Record<Action, ActionEntry>;

/** One of the tool's actions. */
export type Action =
  | "list_workflows"
  | "start"
  | "get_phase"
  | "get_task"
  | "get_document"
  | "complete_task"
  | "complete_phase"
  | "request_waiver"
  | "get_state"
  | "list_sessions"
  | "get_session"
  | "delete_session"
  | "pause"
  | "resume"
  | "retry_phase"
  | "rollback"
  | "sync_plan"
  | "get_errors"
  | "get_history"
  | "get_metrics";

/** The checked parameters of an action. */
export type ParametersOf<A extends Action> = z.infer<(typeof ACTIONS)[A]["takes"]>;

/** All actions. */
export const ACTION_NAMES: readonly Action[] = Object.keys(ACTIONS).filter(isAction);

/** The actions that change nothing. */
export const WORKFLOW_READING: ReadonlySet<Action> = new Set(
  ACTION_NAMES.filter((action) => entryOf(action).effect === "reads"),
);

/** Returns what an action is. */
export function entryOf(action: Action): ActionEntry {
  return ACTIONS[action];
}

/** Checks whether a value names an action. */
export function isAction(value: unknown): value is Action {
  return typeof value === "string" && Object.hasOwn(ACTIONS, value);
}

/** Checks whether a name is that of a parameter, of any action. */
export function isParameter(name: string): name is Parameter {
  return Object.hasOwn(PARAMETERS, name);
}

/** The parameters of an action: the required ones, and all of them. */
export function parametersOf(action: Action): { required: readonly Parameter[]; all: readonly Parameter[] } {
  const schema = ACTIONS[action].takes;
  const all = fieldNames(schema).filter(isParameter);
  return { required: all.filter((name) => !isOptional(schema, name)), all };
}

/** What examples show: of each parameter that some action requires, or that a usual call has. */
const EXAMPLES: Partial<Record<Parameter, unknown>> = {
  session_id: "<session_id from start>",
  workflow_type: "<workflow_type from list_workflows>",
  target_file: "src/calculator.py",
  phase: 1,
  task_number: 1,
  path: "core/template.md",
  evidence: { "<field of the checkpoint>": "<what was done>" },
  reason: "no longer needed",
  fields: ["tests_pass"],
  to_phase: 1,
};

/** Returns a valid call of an action, with its required parameters and those of a usual call. */
export function exampleCall(action: Action): Record<string, unknown> {
  const shown = [...parametersOf(action).required, ...(entryOf(action).usual ?? [])];
  return { action, ...Object.fromEntries(shown.map((name) => [name, EXAMPLES[name]])) };
}

/** Returns the tool's description for agents; short, since it is in every context all the time. The schema has the actions. */
export function toolDescription(actions: readonly Action[]): string {
  const given = (...wanted: Action[]) => wanted.every((action) => actions.includes(action));
  const eachTask: Action = given("complete_task") ? "complete_task" : "get_task";
  const steps: readonly Action[] = ["list_workflows", "start", eachTask, "complete_phase"];
  const way = steps
    .filter((action) => given(action))
    .map((step) => (step === eachTask ? `${step} for each task` : step));
  const lines = [
    "Workflow to fix a bug or carry out a plan: you see one phase at a time, pass its gate with evidence.",
    way.length > 1 && `${way.join(" → ")}; do each phase's work, until workflow_complete.`,
    "An answer's `next` is the call to make.",
    given("complete_task") &&
      "complete_task notes a finished task; given_up: it can't be done; skipped: optional ones left out.",
    given("list_workflows", "list_sessions", "get_state") &&
      "After a context loss: list_workflows, then its to_continue.",
  ];
  return lines.filter((line) => line !== false).join("\n");
}

/** The newest input schema, with the actions that it is for: a server makes a tool for each request, and one takes 3 ms. */
let newest: { readonly actions: string; readonly schema: ObjectSchema } | undefined;

/** Returns the input schema of all actions in one object; each call is checked against its own action's. */
export function inputSchema(actions: readonly Action[]): ObjectSchema {
  const key = actions.join();
  if (newest?.actions !== key) {
    const used = new Set<string>(actions.flatMap((action) => parametersOf(action).all));
    const fields = Object.entries<z.ZodMiniType>(PARAMETERS).filter(([name]) => used.has(name));
    const optional = Object.fromEntries(
      fields.map(([name, schema]) => [
        name,
        z.optional(schema.check(z.describe(descriptionOf(name, schema, actions)))),
      ]),
    );
    newest = { actions: key, schema: publishedSchema(z.object({ action: z.enum(actions), ...optional })) };
  }
  return structuredClone(newest.schema);
}

/** How many actions a parameter's description names: a wrong call is answered with what its action takes. */
const NAMED_MAX = 3;

/** Describes a parameter: what it is, and which of the actions take it if these are few, since all of them share one schema. */
function descriptionOf(name: string, schema: z.ZodMiniType, actions: readonly Action[]): string {
  const takers = actions.filter((action) => parametersOf(action).all.some((one) => one === name));
  const about = z.globalRegistry.get(schema)?.description;
  const isNamed = takers.length <= NAMED_MAX && (takers.length < actions.length || about === undefined);
  return [about, isNamed ? `for ${takers.join(", ")}` : undefined].filter((part) => part !== undefined).join("; ");
}

/** Returns the schema that all answers share. */
export function outputSchema(): ObjectSchema {
  const schema = z.looseObject({
    status: z.enum(["success", "error", "verifying"]),
    action: z.string(),
    // Null where no call of the agent's helps: the session is over, or `blocked` says whom to ask.
    next: z.nullish(z.looseObject({})),
    error: z.optional(z.string()),
    remediation: z.optional(z.string()),
  });
  return publishedSchema(schema);
}

/** An answer: `status`, `action`, and the action's own fields. */
export type WorkflowResponse = {
  /** The outcome: `success` if the action was executed, `verifying` while the checks of its evidence run. */
  readonly status: "success" | "error" | "verifying";
  /** The action; empty if the call named none. */
  readonly action: string;
  readonly [key: string]: unknown;
};

/** The options that a host adds to a call. `signal`, `onCheck` and `noted` are those of `complete_phase`. */
export interface DispatchOptions extends Followed, Pick<CompleteRequest, "noted"> {
  /**
   * Asks a person during the call, if one is present; returns undefined if there is no answer. The engine checks the
   * answer like any other: unsigned, it counts only if the host allows that.
   */
  readonly askPerson?: (request: ApprovalRequest) => Promise<PersonsAnswer | undefined>;
  /** The same for a waiver. */
  readonly askWaiver?: (request: WaiverRequest) => Promise<PersonsAnswer | undefined>;
}

/** The context that all handlers of the tool get. */
export interface ToolContext extends DispatchOptions {
  readonly engine: Engine;
  /** The tool's name, for sentences that say what to call. */
  readonly name: string;
  /** The actions that agents get. */
  readonly actions: readonly Action[];
  /** The names of tools that texts may ask for, and that the server does not have. */
  readonly absentTools: readonly string[];
  /** The budget of an answer, in characters of JSON. */
  readonly maxChars: number;
  /** How long the checks of a gate may take before the answer is that they run, in milliseconds. */
  readonly answerWithinMs: number;
  /** Takes the names of the call's parameters that are objects and were sent as texts of JSON. */
  readonly sentAsText?: string[];
  /** The durations of each action; calls without a known action count as `unknown`. */
  readonly metrics: Metrics;
}
