/**
 * What people are shown of sessions, as JSON: the command line, the inspector's API and its page have it from here. What an
 * engine says of an attempt, a check or a phase travels whole: a new member of it is shown without another line here.
 */
import * as z from "zod/mini";
import type { BrokenSession, ListedSession as EngineSession } from "../engine/lists.js";
import type { Problem } from "../gate/verdict.js";
import type { Drawing } from "../graph/graph.js";
import type { SessionAudit } from "../phased/approval/ledger.js";
import type { ChildrenView } from "../phased/children.js";
import type { Parent, Verification } from "../phased/state/events.js";
import type { AttemptNote, PhaseAttempt } from "../phased/state/history.js";
import type { PhaseStatistics, WorkflowStatistics } from "../phased/sums.js";
import type { RoutedAudit } from "../routed/approvals.js";
import type { RoutedEntry } from "../routed/state/history.js";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  storedObjectSchema,
  storedValueSchema,
} from "../workflow/json.js";
import type { RecordedEntry } from "../workspace/session/machine.js";
import { STANDINGS } from "./standing.js";

/** A value of an engine, passed on as it is. */
const whole = <T extends object>() => z.custom<T>(isJsonObject, "expected an object");
const list = <T extends z.ZodMiniType>(item: T) => z.readonly(z.array(item));
const text = z.string();
const maybeText = z.optional(text);
const number = z.number();

export const KINDS = ["phased", "routed", "recorded"] as const;
const kind = z.enum(KINDS);
export type Kind = z.infer<typeof kind>;

/** A session in a list, and what people have waived in it. */
export interface ListedSession extends EngineSession {
  /** Who has waived what, at phases that it has passed or is in; missing if nothing was waived. */
  readonly waivers?: readonly { readonly fields: readonly string[]; readonly by: string }[];
}

const row = whole<ListedSession>();
const broken = whole<BrokenSession>();

/** In the order that was asked for, of the sessions that are read. */
export const sessionList = z.object({
  items: list(row),
  /** Continues the list; missing at its end. */
  cursor: maybeText,
  /** The number of matches. */
  total: number,
  /** How many there are with the other filters, however they stand; `broken` without any filter. */
  counts: z.object({ all: number, needs_you: number, failed: number, refused: number, stuck: number, broken: number }),
  /** Sessions that can't be shown, the first of them, whatever the filters are. */
  broken: list(broken),
  /** How many sessions are read, and whether others are still being read, or are too many to be read: the oldest. */
  read: z.object({ state: z.enum(["reading", "whole", "cut"]), sessions: number }),
});
export type SessionList = z.infer<typeof sessionList>;

/** A value that is not as it was. Long texts are given as a difference of lines. */
const difference = z.object({
  /** With dots. */
  path: text,
  before: maybeText,
  after: maybeText,
  /** Each with ` `, `-` or `+` before it; `…` for lines that are left out. */
  lines: z.optional(list(text)),
});
export type Difference = z.infer<typeof difference>;

const attempt = z.intersection(whole<Omit<PhaseAttempt, "evidence">>(), z.object({ index: number }));
/** An attempt without its evidence, and its position among all attempts, from 0. */
export type AttemptLine = z.infer<typeof attempt>;

/** Newest first. */
export const attemptList = z.object({ items: list(attempt), cursor: maybeText, total: number });
export type AttemptList = z.infer<typeof attemptList>;

export const attemptDetail = z.intersection(
  attempt,
  z.object({
    /** What was submitted; missing while nothing is. */
    evidence: z.optional(storedObjectSchema),
    /** What changed since the attempt before at the same phase; missing for the first one. */
    differences: z.optional(list(difference)),
    /** What later phases get of the phase, where that is not the evidence itself. */
    artifact: z.optional(storedValueSchema),
  }),
);
export type AttemptDetail = z.infer<typeof attemptDetail>;

/** A commit in words: what happened, and why. */
const commit = z.object({ version: number, at: text, hash: text, events: list(text), note: maybeText });
export type CommitLine = z.infer<typeof commit>;

/** Newest first. */
export const commitList = z.object({ items: list(commit), cursor: maybeText, total: number });
export type CommitList = z.infer<typeof commitList>;

/** Who asks a person for what. */
export const waitingLine = z.object({
  what: z.enum(["approval", "waiver"]),
  sessionId: text,
  kind,
  workflowType: text,
  workflowName: text,
  target: text,
  phase: number,
  phaseName: text,
  /** The question, or the agent's reason; cut in the inbox. */
  question: text,
  /** Who may answer; anyone that the host accepts if missing. */
  approvers: z.optional(list(text)),
  askedAt: text,
  /** Whose session it is: their agent asks. Missing if nobody was recorded. */
  owner: maybeText,
  /** Names the request: an answer must name it again. */
  request: text,
});
export type WaitingLine = z.infer<typeof waitingLine>;

/** Oldest request first. */
export const inbox = z.object({ items: list(waitingLine) });
export type Inbox = z.infer<typeof inbox>;

/** A request with all that the person has to see. */
export const waiting = z.extend(waitingLine, {
  /** What is to be waived, and what the gate says of it. */
  fields: z.optional(list(z.object({ name: text, text }))),
  evidenceHash: maybeText,
  /** What is to be approved; for a waiver, what was submitted last. */
  evidence: z.optional(storedObjectSchema),
  /** The fields of the evidence that no check has looked at. */
  unchecked: z.optional(list(text)),
  /** What changed since the last refusal. */
  differences: z.optional(list(difference)),
  verification: list(whole<Verification>()),
  warnings: list(whole<Problem>()),
  /** What was wrong with the attempt before, or what a person has denied. */
  before: z.optional(z.object({ problems: list(whole<Problem>()), notes: list(whole<AttemptNote>()) })),
});
export type Waiting = z.infer<typeof waiting>;

/** What happens in a session without a commit, as far as this process does it. */
const activity = {
  /** The checks of its gate that run now. */
  verifying: z.optional(list(text)),
  /** How often repeated calls were answered with a commit, by its version. */
  replays: z.optional(z.record(text, number)),
};
export type Activity = { [K in keyof typeof activity]?: z.infer<(typeof activity)[K]> | undefined };

/** A phase on the timeline. */
const phase = z.object({
  number,
  name: text,
  state: z.enum(["done", "skipped", "overridden", "working", "refused", "waiting", "paused", "failed", "ahead"]),
  /** What people have waived there, and when and why. */
  waivers: list(z.object({ fields: list(text), by: text, at: maybeText, reason: text, note: maybeText })),
  tasks: list(
    z.object({ number, name: text, state: z.enum(["done", "open", "given_up", "skipped", "waived", "dropped"]) }),
  ),
  /** The number of its attempts so far. */
  attempts: number,
  startedAt: maybeText,
  completedAt: maybeText,
});
export type PhaseLine = z.infer<typeof phase>;

/** What a client shows of a session beside an agent's call. */
export const sessionShort = z.object({
  sessionId: text,
  workflow: text,
  target: text,
  status: text,
  /** The phases up to the current one, the last of them. */
  phases: list(z.object({ number, name: text, state: z.enum([...phase.shape.state.options, "verifying"]) })),
  /** How many phases came before those, and how many are locked. */
  earlier: number,
  ahead: number,
  /** The last attempt at the current phase, if its gate has refused it: what was wrong, and how many problems more. */
  refused: z.optional(z.object({ phase: number, attempt: number, problems: list(text), more: number })),
  /** What waits for a person: the question, or the agent's reason for a waiver of `fields`. `link` leads to it. */
  asked: z.optional(
    z.object({
      what: z.enum(["approval", "waiver"]),
      phase: number,
      question: text,
      fields: list(text),
      approvers: z.optional(list(text)),
      link: maybeText,
    }),
  ),
  unapproved: maybeText,
});
export type SessionInShort = z.infer<typeof sessionShort>;

/** Why a session stands where it stands: `whyText` makes a sentence of it. */
const why = z.object({
  standing: z.enum(STANDINGS),
  /** The phase or step: `3 Build and test`. */
  at: maybeText,
  /** Who has paused it. */
  by: maybeText,
  /** What was found, or what a person has said. */
  reason: maybeText,
  /** How often its gate has refused in a row, of how many times. */
  attempts: z.optional(z.object({ attempts: number, limit: number })),
  /** What it waits for, of whom, and what is to be waived. */
  waits: z.optional(
    z.object({
      for: z.enum(["approval", "waiver", "host"]),
      by: z.optional(list(text)),
      fields: z.optional(list(text)),
    }),
  ),
});
export type Why = z.infer<typeof why>;

/** When it was refused, and when it waited; `to` is missing for a wait that goes on. Of a long log, the newest. */
export const times = z.object({
  refusals: list(text),
  waits: list(z.object({ for: z.enum(["approval", "waiver", "paused"]), from: text, to: maybeText })),
});
export type Times = z.infer<typeof times>;

const shown = {
  ...activity,
  summary: row,
  why,
  version: number,
  /** The receipt: the hash of the last commit; missing where it is not at hand. */
  hash: maybeText,
  /** The gate that was passed with an approval that this host does not accept. */
  unapproved: maybeText,
};

const phased = z.object({
  ...shown,
  kind: z.literal("phased"),
  workflowName: text,
  revision: text,
  options: storedObjectSchema,
  phases: list(phase),
  /** What the workflow lets the host do at the current phase. */
  may: z.object({ skip: z.boolean(), override: z.boolean() }),
  drawing: whole<Drawing>(),
  /** The session that it is a child of, and the phase of that. */
  parent: z.optional(whole<Parent>()),
  /** The children of the current phase, if that is a workflow. */
  children: z.optional(whole<ChildrenView>()),
  plan: z.optional(z.object({ path: text, changed: maybeText, unreadable: maybeText })),
  awaiting: z.optional(waiting),
  /** What the person has to know first: attempts used up, a plan that changed, a missing snapshot. */
  notices: list(text),
});
export type PhasedDetail = z.infer<typeof phased>;

const routed = z.object({
  ...shown,
  kind: z.literal("routed"),
  drawing: whole<Drawing>(),
  context: storedObjectSchema,
  /** Oldest first. */
  entries: list(whole<RoutedEntry>()),
  awaiting: z.optional(waiting),
  reason: maybeText,
});
export type RoutedDetail = z.infer<typeof routed>;

const recorded = z.object({
  ...shown,
  kind: z.literal("recorded"),
  agent: maybeText,
  entries: list(whole<RecordedEntry>()),
});
export type RecordedDetail = z.infer<typeof recorded>;

/** A session that can't be shown, and why. Its log can be audited. */
const damaged = z.intersection(whole<BrokenSession>(), z.object({ kind: z.literal("broken") }));
export type BrokenDetail = z.infer<typeof damaged>;

export type ShownDetail = PhasedDetail | RoutedDetail | RecordedDetail;
export const sessionDetail = z.union([phased, routed, recorded, damaged]);
export type SessionDetail = z.infer<typeof sessionDetail>;

export const findings = whole<SessionAudit | RoutedAudit>();
/** Whether a log is intact, and which approvals in it count. */
export type Findings = z.infer<typeof findings>;

export const statistics = z.object({
  workflows: list(whole<WorkflowStatistics>()),
  unapproved: number,
  /** Sessions that can't be read, and count nowhere. */
  broken: list(broken),
  /** The figures below are those of so many sessions: the newest, if there are more. */
  counted: number,
  /** Sessions started and completed a day, oldest first; days in UTC. */
  days: list(z.object({ day: text, started: number, completed: number })),
  /** Sessions completed in the last seven days. */
  completedLately: number,
  /** The median of the seconds from start to end, of completed sessions; missing without any. */
  medianSeconds: z.optional(number),
  /** Sessions that wait for a person. */
  needsYou: number,
});
export type StatisticsView = z.infer<typeof statistics>;

export type {
  AttemptNote,
  BrokenSession,
  Drawing,
  JsonObject,
  JsonValue,
  PhaseStatistics,
  Problem,
  Verification,
  WorkflowStatistics,
};
