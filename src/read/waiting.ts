/** What waits for a person, with everything that the person has to see before an answer; and the answers. */

import type { ApprovalSignature } from "../approval/message.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { uncheckedFields } from "../gate/unchecked.js";
import type { ApprovalRequest, AwaitedApproval } from "../phased/approval/ledger.js";
import type { ApprovalResult } from "../phased/approval/requests.js";
import type { WaiverRequest, WaiverResult } from "../phased/approval/waivers.js";
import type { Engine } from "../phased/engine.js";
import type { PhaseAttempt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedQuestion, RoutedView } from "../routed/types.js";
import { RecentMap } from "../workflow/cache.js";
import { defined, type JsonObject } from "../workflow/json.js";
import { differencesOf } from "./differences.js";
import { type Inbox, type Kind, type Waiting, type WaitingLine, waitingLine } from "./model.js";
import type { InspectorSources } from "./sources.js";

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
  return waitingLine.parse({ ...waiting, question: waiting.question.slice(0, QUESTION_MAX) });
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
    const page = await routed.listSessions(defined({ status: ["active"], limit: 200, cursor }));
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
  const asked = awaitingApproval || waitsForWaiver ? await askedBy({ engine }, "phased", sessionId) : undefined;
  if (asked === undefined || asked.what === "step") return undefined;
  const { workflowType, target, phase, askedAt, request, approvers } = asked.question;
  const at = attempts.findLastIndex((attempt) => attempt.phase === phase && attempt.status === "failed");
  const { problems = [], notes = [], verification = [] }: Partial<PhaseAttempt> = attempts[at] ?? {};
  const [submitted] = at === -1 ? [] : await evidenceOf(engine, sessionId, [at]);
  const common = {
    kind: "phased",
    ...{ sessionId, workflowType, target, phase, askedAt, request, approvers },
    phaseName: structure.phases.find(({ number }) => number === phase)?.name ?? "",
    before: at === -1 ? undefined : { problems, notes },
  } as const;
  if (asked.what === "phase") {
    const differences = submitted && differencesOf(submitted, asked.question.evidence);
    return { ...common, ...approvalOf(asked.question), warnings: asked.question.warnings, differences };
  }
  const { fields, reason, requirements } = asked.question;
  return {
    ...common,
    what: "waiver",
    ...{ question: reason, evidence: submitted, verification, warnings: [] },
    fields: fields.map((name, index) => ({ name, text: requirements[index] ?? "" })),
  };
}

/** Returns the members of an approval, of a phase or a step. */
function approvalOf({ prompt, evidence, evidenceHash, verification }: ApprovalRequest | RoutedQuestion) {
  const unchecked = uncheckedFields(evidence, verification);
  return { what: "approval", question: prompt, evidence, evidenceHash, unchecked, verification } as const;
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
  const { sessionId, workflowType, phase, step, askedAt, request, approvers } = awaiting;
  return {
    ...{ kind: "routed", sessionId, workflowType, target: "", phase, phaseName: step, askedAt, request, approvers },
    ...approvalOf(awaiting),
    warnings: [],
  };
}

/** The question of a session, as it is signed. */
export type Asked =
  | { readonly what: "phase"; readonly question: ApprovalRequest }
  | { readonly what: "step"; readonly question: RoutedQuestion }
  | { readonly what: "waiver"; readonly question: WaiverRequest };

/** Returns the question that a session asks now; undefined if it asks nothing. */
export async function askedBy(
  { engine, routed }: InspectorSources,
  kind: Kind,
  sessionId: string,
): Promise<Asked | undefined> {
  if (kind === "routed") {
    const question = (await routed?.session(sessionId).state())?.awaiting;
    return question && { what: "step", question };
  }
  const approval = await engine?.session(sessionId).approval();
  if (approval !== undefined) return { what: "phase", question: approval };
  const waiver = await engine?.session(sessionId).waiver();
  return waiver && { what: "waiver", question: waiver };
}

/** A person's answer, with the hash of the evidence that the person has seen if it is about some. */
export interface Decision {
  readonly decision: "approve" | "deny";
  readonly by: string;
  readonly note?: string | undefined;
  readonly signature?: ApprovalSignature | undefined;
  readonly evidenceHash?: string | undefined;
}

export type Answered =
  | { readonly what: "phase"; readonly result: ApprovalResult }
  | { readonly what: "step"; readonly result: RoutedView }
  | { readonly what: "waiver"; readonly result: WaiverResult };

/** Passes a person's answer to the engine. */
export async function answer(
  { engine, routed }: InspectorSources,
  { what, question: { sessionId, request } }: Asked,
  { decision, by, note = "", signature, evidenceHash = "" }: Decision,
): Promise<Answered> {
  const isApproved = decision === "approve";
  if (!isApproved && note.trim() === "") throw noteMissing();
  const said = defined({ by, signature, note: note === "" ? undefined : note });
  const denial = { ...said, note };
  const seen = { evidenceHash };
  if (what === "step" && routed !== undefined) {
    const approving = isApproved
      ? routed.session(sessionId).approve({ ...said, ...seen })
      : routed.session(sessionId).deny({ ...denial, ...seen });
    return { what, result: await approving };
  }
  if (what === "step" || engine === undefined) throw askedOtherwise(sessionId);
  if (what === "waiver") {
    const waiving = isApproved
      ? engine.session(sessionId).waive({ ...said, request })
      : engine.session(sessionId).denyWaiver({ ...denial, request });
    return { what, result: await waiving };
  }
  const approving = isApproved
    ? engine.session(sessionId).approve({ ...said, ...seen })
    : engine.session(sessionId).deny({ ...denial, ...seen });
  return { what, result: await approving };
}

function noteMissing(): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", "a denial needs a note", {
    remedy: "Say what is to be fixed: the agent reads it.",
    details: { field: "note", expected: "a text" },
  });
}

export function askedOtherwise(sessionId: string): PhasegateError<"CONFLICT"> {
  return new PhasegateError("CONFLICT", `session ${sessionId} does not ask that any more`, {
    remedy: "Look at what it asks now, if anything, and answer that.",
    details: { sessionId },
  });
}
