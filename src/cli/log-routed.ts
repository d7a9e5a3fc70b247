import type { Logger } from "pino";
import { formatDiagnostic } from "../definition/diagnostic.js";
import type { RoutedNotificationName } from "../routed/engine/notifications.js";
import type { RoutedEngine } from "../routed/engine/routed-engine.js";
import { unlessFailing } from "./log-engine.js";

/** The notifications that are worth a line at `info`. */
const NEWS: readonly RoutedNotificationName[] = [
  "started",
  "reported",
  "decided",
  "approvalRequested",
  "approved",
  "denied",
  "suspended",
  "retried",
  "cancelled",
  "completed",
  "deleted",
];

/** Writes down what happens to instances: never reports or contexts, which may hold anything. */
export function logRouted(engine: RoutedEngine, log: Logger): void {
  for (const name of NEWS) engine.on(name, (payload) => log.info(payload, name));
  engine.on("gateRefused", ({ problems, ...about }) =>
    log.info({ ...about, problems: problems.map(({ field, problem }) => ({ field, problem })) }, "gateRefused"),
  );
  engine.on("failed", (payload) => log.warn(payload, "failed"));
  engine.on("conflict", (payload) => log.debug(payload, "conflict"));
  engine.on("security", (payload) => log.warn(payload, "security"));
  engine.on("internalError", ({ operation, error }) => log.error({ operation, err: error }, "internalError"));
}

/** Writes down which routed workflows there are, and what is wrong with those that can't be started. */
export async function logRoutedWorkflows(engine: RoutedEngine, log: Logger): Promise<void> {
  const listings = await unlessFailing(() => engine.listWorkflows(), log);
  if (listings === undefined) return;
  for (const { name, status, diagnostics } of listings) {
    if (status === "ready") continue;
    const errors = diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
    log.warn({ workflow: name, errors }, "broken workflow");
  }
  const ready = listings.flatMap(({ name, status }) => (status === "ready" ? [name] : []));
  if (ready.length === 0) log.warn("there is no routed workflow that can be started");
  log.info({ workflows: ready }, "routed workflows");
}
