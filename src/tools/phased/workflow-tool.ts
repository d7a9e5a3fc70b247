/**
 * The one tool through which agents work on phased workflows. The code that executes calls is loaded with
 * the first one. The entry file of this folder; what is decided where:
 * - actions.ts: which actions and parameters there are, and what each action is
 * - table.ts: in which files the actions run, and what a long answer leaves out
 * - refusals.ts: how wrong requests and errors are answered
 * - next-call.ts: what an agent is told to call next
 * - phases.ts, state.ts, lists.ts, plan.ts: what reading and moving actions answer
 * - complete.ts: what an agent is told after a gate, and about a waiver; prompt-texts.ts: what a prompt tells it
 * - shapes.ts, approval-notices.ts: how the engine's views look on the wire; evidence-note.ts: when a text contradicts its gate
 */
import { PhasegateError } from "../../errors.js";
import type { Engine } from "../../phased/engine.js";
import type { Actor, Authorize } from "../../ports/actor.js";
import { Metrics } from "../../runtime/operations.js";
import {
  callable,
  checkOptions,
  fromOne,
  having,
  type OptionChecks,
  optionally,
  text,
  texts,
} from "../../workflow/host-options.js";
import { maxCharsFor, type ObjectSchema } from "../schemas.js";
import {
  ACTION_NAMES,
  type Action,
  type DispatchOptions,
  entryOf,
  inputSchema,
  isAction,
  outputSchema,
  type ToolContext,
  toolDescription,
  type WorkflowResponse,
} from "./actions.js";

/** The options of a workflow tool. */
export interface WorkflowToolOptions {
  /** The tool's name. Default: `pos_workflow`. */
  readonly name?: string;
  /** The description for agents. Default: one that says everything they need. */
  readonly description?: string;
  /** The actions that agents may call. Default: all but `delete_session`. */
  readonly actions?: readonly Action[];
  /** For whom the tool is, on a server that several share: it works with `engine.as(actor, authorize)`. Default: the host. */
  readonly actor?: Actor;
  /** What the actor may do. Default: agents see and move their own sessions alone. */
  readonly authorize?: Authorize;
  /** The longest answer, in tokens of four characters. Default 6,000, at least 1,000. */
  readonly maxTokens?: number;
  /**
   * How long the checks of a gate may take before the answer is that they run, and how to wait for them, in milliseconds:
   * clients give up on a call, many of them after a minute. Default 45,000; `Infinity` to answer when they have ended.
   */
  readonly answerWithinMs?: number;
  /**
   * The names of tools that texts may ask for and that the server does not have: an answer with such a text says so. With
   * `search_standards`, also of texts that order a search (`MUST-SEARCH`). Default: none.
   */
  readonly absentTools?: readonly string[];
}

/** A tool that can be registered with any server that takes a name, schemas and a function. */
export interface WorkflowTool {
  /** The name that agents call. */
  readonly name: string;
  /** The description for agents. */
  readonly description: string;
  /** The JSON Schema of a call: the parameters of all actions. */
  readonly inputSchema: ObjectSchema;
  /** The JSON Schema of the fields that all answers share. */
  readonly outputSchema: ObjectSchema;
  /** The actions that agents may call. */
  readonly actions: readonly Action[];
  /** Executes a call. Never throws and never rejects: every error is an answer. */
  dispatch(input: unknown, options?: DispatchOptions): Promise<WorkflowResponse>;
}

/** The checks of {@link WorkflowToolOptions}. */
export const toolChecks: OptionChecks<WorkflowToolOptions> = {
  name: optionally(text),
  description: optionally(text),
  actions: optionally(texts),
  actor: optionally(having("an actor, such as { name }")),
  authorize: optionally(callable),
  maxTokens: optionally(fromOne),
  answerWithinMs: optionally(fromOne),
  absentTools: optionally(texts),
};

/**
 * Returns the engine for the actor of a tool. A host that looks an actor up and finds none must not get its own tool, which
 * may do everything. Throws `INVALID_INPUT`.
 */
export function engineFor(of: string, host: Engine, options: Pick<WorkflowToolOptions, "actor" | "authorize">): Engine {
  checkOptions(of, { engine: host }, { engine: having("an engine, as createEngine() returns it", "as", "cleanup") });
  const { actor, authorize } = options;
  if (actor !== undefined) return host.as(actor, authorize);
  if (!("actor" in options) && authorize === undefined) return host;
  throw new PhasegateError("INVALID_INPUT", `${of}: actor is undefined`, {
    remedy: "Give the actor whom it is for. For a tool of the host itself, leave out actor and authorize.",
    details: { field: "actor", expected: "an actor" },
  });
}

let dispatchCounted: typeof import("./table.js").dispatchCounted | undefined;

/**
 * Creates the tool.
 * @throws {PhasegateError} `INVALID_INPUT` when an option is unknown or invalid, or `actor` is given and undefined.
 */
export function createWorkflowTool(host: Engine, options: WorkflowToolOptions = {}): WorkflowTool {
  checkOptions("createWorkflowTool", options, toolChecks);
  const actions = checkActions(options.actions);
  const engine = engineFor("createWorkflowTool", host, options);
  const name = options.name ?? "pos_workflow";
  const maxChars = maxCharsFor(options.maxTokens);
  const { absentTools = [], answerWithinMs = ANSWER_WITHIN_MS } = options;
  const context: ToolContext = { engine, name, actions, absentTools, maxChars, answerWithinMs, metrics: new Metrics() };
  return {
    name,
    description: options.description ?? toolDescription(actions),
    inputSchema: inputSchema(actions),
    outputSchema: outputSchema(),
    actions,
    dispatch(input, options) {
      const given = options === undefined ? context : { ...context, ...options };
      return dispatchCounted?.(given, input) ?? loadTable().then((dispatch) => dispatch(given, input));
    },
  };
}

/** Less than the minute after which clients give up on a call. */
const ANSWER_WITHIN_MS = 45_000;

/** The actions that agents may call by default. */
const USUAL = ACTION_NAMES.filter((name) => entryOf(name).effect !== "deletes");

/** Returns the actions that a host allows. Throws `INVALID_INPUT` if there are none, or one is unknown. */
export function checkActions(actions: readonly Action[] = USUAL): readonly Action[] {
  const wrong = actions.filter((action) => !isAction(action));
  if (actions.length > 0 && wrong.length === 0) return actions;
  throw new PhasegateError(
    "INVALID_INPUT",
    wrong.length === 0 ? "a tool needs at least one action" : `unknown actions: ${wrong.join(", ")}`,
    {
      remedy: `Choose from ${ACTION_NAMES.join(", ")}.`,
      details: { field: "actions" },
    },
  );
}

/**
 * Loads the code that executes calls with the first one. It is cached here, since `import()` of a loaded
 * module costs as much as a call.
 */
async function loadTable() {
  const loaded = await import("./table.js");
  dispatchCounted = loaded.dispatchCounted;
  return dispatchCounted;
}
