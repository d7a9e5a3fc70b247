/**
 * Decides what follows from a submission, from a person's answer to it, and from a host that overrides or
 * skips a gate. A denial is a failed attempt like any other; the last failed attempt ends the session. And decides
 * waivers: an agent asks that some of what its gate asks for is not required, and a person grants or denies it. Neither
 * counts as an attempt, and the session's status stays. A waiver ends with the visit to its phase, and when the gate may
 * have changed.
 */
import { approvalRefused } from "../../approval/message.js";
import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import { attemptsLeft } from "../../gate/judge.js";
import type { Problem } from "../../gate/verdict.js";
import { waivable, waivedNames, waiverName } from "../../gate/waivers.js";
import { firstFew, nearest, shown } from "../../workflow/names.js";
import type {
  ApprovalDefinition,
  GateDefinition,
  PhaseDefinition,
  WorkflowStructure,
} from "../../workflow/structure.js";
import {
  asksNoMore,
  type CommandOf,
  invalidTransition,
  isWaiverOpen,
  lengthRefusal,
  NOTE_MAX,
  notCurrent,
  REQUESTS_MAX,
  submissionRefusal,
  type TransitionContext,
} from "./commands.js";
import type { EventOf, SessionEvent, Verification } from "./events.js";
import { type SessionHead, spentAt } from "./head.js";

/** At least one event, in order. */
type Events = readonly [SessionEvent, ...SessionEvent[]];

/** The events of a command, or the reason for its refusal. */
export type Decided = Events | AnyPhasegateError;

/** What most evidence says can't be claimed. */
const NOTHING: ReadonlyMap<string, string> = new Map();

/** Decides a submission with its verdict: the gate is passed, a person is asked, or the attempt has failed. */
export function completePhase(
  head: SessionHead,
  command: CommandOf<"completePhase">,
  context: TransitionContext,
): Decided {
  const refusal = submissionRefusal(head, command.phase, context.structure, context.limits);
  if (refusal !== undefined) return refusal;
  const { phase, evidence, noted, verdict, output, waived = [], proofs = [], unmet = NOTHING } = command;
  const attempt = head.attempts + 1;
  const verification = command.verification && [...command.verification];
  const submitted = { phase, attempt, evidence, noted, verification };
  if (!verdict.passed) {
    const problems = [...verdict.problems];
    const failure = { ...submitted, problems };
    const asked = waiverFor(head, unmet, context);
    const isAsked = asked.length > 0 && problems.every(({ field }) => unmet.has(field));
    const isUncounted =
      command.uncounted || isAsked || (head.submission === undefined && lacksSnapshots(problems, verification));
    if (isUncounted) return [{ type: "gate_failed", ...failure, uncounted: true }, ...asked];
    return [...gateFailed(head, failure, context), ...asked];
  }
  const { position } = head;
  const accepted = {
    type: "gate_passed",
    ...submitted,
    position,
    output,
    warnings: unlessEmpty(verdict.warnings),
    waived: unlessEmpty(waived),
    proofs: unlessEmpty(proofs),
    children: command.children && [...command.children],
  } as const;
  const approval = approvalOf(context.structure.phases[position]?.gate);
  if (approval === undefined) return gatePassed(accepted, context, command);
  const { evidenceHash } = command;
  if (evidenceHash === undefined) throw new Error("an approval must be bound to the hash of its evidence");
  return [{ ...accepted, type: "approval_requested", ...approval, evidenceHash }];
}

/**
 * Decides a person's answer. An approval passes the gate with the evidence that the person saw. A denial is
 * a failed attempt with the person's note as its problem.
 */
export function decideApproval(
  head: SessionHead,
  command: CommandOf<"approve" | "deny">,
  context: TransitionContext,
): Decided {
  const { evidenceHash, note } = command;
  const refusal = decisionRefusal(head, context.structure, command.type, evidenceHash) ?? lengthRefusal({ note });
  if (refusal !== undefined) return refusal;
  const { type: _, evidenceHash: __, prompt: ___, approvers: ____, ...accepted } = command.asked.event;
  const answer = { ...answerOf(command), evidenceHash };
  if (command.type === "approve") {
    return [{ ...answer, type: "approved", note }, ...gatePassed({ ...accepted, type: "gate_passed" }, context)];
  }
  const { position, output, warnings, waived, proofs, children, ...attempted } = accepted;
  return [
    { ...answer, type: "denied", note: note ?? "" },
    ...gateFailed(head, { ...attempted, problems: [denialProblem(command)] }, context),
  ];
}

/** Lets a session pass a gate without evidence on behalf of the host, where the definition allows it. */
export function passWithoutEvidence(
  head: SessionHead,
  command: CommandOf<"overrideGate" | "skipPhase">,
  context: TransitionContext,
  allows: (phase: PhaseDefinition) => boolean,
  type: "gate_overridden" | "phase_skipped",
): Decided {
  const { structure } = context;
  if (head.status !== "failed" && head.status !== "active") return invalidTransition(head, structure, command.type);
  const phase = structure.phases[head.position];
  if (phase === undefined || command.phase !== head.phase) return notCurrent(head, command.phase, structure);
  if (!allows(phase)) return notAllowed(command);
  const { by, reason } = command;
  const { position } = head;
  return (
    lengthRefusal({ by, note: reason }) ?? [
      { type, phase: phase.number, position, by, reason },
      ...goTo(position + 1, context),
    ]
  );
}

/** Returns the reason why this evidence can't be approved or denied now; undefined if it can. */
export function decisionRefusal(
  head: SessionHead,
  structure: WorkflowStructure,
  command: "approve" | "deny",
  evidenceHash: string,
): AnyPhasegateError | undefined {
  if (head.status !== "active") return invalidTransition(head, structure, command);
  const { awaiting, phase } = head;
  if (awaiting === undefined) return notWaiting(phase);
  if (awaiting.evidenceHash === evidenceHash) return undefined;
  return approvalRefused(
    `phase ${phase} waits for an approval of other evidence`,
    "Read the evidence that waits now: it was submitted after the evidence that you have seen.",
    { phase, reason: "other_evidence" },
  );
}

/** Returns the approval that a gate requires; undefined if it requires none. */
export function approvalOf(gate: GateDefinition | undefined): ApprovalDefinition | undefined {
  return gate?.kind === "fields" || gate?.kind === "schema" ? gate.approval : undefined;
}

/** Returns the error for an answer when nothing waits for one. */
export function notWaiting(
  phase: number,
  because = "nothing waits for an approval",
): PhasegateError<"APPROVAL_REFUSED"> {
  return approvalRefused(`${because} in phase ${phase}`, "Read the session's status before you decide again.", {
    phase,
    reason: "not_waiting",
  });
}

/** Returns a list for the log; undefined for an empty one, which is left out. */
export function unlessEmpty<T>(list: readonly T[]): T[] | undefined {
  return list.length === 0 ? undefined : [...list];
}

/** Returns true if the phase at this position comes from a plan whose file is written. */
export function isTicked(position: number, { structure }: TransitionContext): boolean {
  return structure.plan?.ticked === true && structure.phases[position]?.plan !== undefined;
}

/**
 * Returns the events of going to a position: phases whose rule holds are skipped, and the next one is entered. The workflow
 * is complete if none is left.
 */
export function goTo(position: number, context: TransitionContext): readonly SessionEvent[] {
  const events: SessionEvent[] = [];
  for (const [index, { number: phase }] of context.structure.phases.slice(position).entries()) {
    const at = position + index;
    const skip = context.skips?.(at);
    if (skip === undefined) {
      return [...events, { type: "phase_entered", phase, position: at, snapshots: context.snapshots }];
    }
    events.push({ type: "phase_skipped", phase, position: at, by: SKIPPED_BY, ...skip });
  }
  return [...events, { type: "completed" }];
}

/** The name in the log for a phase that no person has skipped. */
export const SKIPPED_BY = "skip_when";

/**
 * Returns true if nothing has failed but checks that had nothing to compare with. The first submission of a visit then
 * counts as no attempt: its agent could not know, and a retry takes what is missing.
 */
function lacksSnapshots(problems: readonly Problem[], verification: readonly Verification[] = []): boolean {
  const failed = verification.filter(({ ok }) => !ok);
  const isOther = problems.some(({ problem }) => problem !== "unverified");
  return failed.length > 0 && !isOther && failed.every(({ unrecorded }) => unrecorded === true);
}

function gateFailed(
  head: SessionHead,
  event: Omit<EventOf<"gate_failed">, "type">,
  { limits }: TransitionContext,
): Events {
  const failures = { inARow: event.attempt, inTotal: spentAt(head, head.position) + 1 };
  const isLast = attemptsLeft(failures, limits) === 0;
  const failed: SessionEvent[] = isLast ? [{ type: "failed", phase: event.phase, attempts: event.attempt }] : [];
  return [{ type: "gate_failed", ...event }, ...failed];
}

function gatePassed(
  accepted: Omit<EventOf<"gate_passed">, "ticks" | "stood" | "stoodItems">,
  context: TransitionContext,
  { stood = [], stoodItems = [] }: Pick<CommandOf<"completePhase">, "stood" | "stoodItems"> = {},
): Events {
  const passed: SessionEvent = {
    ...accepted,
    ticks: isTicked(accepted.position, context) ? true : undefined,
    stood: unlessEmpty(stood),
    stoodItems: unlessEmpty(stoodItems),
  };
  return [passed, ...goTo(accepted.position + 1, context)];
}

/** Returns who has answered a request, and how that is proved. */
function answerOf(command: CommandOf<"approve" | "deny" | "waive" | "denyWaiver">) {
  const { asked, by, authenticated, signature, keyId } = command;
  return { phase: asked.event.phase, by, asked: asked.version, authenticated, signature, keyId };
}

/** Returns a denial as a problem, in the person's own words. */
function denialProblem({ by, note, authenticated }: CommandOf<"deny">): Problem {
  const who = authenticated ? by : `${by} (not authenticated)`;
  return { field: "", problem: "denied", message: `${who} denied the approval: ${note}` };
}

function notAllowed(command: CommandOf<"overrideGate" | "skipPhase">): PhasegateError<"NOT_ALLOWED"> {
  const key = command.type === "overrideGate" ? "allow_override: true in its gate" : "skippable: true";
  return new PhasegateError("NOT_ALLOWED", `the definition does not allow ${command.type} in phase ${command.phase}`, {
    remedy: `Complete the phase with evidence; a definition allows it by ${key}.`,
    details: { phase: command.phase, operation: command.type },
  });
}

/** Returns the request for what can't be claimed: the first time in a visit to a phase. */
function waiverFor(
  head: SessionHead,
  unmet: ReadonlyMap<string, string>,
  context: TransitionContext,
): readonly SessionEvent[] {
  if (head.waiverRequests !== undefined) return [];
  const fields = [...unmet.keys()];
  const whys = fields.length === 1 ? [...unmet.values()] : [...unmet].map(([name, why]) => `${name}: ${why}`);
  const reason = whys.join("; ").slice(0, NOTE_MAX);
  const asked = requestWaiver(head, { type: "requestWaiver", phase: head.phase, fields, reason }, context);
  return asked instanceof Error ? [] : asked;
}

/** Limits how many names one request has: they are stored in the head, which must stay small. */
const WAIVED_MAX = 50;

/** Decides an agent's request. A new request takes the place of one that is still open. */
export function requestWaiver(
  head: SessionHead,
  command: CommandOf<"requestWaiver">,
  { structure }: TransitionContext,
): Decided {
  const { phase, reason } = command;
  if (head.status !== "active" && head.status !== "failed") return invalidTransition(head, structure, command.type);
  const current = structure.phases[head.position];
  if (current === undefined || phase !== head.phase) return notCurrent(head, phase, structure);
  if (head.awaiting !== undefined) {
    const why = `the evidence for phase ${phase} is complete, and waits for an approval`;
    return invalidTransition(head, structure, command.type, { why });
  }
  const tooLong = lengthRefusal({ reason });
  if (tooLong !== undefined) return tooLong;
  if (asksNoMore(head)) {
    const message = `${REQUESTS_MAX} waivers were asked for in phase ${phase}, and none of the last was granted`;
    return noWaiver(phase, message, "Do what can be done");
  }
  const { gate } = current;
  const waived = waivedNames(command.waived ?? head.waived);
  const named = [...new Set(command.fields.map((name) => waiverName(gate, name)))];
  const fields = named.filter((name) => !waived.includes(name));
  const refusal = namesRefusal(head.phase, gate, { named, fields, waived });
  if (refusal !== undefined) return refusal;
  const { approvers } = approvalOf(gate) ?? {};
  return [{ type: "waiver_requested", phase, fields, reason, approvers: approvers && [...approvers] }];
}

/** Decides a person's answer to the request that is open. */
export function decideWaiver(head: SessionHead, command: CommandOf<"waive" | "denyWaiver">): Decided {
  const { asked, note } = command;
  const refusal = answerRefusal(head, asked.version) ?? lengthRefusal({ note });
  if (refusal !== undefined) return refusal;
  const answer = answerOf(command);
  if (command.type === "denyWaiver") return [{ ...answer, type: "waiver_denied", note: note ?? "" }];
  return [{ ...answer, type: "waiver_granted", fields: asked.event.fields, note }];
}

/** Returns the reason why a request that this commit has made can't be answered now; undefined if it can. */
export function answerRefusal(head: SessionHead, version: number | undefined): AnyPhasegateError | undefined {
  const { phase, waiver } = head;
  if (!isWaiverOpen(head) || waiver === undefined) {
    return approvalRefused(`nothing waits for a waiver in phase ${phase}`, "Read the session's state first.", {
      phase,
      reason: "not_waiting",
    });
  }
  if (waiver.version === version) return undefined;
  return approvalRefused(
    `phase ${phase} waits for another waiver`,
    "Read the request that is open now: it was made after the one that you have seen.",
    { phase, reason: "other_request" },
  );
}

/** Returns the reason why these names can't be waived; undefined if they can. */
function namesRefusal(
  phase: number,
  gate: GateDefinition,
  { named, fields, waived }: Readonly<Record<"named" | "fields" | "waived", readonly string[]>>,
): AnyPhasegateError | undefined {
  const { names, excluded } = waivable(gate, waived);
  if (named.length === 0 || named.length > WAIVED_MAX) {
    return badFields(`'fields' must name 1 to ${WAIVED_MAX} fields`, names);
  }
  if (fields.length === 0) return badFields(`${named.map(shown).join(", ")}: waived already`, names);
  const fixed = fields.find((name) => excluded.includes(name));
  if (fixed !== undefined) return noWaiver(phase, `the workflow allows no waiver of ${shown(fixed)}`);
  if (names.length === 0) return noWaiver(phase, `the gate of phase ${phase} shows nothing that can be waived`);
  const unknown = fields.find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  const similar = nearest(unknown, names);
  const meant = similar === undefined ? "" : ` (did you mean ${shown(similar)}?)`;
  return badFields(`the gate of phase ${phase} requires nothing called ${shown(unknown)}${meant}`, names);
}

/** Limits the names in an error. */
const NAMES_SHOWN = 20;

function badFields(message: string, names: readonly string[]): PhasegateError<"INVALID_INPUT"> {
  const expected = firstFew(names, NAMES_SHOWN);
  return new PhasegateError("INVALID_INPUT", message, {
    remedy: expected === "" ? "Name the fields that can't be met." : `Name what can't be met, of: ${expected}.`,
    details: { field: "fields", ...(expected === "" ? {} : { expected }) },
  });
}

function noWaiver(phase: number, message: string, instead = "Do it"): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", message, {
    remedy: `${instead}; or pause the session with a note that says what can't be done, and tell the person you work for.`,
    details: { phase, operation: "requestWaiver" },
  });
}
