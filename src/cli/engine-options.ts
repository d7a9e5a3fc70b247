/** The options of the engines of commands, which start nothing, and decide on no steps. */
import { PhasegateError } from "../errors.js";
import type { AttemptLimits } from "../gate/judge.js";
import type { EngineOptions } from "../phased/options.js";
import type { ContentProvider } from "../ports/content-provider.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import type { RoutedEngineOptions } from "../routed/options.js";

/** What a command gives its engines: whom it trusts, limits of attempts, and what it can show besides the logs. */
export type Setup = Partial<Pick<EngineOptions, "approvers" | "hashKey" | "verifiers" | "allowUnsignedApprovals">> &
  Partial<Pick<EngineOptions, "content" | "plans">> &
  Partial<Pick<RoutedEngineOptions, "workflows">> & { readonly limits?: Partial<AttemptLimits> };

/** Returns the options of engines that start nothing, and decide on no steps. */
export function optionsOver(
  storage: StorageAdapter,
  { content = NO_WORKFLOWS, plans, workflows = NO_ROUTED, limits, ...trust }: Setup,
): { readonly phased: EngineOptions; readonly routed: RoutedEngineOptions } {
  // The operator is the host: a server's limit of active sessions is not theirs.
  const shared = { storage, limits: { maxActiveSessions: Number.POSITIVE_INFINITY, ...limits }, ...trust };
  return {
    phased: { ...shared, content, plans },
    routed: { ...shared, workflows, decider: NO_DECIDER },
  };
}

/** Moving a session returns its phase with its text, which no command shows. */
const NO_WORKFLOWS: ContentProvider = {
  list: async () => [],
  definition: async () => undefined,
  text: async () => ({ text: "", revision: "", sources: [], tokens: 0 }),
};

const NO_ROUTED = { list: async () => [], definition: async () => undefined };

const NO_DECIDER = {
  decide: async () => {
    throw new PhasegateError("DECIDER_FAILED", "this command decides on no steps", {
      remedy: "Continue the instance on its server.",
      details: { reason: "unavailable", retryable: false },
    });
  },
};
