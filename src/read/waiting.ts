/** What waits for a person, with everything that the person has to see before an answer; and the answers. */

import type { ApprovalSignature } from "../approval/message.js";
import { BROKEN, type BrokenSession, type ListedSession } from "../engine/lists.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { uncheckedFields } from "../gate/unchecked.js";
import type { ApprovalRequest } from "../phased/approval/ledger.js";
import type { ApprovalResult, WaiverRequest, WaiverResult } from "../phased/approval/requests.js";
import { LIVING } from "../phased/options.js";
import type { Session } from "../phased/session.js";
import { isAttemptAt, type PhaseAttempt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";
import { pagesOf, type SessionStatus } from "../ports/storage-adapter.js";
import type { RoutedSession } from "../routed/session.js";
import type { RoutedQuestion, RoutedView } from "../routed/types.js";
import { RecentMap } from "../workflow/cache.js";
import type { JsonObject } from "../workflow/json.js";
import { differencesOf } from "./differences.js";
import { type Inbox, type Kind, type Waiting, type WaitingLine, waitingLine } from "./model.js";
import type { SessionIndex } from "./session-index.js";
import { type InspectorSources, type Source, sourcesOf } from "./sources.js";

const QUESTION_MAX = 500;

/** An inbox, with the sessions that can't be shown: they may wait, too. */
export interface WholeInbox extends Inbox {
  readonly broken: readonly BrokenSession[];
}

/** Sessions that can't be shown, by their ids. */
type Broken = Map<string, BrokenSession>;

/** Returns everything that waits, the oldest request first: who asks what, without the evidence. It looks at every session. */
export async function readInbox(engines: InspectorSources): Promise<WholeInbox> {
  // A log that can't be read is listed with the sessions of each kind.
  const broken: Broken = new Map();
  const sessions = sessionsOf(sourcesOf(engines), LIVING, broken);
  return { ...(await inboxAmong(engines, sessions, broken)), broken: [...broken.values()] };
}

/** Returns the same by an index; where there are too many sessions for that, by a look at every active one. */
async function inboxOf(engines: InspectorSources, sources: readonly Source[], index: SessionIndex): Promise<Inbox> {
  await index.read();
  return inboxAmong(engines, index.state === "whole" ? index.sessions : sessionsOf(sources, ["active"]));
}

async function inboxAmong(
  engines: InspectorSources,
  sessions: Iterable<ListedSession> | AsyncIterable<ListedSession>,
  broken: Broken = new Map(),
): Promise<Inbox> {
  const items: WaitingLine[] = [];
  for await (const session of sessions) {
    if (session.waitsFor?.some((what) => what !== "host") !== true) continue;
    const line = await lineOf(engines, session, broken);
    if (line !== undefined) items.push(line);
  }
  return { items: items.sort((one, other) => (one.askedAt < other.askedAt ? -1 : 1)) };
}

/** Yields the sessions in these states, and adds to `broken` those that can't be shown. */
async function* sessionsOf(
  sources: readonly Source[],
  status: readonly SessionStatus[],
  broken: Broken = new Map(),
): AsyncGenerator<ListedSession> {
  for (const { list } of sources) {
    for await (const page of pagesOf(list, { status, limit: 200 })) {
      for (const one of page.broken ?? []) broken.set(one.sessionId, one);
      yield* page.items;
    }
  }
}

/** Returns what a session asks now; undefined if it was answered meanwhile, is gone, or can't be shown any more. */
async function lineOf(
  { engine, routed }: InspectorSources,
  { kind, sessionId, workflowType, workflowName = workflowType, phaseName = "", owner }: ListedSession,
  broken: Broken,
): Promise<WaitingLine | undefined> {
  try {
    if (kind === "routed") {
      const waiting = routed && waitingInstance(await routed.session(sessionId).state());
      return waiting && shortened({ ...waiting, owner });
    }
    const asked = engine && (await askedIn(engine.session(sessionId)));
    if (asked === undefined) return undefined;
    const common = { ...asked.question, kind: "phased", workflowName, phaseName, owner } as const;
    if (asked.what === "waiver") return shortened({ ...common, what: "waiver", question: asked.question.reason });
    return shortened({ ...common, what: "approval", question: asked.question.prompt });
  } catch (error) {
    if (!isPhasegateError(error) || (error.code !== "SESSION_NOT_FOUND" && !BROKEN.has(error.code))) throw error;
    if (BROKEN.has(error.code)) broken.set(sessionId, { sessionId, code: error.code, message: error.message });
    return undefined;
  }
}

function nameOf(state: StateView, phase: number): string {
  return state.structure.phases.find(({ number }) => number === phase)?.name ?? "";
}

/** As many readers are remembered. One that is forgotten reads for itself. */
const READERS_MAX = 1000;

interface Reader {
  indexNow: () => SessionIndex;
  readonly read: () => Promise<Inbox>;
}

/** Reads the inbox once for all who ask at the same time and see the same. */
export class Inboxes {
  readonly #readers = new RecentMap<string, Reader>(READERS_MAX);

  /** `who` names those who may see all that is in these sources, and nothing else; `indexNow` returns those sessions. */
  read(
    who: string,
    engines: InspectorSources,
    sources: readonly Source[],
    indexNow: () => SessionIndex,
  ): Promise<Inbox> {
    const known = this.#readers.get(who);
    // Of those who see the same, the last one may have an index.
    const reader: Reader = known ?? { indexNow, read: shared(() => inboxOf(engines, sources, reader.indexNow())) };
    reader.indexNow = indexNow;
    this.#readers.set(who, reader);
    return reader.read();
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

function shortened(waiting: WaitingLine): WaitingLine {
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
  const session = engine.session(sessionId);
  return waitingIn(session, await session.state(), await session.history());
}

/** Returns the line of the inbox for a session; undefined if it waits for nobody. */
export async function lineIn(
  sources: InspectorSources,
  kind: Kind,
  sessionId: string,
): Promise<WaitingLine | undefined> {
  const waiting = await waitingOf(sources, kind, sessionId);
  return waiting && shortened(waiting);
}

/** Returns what a phased session waits for a person for; undefined if it waits for nobody. */
export async function waitingIn(
  session: Session,
  state: StateView,
  attempts: readonly PhaseAttempt[],
): Promise<Waiting | undefined> {
  const asked = state.awaitingApproval || state.waitsForWaiver ? await askedIn(session) : undefined;
  if (asked === undefined) return undefined;
  const { sessionId, workflowType, target, phase, askedAt, request, approvers } = asked.question;
  const at = attempts.findLastIndex((attempt) => isAttemptAt(attempt, phase) && attempt.status === "failed");
  const { problems = [], notes = [], verification = [] }: Partial<PhaseAttempt> = attempts[at] ?? {};
  const [submitted] = at === -1 ? [] : await evidenceOf(session, [at]);
  const common = {
    kind: "phased",
    ...{ sessionId, workflowType, target, phase, askedAt, request, approvers },
    owner: state.head.owner?.name,
    workflowName: state.structure.name,
    phaseName: nameOf(state, phase),
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
  session: Session,
  indexes: readonly number[],
): Promise<readonly (JsonObject | undefined)[]> {
  const all = await session.history({ evidence: indexes });
  return indexes.map((index) => all[index]?.evidence);
}

/** Returns what a routed session waits for a person for; undefined if it waits for nobody. */
export function waitingInstance({ awaiting }: RoutedView): Waiting | undefined {
  if (awaiting === undefined) return undefined;
  const { sessionId, workflowType, phase, step, askedAt, request, approvers } = awaiting;
  return {
    ...{ kind: "routed", sessionId, workflowType, workflowName: workflowType, target: "" },
    ...{ phase, phaseName: step, askedAt, request, approvers },
    ...approvalOf(awaiting),
    warnings: [],
  };
}

/** The question of a session, as it is signed, and the session that takes the answer. */
export type Asked = AskedPhase | { what: "step"; question: RoutedQuestion; session: RoutedSession };

type AskedPhase =
  | { readonly what: "phase"; readonly question: ApprovalRequest; readonly session: Session }
  | { readonly what: "waiver"; readonly question: WaiverRequest; readonly session: Session };

/** Returns the question that a session asks now; undefined if it asks nothing. */
export async function askedBy(
  { engine, routed }: InspectorSources,
  kind: Kind,
  sessionId: string,
): Promise<Asked | undefined> {
  if (kind !== "routed") return engine && askedIn(engine.session(sessionId));
  const session = routed?.session(sessionId);
  const question = (await session?.state())?.awaiting;
  return session && question && { what: "step", question, session };
}

async function askedIn(session: Session): Promise<AskedPhase | undefined> {
  const approval = await session.approval();
  if (approval !== undefined) return { what: "phase", question: approval, session };
  const waiver = await session.waiver();
  return waiver && { what: "waiver", question: waiver, session };
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
  { what, question, session }: Asked,
  { decision, by, note = "", signature, evidenceHash = "" }: Decision,
): Promise<Answered> {
  const isApproved = decision === "approve";
  if (!isApproved && note.trim() === "") {
    throw new PhasegateError("INVALID_INPUT", "a denial needs a note", {
      remedy: "Say what is to be fixed: the agent reads it.",
      details: { field: "note", expected: "a text" },
    });
  }
  const said = { by, signature, note: note === "" ? undefined : note };
  if (what === "waiver") {
    const { request } = question;
    const waiving = isApproved ? session.waive({ ...said, request }) : session.denyWaiver({ ...said, note, request });
    return { what, result: await waiving };
  }
  const approval = { ...said, evidenceHash };
  const denial = { ...approval, note };
  if (what === "step") return { what, result: await (isApproved ? session.approve(approval) : session.deny(denial)) };
  return { what, result: await (isApproved ? session.approve(approval) : session.deny(denial)) };
}

export function askedOtherwise(sessionId: string): PhasegateError<"CONFLICT"> {
  return new PhasegateError("CONFLICT", `session ${sessionId} does not ask that any more`, {
    remedy: "Look at what it asks now, if anything, and answer that.",
    details: { sessionId },
  });
}
