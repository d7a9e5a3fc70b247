/** The context of a call of a routed engine: the engine, the names that clients know, and the budget of a page. */

import type { RoutedEngine } from "../../routed/engine.js";
import type { RoutedQuestion } from "../../routed/types.js";
import type { PersonsAnswer } from "../dispatch.js";
import type { RoutedCall } from "./requests.js";

/** The options that a host adds to a call. */
export interface RoutedCallOptions {
  /** Asks a person, if one is present; returns undefined if there is no answer. */
  readonly askPerson?: (question: RoutedQuestion) => Promise<PersonsAnswer | undefined>;
}

/** An interface to a routed engine: MCP's tools, or HTTP. */
export interface RoutedContext extends RoutedCallOptions {
  readonly engine: RoutedEngine;
  /** The calls that clients are given, each under the name that they know it by. */
  readonly names: ReadonlyMap<RoutedCall, string>;
  /** The budget of a page of a history, in characters of JSON. */
  readonly pageChars: number;
}

/** Translates operations of the engine into calls that clients have. */
export function toCalls({ names }: RoutedContext, operations: readonly string[]): string[] {
  return [...names].flatMap(([call, name]) => (operations.includes(call) ? [name] : []));
}
