/** What waits for a person, with everything that the person has to see before an answer; and the answers. */
import { PhasegateError } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import type { PhaseAttempt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedView } from "../routed/types.js";
import type { JsonObject } from "../workflow/json.js";
import { differencesOf } from "./differences.js";
import type { InspectorSources } from "./sources.js";
import type { AnswerBody, Inbox, Kind, Waiting } from "./wire.js";

/** Returns everything that waits, the oldest request first. */
export async function inboxOf({ engine, routed }: InspectorSources): Promise<Inbox> {
  const found: (Waiting | undefined)[] = [];
  if (engine !== undefined) {
    const asked = [...(await engine.approvals()), ...(await engine.waivers())];
    for (const id of new Set(asked.map(({ sessionId }) => sessionId)))
      found.push(await waitingIn(engine, await engine.getState(id), await engine.history(id)));
  }
  if (routed !== undefined) {
    for await (const id of waitingIds(routed)) found.push(waitingInstance(await routed.status(id)));
  }
  const items = found.flatMap((one) => one ?? []);
  return { items: items.sort((one, other) => (one.askedAt < other.askedAt ? -1 : 1)) };
}

async function* waitingIds(routed: RoutedEngine): AsyncGenerator<string> {
  let cursor: string | undefined;
  do {
    const page = await routed.listInstances({
      status: ["active"],
      limit: 200,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const { sessionId, waitsFor } of page.items) if (waitsFor?.includes("approval")) yield sessionId;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Returns what a phased session waits for a person for; undefined if it waits for nobody. */
export async function waitingIn(
  engine: Engine,
  { sessionId, structure, awaitingApproval, waitsForWaiver }: StateView,
  attempts: readonly PhaseAttempt[],
): Promise<Waiting | undefined> {
  const approval = awaitingApproval ? await engine.getApproval(sessionId) : undefined;
  const waiver = waitsForWaiver ? await engine.getWaiver(sessionId) : undefined;
  const question = approval ?? waiver;
  if (question === undefined) return undefined;
  const before = attempts.findLastIndex(({ phase, status }) => phase === question.phase && status === "failed");
  const common = {
    sessionId,
    kind: "phased",
    workflowType: question.workflowType,
    target: question.target,
    phase: question.phase,
    phaseName: structure.phases.find(({ number }) => number === question.phase)?.name ?? "",
    askedAt: question.askedAt,
    request: question.request,
    ...(question.approvers === undefined ? {} : { approvers: question.approvers }),
    ...beforeOf(attempts[before]),
  } as const;
  if (approval !== undefined) {
    const { prompt, evidence, evidenceHash, verification, warnings } = approval;
    const [then] = before === -1 ? [] : await evidenceOf(engine, sessionId, [before]);
    const differences = then === undefined ? {} : { differences: differencesOf(then, evidence) };
    return {
      ...common,
      what: "approval",
      question: prompt,
      evidence,
      evidenceHash,
      verification,
      warnings,
      ...differences,
    };
  }
  const { fields, reason, requirements } = waiver ?? { fields: [], reason: "", requirements: [] };
  const asked = fields.map((name, index) => ({ name, text: requirements[index] ?? "" }));
  return { ...common, what: "waiver", question: reason, fields: asked, verification: [], warnings: [] };
}

function beforeOf(attempt: PhaseAttempt | undefined): Pick<Waiting, "before"> {
  if (attempt === undefined) return {};
  return { before: { problems: attempt.problems ?? [], notes: attempt.notes ?? [] } };
}

/** Returns the evidence of attempts; undefined for one without, and for the index -1. */
export async function evidenceOf(
  engine: Engine,
  sessionId: string,
  indexes: readonly number[],
): Promise<readonly (JsonObject | undefined)[]> {
  const all = await engine.history(sessionId, { evidence: indexes });
  return indexes.map((index) => all[index]?.evidence);
}

/** Returns what a routed session waits for a person for; undefined if it waits for nobody. */
export function waitingInstance({ awaiting }: RoutedView): Waiting | undefined {
  if (awaiting === undefined) return undefined;
  const { sessionId, workflowType, phase, step, prompt, evidence, evidenceHash, verification, approvers } = awaiting;
  return {
    what: "approval",
    kind: "routed",
    sessionId,
    workflowType,
    target: "",
    phase,
    phaseName: step,
    question: prompt,
    askedAt: awaiting.askedAt,
    request: awaiting.request,
    evidence,
    evidenceHash,
    verification,
    warnings: [],
    ...(approvers === undefined ? {} : { approvers }),
  };
}

/**
 * Passes a person's answer to the engine. The answer names the request that the person saw: if the session asks something
 * else by now, it is refused.
 */
export async function answer(
  { engine, routed }: InspectorSources,
  kind: Kind,
  sessionId: string,
  body: AnswerBody,
): Promise<{ readonly status: string }> {
  const { what, decision, by, note, request, evidenceHash = "", signature } = body;
  const said = { by, ...(note === undefined ? {} : { note }), ...(signature === undefined ? {} : { signature }) };
  if (decision === "deny" && (note === undefined || note.trim() === "")) throw noteMissing();
  if (kind === "routed" || engine === undefined) {
    const view =
      decision === "approve"
        ? await routed?.approve(sessionId, { ...said, evidenceHash })
        : await routed?.deny(sessionId, { ...said, note: note ?? "", evidenceHash });
    return { status: view?.status ?? "" };
  }
  if (what === "waiver") {
    const { granted } =
      decision === "approve"
        ? await engine.waive(sessionId, { ...said, request })
        : await engine.denyWaiver(sessionId, { ...said, note: note ?? "", request });
    return { status: granted ? "granted" : "denied" };
  }
  const { passed } =
    decision === "approve"
      ? await engine.approve(sessionId, { ...said, evidenceHash })
      : await engine.deny(sessionId, { ...said, note: note ?? "", evidenceHash });
  return { status: passed ? "passed" : "refused" };
}

function noteMissing(): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", "a denial needs a note", {
    remedy: "Say what is to be fixed: the agent reads it.",
    details: { field: "note", expected: "a text" },
  });
}

/** Returns the error for what a session does not have. */
export function notThere(what: string, sessionId: string): PhasegateError<"SESSION_NOT_FOUND"> {
  return new PhasegateError("SESSION_NOT_FOUND", `session ${sessionId}: ${what}`, {
    remedy: "Open it from the list of sessions.",
    details: { sessionId },
  });
}
