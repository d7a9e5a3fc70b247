/**
 * The tools through which clients work on routed workflows: one for each call, or one with an action. The
 * entry file of this folder; what is decided where:
 * - requests.ts: which requests are valid, and the code of each error on the wire
 * - carry-out.ts: how a call is executed, and how its answer is kept within its budget
 * - errors.ts: what is shown of an error
 * - names.ts: names and descriptions of the calls
 * - shapes.ts and answers.ts: how answers look on the wire
 */

import type { RoutedEngine } from "../../routed/engine.js";
import { isJsonObject } from "../../workflow/json.js";
import { nearest, shown } from "../../workflow/names.js";
import { charactersFor } from "../paging.js";
import type { WireObject } from "../wire-object.js";
import { answerInRoom, type BoundedFace } from "./carry-out.js";
import { actionInput, answerOutput, callInput, type RoutedTool, type RoutedToolAnswer } from "./face.js";
import { ALL_CALLS, CALL_TEXTS, describe, namedCalls } from "./names.js";
import type { RoutedCall } from "./requests.js";

/** The options of routed tools. */
export interface RoutedToolsOptions {
  /** One tool for each call, or one tool with an action. Default: one for each call. */
  readonly tools?: "separate" | "single";
  /** The name of the one tool. Default: `routed_workflow`. */
  readonly name?: string;
  /** Other names for calls: of the tools, or of the one tool's actions. */
  readonly names?: Partial<Readonly<Record<RoutedCall, string>>>;
  /** The calls that clients may use. Default: all. */
  readonly calls?: readonly RoutedCall[];
  /** The longest answer, in tokens of four characters. Default 6,000, at least 1,000. */
  readonly maxTokens?: number;
}

const DEFAULT_TOKENS = 6000;
const LEAST_TOKENS = 1000;

/** The budget for what surrounds a page of a history. */
const ENVELOPE = 300;

/**
 * Creates the tools.
 * @throws {PhasegateError} `INVALID_INPUT` when a call is unknown, or a name is invalid.
 */
export function createRoutedTools(engine: RoutedEngine, options: RoutedToolsOptions = {}): readonly RoutedTool[] {
  const { tools = "separate", name = "routed_workflow", names: given = {}, calls = ALL_CALLS } = options;
  const names = namedCalls(calls, given);
  const room = charactersFor(Math.max(options.maxTokens ?? DEFAULT_TOKENS, LEAST_TOKENS));
  const key = tools === "single" ? "action" : "tool";
  const example = (call: RoutedCall, fields: WireObject) => {
    const called = names.get(call);
    return called === undefined ? undefined : { [key]: called, ...fields };
  };
  const face = { engine, names, room, pageRoom: room - ENVELOPE, example };
  return tools === "single" ? [singleTool(face, name)] : [...names].map(([call, named]) => toolFor(face, call, named));
}

function toolFor(face: BoundedFace, call: RoutedCall, name: string): RoutedTool {
  return {
    name,
    title: CALL_TEXTS[call].title,
    description: describe(call, face.names),
    calls: [call],
    inputSchema: callInput(call),
    outputSchema: answerOutput(),
    dispatch: (input, options = {}) => answerInRoom({ ...face, ...options }, call, input ?? {}),
  };
}

function singleTool(face: BoundedFace, name: string): RoutedTool {
  const { names } = face;
  const actions = [...names].map(([call, action]) => `${action}: ${describe(call, names)}`);
  return {
    name,
    title: "Routed workflows",
    description: ["Runs workflows whose next step is decided after each report.", ...actions].join("\n"),
    calls: [...names.keys()],
    inputSchema: actionInput(names),
    outputSchema: answerOutput(),
    dispatch: async (input, options = {}) => {
      const { action, ...fields }: WireObject = isJsonObject(input) ? input : {};
      const call = [...names].find(([, named]) => named === action)?.[0];
      return call === undefined ? noAction(action, names) : answerInRoom({ ...face, ...options }, call, fields);
    },
  };
}

function noAction(action: unknown, names: ReadonlyMap<RoutedCall, string>): RoutedToolAnswer {
  const valid = [...names.values()];
  const near = typeof action === "string" ? nearest(action, valid) : undefined;
  const missing = action === undefined || action === null;
  const remedy = near === undefined ? `Use one of ${valid.join(", ")}.` : `Did you mean ${near}?`;
  return {
    isError: true,
    body: {
      error_code: missing ? "MISSING_FIELD" : "INVALID_FIELD",
      message: missing ? "Missing required field: action." : `Unknown action: ${shown(action)}.`,
      details: { field: "action", remedy },
    },
  };
}
