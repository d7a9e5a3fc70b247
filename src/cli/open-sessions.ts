import { contentUnavailable } from "../adapters/content-answers.js";
import { createEngine, type Engine } from "../engine/engine.js";
import type { EngineOptions } from "../engine/options.js";
import type { ContentProvider } from "../ports/content-provider.js";
import { openState } from "./open-state.js";

/**
 * An engine that looks at sessions, or says a person's word: it needs no workflows, since what a session was started on is
 * in its log.
 */
export async function openSessions(
  state: string,
  trust: Pick<EngineOptions, "approvers" | "hashKey" | "verifiers"> = {},
): Promise<Engine> {
  return createEngine({ storage: await openState(state), content: NO_WORKFLOWS, ...trust });
}

const NO_WORKFLOWS: ContentProvider = {
  list: async () => [],
  definition: async () => undefined,
  text: async (type, part) => {
    throw contentUnavailable(type, part, "texts are not shown here");
  },
};
