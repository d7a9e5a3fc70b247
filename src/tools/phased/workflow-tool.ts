import { PhasegateError } from "../../errors.js";
import type { Engine } from "../../phased/engine.js";
import { Metrics } from "../../runtime/metrics.js";
import type { DispatchOptions, ToolContext, WorkflowResponse } from "../context.js";
import { charactersFor } from "../paging.js";
import {
  ACTION_NAMES,
  type Action,
  inputSchema,
  isAction,
  type ObjectSchema,
  outputSchema,
  toolDescription,
} from "./actions.js";
/** How a host wants its tool. */
export interface WorkflowToolOptions {
  /** The tool's name; `pos_workflow` if not given. */
  readonly name?: string;
  /** What agents read of it; the default says all that they need. */
  readonly description?: string;
  /** The actions that agents get; all if not given. */
  readonly actions?: readonly Action[];
  /** The longest answer, in tokens of four characters. Default 6,000, at least 1,000. */
  readonly maxTokens?: number;
}

/** A tool that can be registered with anything that takes a name, schemas and a function. */
export interface WorkflowTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
  readonly actions: readonly Action[];
  /** Carries out a call. Never throws and never rejects: whatever is wrong is an answer. */
  dispatch(input: unknown, options?: DispatchOptions): Promise<WorkflowResponse>;
}

/** The longest answer in tokens, where a host says nothing, and the least that it may say. */
export const DEFAULT_TOKENS = 6000;
export const LEAST_TOKENS = 1000;

/** Makes the one tool through which agents go through workflows. Throws `INVALID_INPUT` for actions that there are not. */
export function createWorkflowTool(engine: Engine, options: WorkflowToolOptions = {}): WorkflowTool {
  const actions = checkActions(options.actions ?? ACTION_NAMES);
  const name = options.name ?? "pos_workflow";
  const room = charactersFor(Math.max(options.maxTokens ?? DEFAULT_TOKENS, LEAST_TOKENS));
  const context: ToolContext = { engine, name, actions, room, metrics: new Metrics() };
  return {
    name,
    description: options.description ?? toolDescription(actions),
    inputSchema: inputSchema(actions),
    outputSchema: outputSchema(),
    actions,
    dispatch: async (input, options) => {
      const dispatch = measured ?? (await loadDispatch());
      return await dispatch(options === undefined ? context : { ...context, ...options }, input);
    },
  };
}

let measured: typeof import("./dispatch.js").measured | undefined;

/**
 * What carries calls out is loaded with the first one: a host may list its tool and never be called. Kept here,
 * since looking a module up costs as much as a call.
 */
async function loadDispatch() {
  const loaded = await import("./dispatch.js");
  measured = loaded.measured;
  return measured;
}

function checkActions(actions: readonly Action[]): readonly Action[] {
  const wrong = actions.filter((action) => !isAction(action));
  if (actions.length > 0 && wrong.length === 0) return actions;
  throw new PhasegateError("INVALID_INPUT", `a tool needs actions that there are, not ${wrong.join(", ") || "none"}`, {
    remedy: `Choose from ${ACTION_NAMES.join(", ")}.`,
    details: { field: "actions" },
  });
}
