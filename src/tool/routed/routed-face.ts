import type { RoutedEngine } from "../../routed/engine/routed-engine.js";
import type { RoutedQuestion } from "../../routed/engine/types.js";
import type { PersonsAnswer } from "../tool-context.js";
import type { RoutedCall } from "./requests.js";

/** What a host gives a call beside the client's input. */
export interface RoutedCallOptions {
  /** Asks the person who is there, if one is; undefined if there is no answer. */
  readonly askPerson?: (question: RoutedQuestion) => Promise<PersonsAnswer | undefined>;
}

/** Through what a routed engine is called: MCP's tools, or HTTP. */
export interface RoutedFace extends RoutedCallOptions {
  readonly engine: RoutedEngine;
  /** The calls that clients are given, each under the name that they know it by. */
  readonly names: ReadonlyMap<RoutedCall, string>;
  /** How many characters of JSON a page of a history may have. */
  readonly pageRoom: number;
}

/** Engine's words for what may be done, as the calls that clients are given for it. */
export function toCall({ names }: RoutedFace, operations: readonly string[]): string[] {
  return [...names].flatMap(([call, name]) => (operations.includes(call) ? [name] : []));
}
