/** What waits for a person, with everything that the person has to see before an answer; and the answers. */
import type { ApprovalQuestion, WaiverQuestion } from "../approval/message.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { uncheckedFields } from "../gate/unchecked.js";
import type { AwaitedApproval } from "../phased/approval/ledger.js";
import type { Engine } from "../phased/engine.js";
import type { PhaseAttempt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedView } from "../routed/types.js";
import { RecentMap } from "../workflow/cache.js";
import type { JsonObject } from "../workflow/json.js";
import { differencesOf } from "./differences.js";
import type { InspectorSources } from "./sources.js";
import type { AnswerBody, Inbox, Kind, Waiting, WaitingLine } from "./wire.js";

/** The characters of a question that the inbox shows. */
const QUESTION_MAX = 500;

/** Returns everything that waits, the oldest request first: who asks what, without the evidence. */
async function inboxOf({ engine, routed }: InspectorSources): Promise<Inbox> {
  const items: WaitingLine[] = [];
  if (engine !== undefined) {
    for (const { prompt, ...asked } of await engine.approvals())
      items.push(...(await phasedLine(engine, asked, "approval", prompt)));
    for (const { reason, ...asked } of await engine.waivers())
      items.push(...(await phasedLine(engine, asked, "waiver", reason)));
  }
  if (routed !== undefined) {
    for await (const id of waitingIds(routed)) {
      const waiting = waitingInstance(await routed.session(id).state());
      if (waiting !== undefined) items.push(lineOf(waiting));
    }
  }
  return { items: items.sort((one, other) => (one.askedAt < other.askedAt ? -1 : 1)) };
}

/** As many readers are remembered. One that is forgotten reads for itself. */
const READERS_MAX = 1000;

/** Reads the inbox once for all who ask at the same time and see the same: it looks at every active session. */
export class Inboxes {
  readonly #reads = new RecentMap<string, () => Promise<Inbox>>(READERS_MAX);

  /** `who` names those who may see all that is in these sources, and nothing else. */
  read(who: string, sources: InspectorSources): Promise<Inbox> {
    const read = this.#reads.get(who) ?? shared(() => inboxOf(sources));
    this.#reads.set(who, read);
    return read();
  }
}

/** Of the callers that come while it runs, all get the next run: none gets what is older than its call. */
function shared<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> | undefined;
  let next: Promise<T> | undefined;
  const begin = () => {
    next = undefined;
    const result = run();
    const ended = result
      .catch(() => {})
      .then(() => {
        if (running === ended) running = undefined;
      });
    running = ended;
    return result;
  };
  return () => {
    if (running === undefined) return begin();
    next ??= running.then(begin);
    return next;
  };
}

/** Returns a request's line; none if the session is gone by now. */
async function phasedLine(
  engine: Engine,
  asked: Pick<AwaitedApproval, "sessionId" | "workflowType" | "phase" | "approvers" | "askedAt" | "request">,
  what: WaitingLine["what"],
  question: string,
): Promise<readonly WaitingLine[]> {
  try {
    const { head, structure } = await engine.session(asked.sessionId).state();
    const phaseName = structure.phases.find(({ number }) => number === asked.phase)?.name ?? "";
    return [lineOf({ ...asked, kind: "phased", what, question, target: head.target, phaseName })];
  } catch (error) {
    if (isPhasegateError(error, "SESSION_NOT_FOUND")) return [];
    throw error;
  }
}

function lineOf(waiting: WaitingLine): WaitingLine {
  const { what, kind, sessionId, workflowType, target, phase, phaseName, question, approvers, askedAt, request } =
    waiting;
  return {
    ...{ what, kind, sessionId, workflowType, target, phase, phaseName, askedAt, request },
    question: question.slice(0, QUESTION_MAX),
    ...(approvers === undefined ? {} : { approvers }),
  };
}

/** Returns what a session waits for a person for; undefined if it waits for nobody. */
export async function waitingOf(
  { engine, routed }: InspectorSources,
  kind: Kind,
  sessionId: string,
): Promise<Waiting | undefined> {
  if (kind === "routed") return routed && waitingInstance(await routed.session(sessionId).state());
  if (kind !== "phased" || engine === undefined) return undefined;
  return waitingIn(engine, await engine.session(sessionId).state(), await engine.session(sessionId).history());
}

async function* waitingIds(routed: RoutedEngine): AsyncGenerator<string> {
  let cursor: string | undefined;
  do {
    const page = await routed.listSessions({
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
  const approval = awaitingApproval ? await engine.session(sessionId).approval() : undefined;
  const waiver = waitsForWaiver ? await engine.session(sessionId).waiver() : undefined;
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
      unchecked: uncheckedFields(evidence, verification),
      verification,
      warnings,
      ...differences,
    };
  }
  const { fields, reason, requirements } = waiver ?? { fields: [], reason: "", requirements: [] };
  const asked = fields.map((name, index) => ({ name, text: requirements[index] ?? "" }));
  const verification = attempts[before]?.verification ?? [];
  const [evidence] = before === -1 ? [] : await evidenceOf(engine, sessionId, [before]);
  const submitted = evidence === undefined ? {} : { evidence };
  return { ...common, what: "waiver", question: reason, fields: asked, ...submitted, verification, warnings: [] };
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
  const all = await engine.session(sessionId).history({ evidence: indexes });
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
    unchecked: uncheckedFields(evidence, verification),
    verification,
    warnings: [],
    ...(approvers === undefined ? {} : { approvers }),
  };
}

/** Returns the question that a session asks now. */
export async function questionOf(
  { engine, routed }: InspectorSources,
  kind: Kind,
  sessionId: string,
): Promise<ApprovalQuestion | WaiverQuestion | undefined> {
  if (kind === "routed") return (await routed?.session(sessionId).state())?.awaiting;
  return (await engine?.session(sessionId).approval()) ?? (await engine?.session(sessionId).waiver());
}

/**
 * Passes a person's answer to the engine. The answer names the request that the person saw: if the session asks something
 * else by now, it is refused, even if that is about the same evidence.
 */
export async function answer(
  sources: InspectorSources,
  kind: Kind,
  sessionId: string,
  body: AnswerBody,
): Promise<{ readonly status: string }> {
  const { what, decision, by, note, request, evidenceHash = "", signature } = body;
  const { engine, routed } = sources;
  if ((await questionOf(sources, kind, sessionId))?.request !== request) throw askedOtherwise(sessionId);
  const said = { by, ...(note === undefined ? {} : { note }), ...(signature === undefined ? {} : { signature }) };
  if (decision === "deny" && (note === undefined || note.trim() === "")) throw noteMissing();
  if (kind === "routed" || engine === undefined) {
    const view =
      decision === "approve"
        ? await routed?.session(sessionId).approve({ ...said, evidenceHash })
        : await routed?.session(sessionId).deny({ ...said, note: note ?? "", evidenceHash });
    return { status: view?.status ?? "" };
  }
  if (what === "waiver") {
    const { granted } =
      decision === "approve"
        ? await engine.session(sessionId).waive({ ...said, request })
        : await engine.session(sessionId).denyWaiver({ ...said, note: note ?? "", request });
    return { status: granted ? "granted" : "denied" };
  }
  const { passed } =
    decision === "approve"
      ? await engine.session(sessionId).approve({ ...said, evidenceHash })
      : await engine.session(sessionId).deny({ ...said, note: note ?? "", evidenceHash });
  return { status: passed ? "passed" : "refused" };
}

function noteMissing(): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", "a denial needs a note", {
    remedy: "Say what is to be fixed: the agent reads it.",
    details: { field: "note", expected: "a text" },
  });
}

/** Returns the error for an answer to a request that the session does not make any more. */
export function askedOtherwise(sessionId: string): PhasegateError<"CONFLICT"> {
  return new PhasegateError("CONFLICT", `session ${sessionId} does not ask that any more`, {
    remedy: "Look at what it asks now, if anything, and answer that.",
    details: { sessionId },
  });
}

/** Returns the error for what a session does not have. */
export function notThere(what: string, sessionId: string): PhasegateError<"SESSION_NOT_FOUND"> {
  return new PhasegateError("SESSION_NOT_FOUND", `session ${sessionId}: ${what}`, {
    remedy: "Open it from the list of sessions.",
    details: { sessionId },
  });
}
