/**
 * Starts instances of routed workflows. Everything that can fail is done before anything is written, except
 * the decider's choice of the first step.
 */

import { PhasegateError } from "../errors.js";
import { type KeyedRequest, keyedRequest } from "../log/machine.js";
import { requireVerifiers } from "../phased/verify/verify-context.js";
import { canonicalJson, digest } from "../workflow/json.js";
import { nearest, parseSessionId, type SessionId, shown } from "../workflow/names.js";
import type { RoutedDefinition } from "../workflow/routed-definition.js";
import { mergeContext } from "./ask-decider.js";
import { beginStep } from "./judge.js";
import type { RoutedContext } from "./options.js";
import type { RoutedCommit } from "./session.js";
import { answerAfter, settle } from "./settle.js";
import { type RoutedStructure, structureOf } from "./state/events.js";
import type { RoutedResult, StartRoutedRequest } from "./types.js";
import { resultOf } from "./views.js";

/** Starts an instance. */
export async function startRouted(context: RoutedContext, request: StartRoutedRequest): Promise<RoutedResult> {
  const { options, kernel } = context;
  const { workflow, idempotencyKey } = request;
  const definition = await requireDefinition(context, workflow);
  const structure = structureOf(definition);
  await requireGates(structure, context);
  const values = mergeContext({}, request.context ?? {}, options.limits.maxContextBytes).context;
  const keyed = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, [workflow, values]);
  const id = keyed === undefined ? parseSessionId(options.newId()) : keyedId(keyed);
  await checkLimit(context, id, keyed);
  const firstStep = options.firstStep === "first" ? definition.steps[0].name : undefined;
  const command = { type: "start" as const, structure, context: values, digest: digest(canonicalJson(values)) };
  const started = await kernel.execute(
    id,
    async () => {
      if (firstStep === undefined) return { command };
      const owner = { sessionId: id, version: 1, head: { workflow: structure.name, attempts: 0 } };
      const { payloads, ...begun } = await beginStep(context, owner, structure, firstStep);
      return { command: { ...command, firstStep, ...begun }, payloads };
    },
    keyed,
  );
  return resultOf(context, await decidedFirst(context, started), started.replayed);
}

async function requireDefinition({ options }: RoutedContext, name: string): Promise<RoutedDefinition> {
  const definition = typeof name === "string" ? await options.workflows.definition(name) : undefined;
  if (definition !== undefined) return definition;
  const names = (await options.workflows.list()).map((listing) => listing.name);
  const near = typeof name === "string" ? nearest(name, names) : undefined;
  throw new PhasegateError("WORKFLOW_NOT_FOUND", `there is no workflow ${shown(name)}`, {
    remedy: near === undefined ? "List the workflows, and start one of them." : `Did you mean ${near}?`,
    details: { workflowType: String(name), ...(near === undefined ? {} : { nearest: near }) },
  });
}

/** Refuses a workflow with a gate that this host can't check: an instance would be stuck there. */
async function requireGates({ name, steps }: RoutedStructure, { options }: RoutedContext): Promise<void> {
  const phases = steps.flatMap(({ gate }, index) => (gate === undefined ? [] : [{ number: index + 1, gate }]));
  await requireVerifiers({ type: name, phases }, options.verifiers);
}

/** The key replaces the id, so that a caller that never received it finds the same instance. */
function keyedId({ id }: KeyedRequest): SessionId {
  return parseSessionId(`k${id}`);
}

/** A repeated start is not a new session, so it is always allowed. */
async function checkLimit({ options, kernel }: RoutedContext, id: SessionId, keyed: KeyedRequest | undefined) {
  const limit = options.limits.maxActiveSessions;
  if (limit === Number.POSITIVE_INFINITY || (await options.storage.countActive(limit)) < limit) return;
  if (keyed !== undefined && (await kernel.find(id)) !== undefined) return;
  throw new PhasegateError("SESSION_LIMIT", `${limit} sessions are active, which is as many as this host allows`, {
    remedy: "Finish, suspend or delete one first.",
    details: { limit },
  });
}

/**
 * Has the decider choose the first step, if the host wants that; a repeated start returns its choice, or
 * asks again.
 */
async function decidedFirst(context: RoutedContext, started: RoutedCommit & { readonly replayed: boolean }) {
  if (started.head.pending === undefined) return started;
  const answered = started.replayed ? await answerAfter(context, started.sessionId, started.version) : started;
  const { pending, status } = answered.head;
  if (status !== "RUNNING" || pending === undefined) return answered;
  return settle(context, answered, pending);
}
