/**
 * The tools through which clients work on routed workflows: one for each call, or one with an action. The
 * entry file of this folder; what is decided where:
 * - requests.ts: which requests are valid
 * - calls.ts: names, descriptions and published schemas of the calls
 * - table.ts: what each call runs, and what a long answer leaves out
 * - refusals.ts: how wrong requests and errors are answered
 * - shapes.ts and answers.ts: how answers look on the wire
 */

import type { RoutedEngine } from "../../routed/engine.js";
import { dispatch } from "../dispatch.js";
import { maxCharsFor, type ObjectSchema } from "../wire.js";
import {
  ALL_CALLS,
  actionInput,
  answerOutput,
  CALL_TEXTS,
  callInput,
  describe,
  namedCalls,
  type RoutedCallOptions,
} from "./calls.js";
import type { RoutedCall } from "./requests.js";
import { ROUTED, type RoutedToolContext } from "./table.js";

/** An answer of a tool. */
export interface RoutedToolAnswer {
  /** True if the call was refused. */
  readonly isError: boolean;
  /** The answer, or the refusal. */
  readonly body: { readonly [key: string]: unknown };
}

/** A tool that can be registered with any server that takes a name, schemas and a function. */
export interface RoutedTool {
  /** The name that clients call. */
  readonly name: string;
  /** The title for people. */
  readonly title: string;
  /** The description for agents. */
  readonly description: string;
  /** The calls that can be made through it. */
  readonly calls: readonly RoutedCall[];
  /** The JSON Schema of a call. */
  readonly inputSchema: ObjectSchema;
  /** The JSON Schema that all answers share. */
  readonly outputSchema: ObjectSchema;
  /** Executes a call. Never throws and never rejects: every error is an answer. */
  dispatch(input: unknown, options?: RoutedCallOptions): Promise<RoutedToolAnswer>;
}

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

/** The budget for what surrounds a page of a history, in characters. */
const ENVELOPE = 300;

/**
 * Creates the tools.
 * @throws {PhasegateError} `INVALID_INPUT` when a call is unknown, or a name is invalid.
 */
export function createRoutedTools(engine: RoutedEngine, options: RoutedToolsOptions = {}): readonly RoutedTool[] {
  const { tools = "separate", name = "routed_workflow", calls = ALL_CALLS } = options;
  const names = namedCalls(calls, options.names ?? {});
  const maxChars = maxCharsFor(options.maxTokens);
  const shared = { engine, names, maxChars, pageChars: maxChars - ENVELOPE };
  if (tools === "single") return [singleTool({ ...shared, key: "action", only: undefined }, name)];
  return [...names].map(([call, named]) => toolFor({ ...shared, key: "tool", only: call }, call, named));
}

function toolFor(context: RoutedToolContext, call: RoutedCall, name: string): RoutedTool {
  return {
    name,
    title: CALL_TEXTS[call].title,
    description: describe(call, context.names),
    calls: [call],
    inputSchema: callInput(call),
    outputSchema: answerOutput(),
    dispatch: (input, options = {}) => answer({ ...context, ...options }, input),
  };
}

function singleTool(context: RoutedToolContext, name: string): RoutedTool {
  const { names } = context;
  const actions = [...names].map(([call, action]) => `${action}: ${describe(call, names)}`);
  return {
    name,
    title: "Routed workflows",
    description: ["Runs workflows whose next step is decided after each report.", ...actions].join("\n"),
    calls: [...names.keys()],
    inputSchema: actionInput(names),
    outputSchema: answerOutput(),
    dispatch: (input, options = {}) => answer({ ...context, ...options }, input),
  };
}

async function answer(context: RoutedToolContext, input: unknown): Promise<RoutedToolAnswer> {
  const { ok, body } = await dispatch(ROUTED, context, input ?? {});
  return { isError: !ok, body };
}
