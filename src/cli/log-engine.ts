import type { Logger } from "pino";
import { formatDiagnostic } from "../definition/diagnostic.js";
import type { Engine } from "../engine/engine.js";
import type { NotificationName } from "../engine/notifications.js";
import type { ContentProvider } from "../ports/content-provider.js";

/** The notifications that are worth a line at `info`; `phaseEntered` and `gatePassed` come together. */
const NEWS: readonly NotificationName[] = [
  "started",
  "gatePassed",
  "gateFailed",
  "approvalRequested",
  "approved",
  "denied",
  "gateOverridden",
  "phaseSkipped",
  "paused",
  "resumed",
  "retried",
  "rolledBack",
  "migrated",
  "planSynced",
  "planTicked",
  "completed",
  "failed",
  "deleted",
];

/** Writes down what happens to sessions: never evidence, which may hold anything. */
export function logEngine(engine: Engine, log: Logger): void {
  for (const name of NEWS) engine.on(name, (payload) => log.info(withoutContent(payload), name));
  engine.on("phaseEntered", (payload) => log.debug(payload, "phaseEntered"));
  engine.on("conflict", (payload) => log.debug(payload, "conflict"));
  engine.on("planTicksPending", ({ error, ...payload }) => log.warn({ ...payload, err: error }, "planTicksPending"));
  engine.on("security", (payload) => log.warn(payload, "security"));
  engine.on("internalError", ({ operation, error }) => log.error({ operation, err: error }, "internalError"));
}

/** Writes down which workflows there are, and what is wrong with those that can't be started. */
export async function logWorkflows(content: ContentProvider, log: Logger): Promise<void> {
  const listings = await unlessFailing(() => content.list(), log);
  if (listings === undefined) return;
  for (const { type, status, diagnostics } of listings) {
    if (status === "ready") continue;
    const errors = diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
    log.warn({ workflowType: type, errors }, "broken workflow");
  }
  const ready = listings.filter(({ status }) => status === "ready").map(({ type }) => type);
  if (ready.length === 0) log.warn("there is no workflow that can be started");
  log.info({ workflows: ready }, "workflows");
}

/** What lists workflows may fail, now or later: what else is served is no worse for it, and calls tell of it. */
export async function unlessFailing<T>(list: () => Promise<T>, log: Logger): Promise<T | undefined> {
  try {
    return await list();
  } catch (err) {
    log.error({ err }, "the workflows can't be listed");
    return undefined;
  }
}

/** A problem quotes evidence: its field and its kind are enough. */
function withoutContent(payload: object): object {
  if (!("problems" in payload) || !Array.isArray(payload.problems)) return payload;
  return { ...payload, problems: payload.problems.map(({ field, problem }) => ({ field, problem })) };
}
