/**
 * The answers to `complete_phase` and `request_waiver`: the verdict of the gate, what to fix, and the next call. The next call after a
 * refusal contains placeholders that would not pass, since a valid call would invite claims of work that
 * was not done. What can't be done has a call of its own: a request for a waiver.
 */

import { isPhasegateError, PhasegateError } from "../../errors.js";
import { conceal, WHOLE } from "../../gate/check-gate.js";
import { withoutExamples } from "../../gate/format.js";
import { formOfMembers } from "../../gate/forms.js";
import { ITEMS_FIELD, TASKS_FIELD } from "../../gate/plan-gate.js";
import type { Problem } from "../../gate/verdict.js";
import type { AwaitedApproval } from "../../phased/approval/ledger.js";
import type { WaiverRequested } from "../../phased/approval/requests.js";
import { submissionsOf } from "../../phased/engine.js";
import type { CompleteResult } from "../../phased/gate-answer.js";
import type { Verifying } from "../../phased/submissions.js";
import type { StateView } from "../../phased/views.js";
import { CHILD_CHECK } from "../../workflow/child-workflow.js";
import { isJsonObject, type JsonValue } from "../../workflow/json.js";
import { numberInPlan } from "../../workflow/structure.js";
import { action } from "../dispatch.js";
import { decidedWithin, PERSON_MS, takeAnswer } from "../person.js";
import { verificationNotice } from "../verification-notice.js";
import { brief, fits, type WireObject } from "../wire.js";
import { ACTIONS, type ParametersOf, type ToolContext } from "./actions.js";
import { approvalNotice, waivedLine, waivedNotice, waiverNotice } from "./approval-notices.js";
import {
  ANY_EVIDENCE,
  BLANKS_MAX,
  blockedBy,
  CALL,
  callInPhase,
  isOpen,
  type NextCall,
  nextCall,
  planBlanks,
  refusePlaceholder,
  replayNotice,
  usedUp,
  WAITS,
  workIn,
} from "./next-call.js";
import { withOpenedPhase } from "./phases.js";
import { droppedNotice, idsText, tickNotice } from "./plan.js";
import { childrenNotice, endNotice, orphanNotice, skipNotice } from "./shapes.js";
import { callFrom, verifyingNotice } from "./state.js";

/** What runs the actions of this file. */
export const GATES = {
  complete_phase: action(ACTIONS.complete_phase, complete),
  request_waiver: action(ACTIONS.request_waiver, requestWaiver),
};

async function complete(context: ToolContext, params: ParametersOf<"complete_phase">): Promise<WireObject> {
  const { session_id: sessionId, phase, evidence, idempotency_key: idempotencyKey } = params;
  const { signal, onCheck, noted, answerWithinMs } = context;
  const session = context.engine.session(sessionId);
  const how = { signal, onCheck, answerWithinMs };
  const begun = submissionsOf(context.engine).clock.elapsed();
  const answer =
    evidence === undefined
      ? await session.submission(phase, String(idempotencyKey), how)
      : await session.submit(phase, evidence, { ...how, idempotencyKey, noted });
  if (answer === undefined) throw notSubmitted(phase);
  if (answer.status === "verifying") return verifying(await session.state(), answer);
  const { result, submitted } = answer;
  if (result.passed) return accepted(context, result);
  const { waiverAsked, awaiting } = result;
  if (waiverAsked !== undefined) {
    await askForWaiver(context, waiverAsked, begun);
    if (result.problems.every(({ field }) => waiverAsked.fields.includes(field)))
      return waiverAnswer(context, { ...result, fields: waiverAsked.fields }, result);
  }
  if (awaiting === undefined) {
    const pending = result.waitsForWaiver ? ((await session.state()).awaitingWaiver?.fields ?? []) : [];
    const refused = await withChildren(context, result, failed(context, result, submitted, pending));
    return result.replayed ? now(context, result, refused) : refused;
  }
  const decided = await askPerson(context, awaiting, begun);
  if (decided?.passed === true) return accepted(context, decided);
  if (decided !== undefined) return failed(context, decided, submitted, []);
  const open = waiting(result, awaiting);
  // Without a key this is no repeated call: the same evidence waits already.
  return idempotencyKey === undefined || !result.replayed ? open : now(context, result, open);
}

/** Returns the answer while the checks of a submission run, which decide about it. */
function verifying(state: StateView, running: Verifying): WireObject {
  const { sessionId } = state;
  const { phase } = running;
  const isPaused = state.status === "paused";
  const todo = isPaused
    ? `The session is paused: if it still is when they end, the submission is not counted. Resume it first.`
    : "Make the call in next: it waits for the result.";
  return {
    status: "verifying",
    session_id: sessionId,
    ...verifyingNotice(state, running),
    remediation: `The checks of phase ${phase} still run. Nothing is decided yet, and the evidence can't be changed meanwhile. ${todo}`,
    next: isPaused ? CALL.resume(sessionId) : CALL.wait(sessionId, running),
  };
}

/** The error of a call that waits for a submission which is not known here. */
function notSubmitted(phase: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError(
    "INVALID_INPUT",
    "'evidence' is missing: nothing with this idempotency_key is being verified here, and no result of it is recorded",
    {
      remedy: `Submit all of the evidence for phase ${phase} again, with this key: it counts once, even if it is being verified elsewhere.`,
      details: { field: "evidence" },
    },
  );
}

/**
 * Returns the next call after a submission that was refused since another one is being verified, or was not counted, or after a
 * call that waited for an unknown one; undefined after any other error.
 */
export async function callAfterError(
  { engine }: ToolContext,
  { session_id: id, phase, idempotency_key: key }: WireObject,
  error: unknown,
): Promise<NextCall | null | undefined> {
  const sessionId = String(id);
  if (isPhasegateError(error, "INVALID_TRANSITION") && error.details.submission === "verifying") {
    const running = submissionsOf(engine).of(sessionId, Number(phase));
    return running && CALL.wait(sessionId, running);
  }
  const isUncounted = isPhasegateError(error, "INVALID_TRANSITION") && error.details.submission === "uncounted";
  const isUnknown = isPhasegateError(error, "INVALID_INPUT") && error.details.field === "evidence";
  if (!isUncounted && !isUnknown) return undefined;
  const state = await engine.session(sessionId).state();
  const { phase: current } = state.head;
  const evidence = { [ALL_FIELDS]: "<as before>" };
  const again = {
    ...CALL.submit(sessionId, current, evidence),
    ...(key !== undefined && { idempotency_key: String(key) }),
  };
  return nextCall(state, () => (current === phase ? again : CALL.phase(sessionId)));
}

/** Marks the repeated first answer to a key: nothing was judged again, and the next call is for the current state. */
async function now(
  { engine }: ToolContext,
  { replayed, sessionId, version }: CompleteResult,
  answer: WireObject,
): Promise<WireObject> {
  const state = await engine.session(sessionId).state();
  const replay = replayNotice(replayed, state);
  if (state.version === version) return { ...answer, ...replay };
  const next = nextCall(state, () => CALL.phase(sessionId));
  return { ...answer, remediation: undefined, ...replay, blocked: blockedBy(state), next };
}

/** A gate's refusal. */
type Refused = Extract<CompleteResult, { passed: false }>;

/** Returns true if a check had nothing to compare with: the same evidence would be refused again. */
function isUnrecorded({ verification = [] }: Refused): boolean {
  return verification.some(({ unrecorded }) => unrecorded);
}

/** Limits the fields that are named. */
const FIELDS_MAX = 25;

/** Returns everything that was waived in a session that is complete now, by phase; undefined if nothing was. */
async function allWaived({ engine }: ToolContext, sessionId: string): Promise<readonly string[] | undefined> {
  const { waivedPhases } = await engine.session(sessionId).state();
  if (waivedPhases.length === 0) return undefined;
  const done = (await engine.session(sessionId).history()).filter(({ status }) => status === "completed");
  return done.flatMap(({ phase, waived = [] }) => waived.map((one) => `phase ${phase}: ${waivedLine(one)}`));
}

/** Returns what an agent has to do. */
function remediation({ actions }: ToolContext, result: Refused): string {
  const { status, phase, problems, exhausted, waivable } = result;
  if (exhausted) return usedUp(phase);
  const fields = [...new Set(problems.map(({ field }) => field))].filter((field) => field !== "").slice(0, FIELDS_MAX);
  const isComplete = problems.every(({ problem }) => problem === "unverified");
  const wayOut = [
    ...(waivable.length > 0 && actions.includes("request_waiver") ? ["ask for a waiver, as in if_impossible"] : []),
    ...(actions.includes("pause") ? ["pause with a note"] : []),
  ].join("; or ");
  const impossible = wayOut === "" ? "" : `. If it can't be done: ${wayOut}`;
  const todo = isComplete
    ? `${failedChecks(result)}. Then submit all of the evidence for phase ${phase} again`
    : `Do what is missing, then submit evidence for phase ${phase}${asked(fields)}`;
  const fix = `${todo}${impossible}`;
  if (status === "active" && !isUnrecorded(result)) return fix;
  const who = actions.includes("retry_phase") ? "Call retry_phase for" : "Ask the person who runs this to retry";
  const retry = `${who} phase ${phase} first`;
  if (status === "active") {
    return `${retry}: it records what the checks compare with, which is missing. ${fix}`;
  }
  return `The session has failed. ${retry}. ${fix}`;
}

/** Says which checks failed, and where to read what they found. */
function failedChecks({ verification = [], problems, reveal }: Refused): string {
  const count = `${problems.length} ${problems.length === 1 ? "check" : "checks"} failed`;
  const names = verification.flatMap(({ ok, field, check, verifier }) => (ok ? [] : [field ?? check ?? verifier]));
  const named = reveal === "fields" ? `: ${names.slice(0, FIELDS_MAX).join(", ")}` : "";
  return `${count}${named}. Read in validation_errors what was found, and correct that`;
}

function asked(fields: readonly string[]): string {
  return fields.length === 0 ? "" : `, all of its fields, with these corrected: ${fields.join(", ")}`;
}

/** Limits the names of evidence in an answer. */
const NAMES_MAX = 100;
/** Limits what an answer says of the next phase, in characters. */
const DESCRIPTION_MAX = 400;

/** A gate that was passed. */
type Passed = Extract<CompleteResult, { passed: true }>;

/** Returns the answer to evidence that a gate has accepted, with the phase that is open now. */
async function accepted(context: ToolContext, result: Passed): Promise<WireObject> {
  const answer = passed(result);
  // Everything that was waived in the session, once it is complete.
  if (result.nextPhase === null) answer.waived = (await allWaived(context, result.sessionId)) ?? answer.waived;
  if (result.nextPhase === null && result.parent !== undefined) {
    const notice = orphanNotice(await context.engine.session(result.sessionId).state());
    if (notice.orphaned !== undefined) Object.assign(answer, notice, { next: null });
  }
  return withOpenedPhase(context, result.replayed ? await now(context, result, answer) : answer, result);
}

function passed(result: Passed): WireObject {
  const { sessionId, evidenceAccepted: accepted, warnings, nextPhase, skipped, ticks, waived, reveal } = result;
  const isLong = accepted.length > NAMES_MAX;
  // Its text may say more: get_phase has that.
  const about = nextPhase?.purpose ?? nextPhase?.plan?.goal;
  return {
    session_id: sessionId,
    phase_completed: result.phase,
    checkpoint_passed: true,
    evidence_accepted: accepted.slice(0, NAMES_MAX),
    evidence_accepted_in_all: isLong ? accepted.length : undefined,
    ...verificationNotice(result.verification, reveal, "passed"),
    warnings: warnings.length > 0 ? conceal(warnings, reveal).map(({ message }) => message) : undefined,
    ...(ticks && tickNotice(ticks)),
    ...droppedNotice(result.dropped),
    ...(waived && waivedNotice(waived, true)),
    ...(skipped && skipNotice(skipped)),
    ...endNotice(nextPhase === null, result.parent),
    next_phase: nextPhase && {
      phase_number: nextPhase.number,
      phase_in_plan: numberInPlan(nextPhase),
      title: nextPhase.name,
      description: about && brief(about, DESCRIPTION_MAX),
    },
    next:
      nextPhase !== null
        ? CALL.phase(sessionId)
        : result.parent === undefined
          ? null
          : CALL.phase(result.parent.sessionId),
  };
}

/** Limits the problems in an answer; `get_errors` has all. */
const PROBLEMS_MAX = 25;

/** Returns the verdict of a gate that was not met; `pending` are the fields that a person has been asked to waive. */
function failed(
  context: ToolContext,
  whole: Refused,
  submitted: readonly string[],
  pending: readonly string[],
): WireObject {
  const refused = { ...whole, problems: conceal(whole.problems, whole.reveal) };
  const result = { ...refused, waivable: refused.waivable.filter((field) => !pending.includes(field)) };
  const { sessionId, phase, problems, attemptsLeft, attempt, status, verification, reveal } = result;
  // All that is wrong may be waived: another submission would only use up an attempt.
  const waits = pending.length > 0 && problems.every((problem) => isAwaited(problem, refused, pending));
  const listed = problems.slice(0, PROBLEMS_MAX);
  const missing = [...new Set(problems.filter(({ problem }) => problem === "missing").map(({ field }) => field))];
  const more = problems.length - listed.length;
  const answer = {
    status: "error",
    action: "complete_phase",
    session_id: sessionId,
    error: `Phase ${phase} is not complete: ${problems.length} problem${problems.length === 1 ? "" : "s"} with the evidence`,
    error_type: "ValidationError",
    code: "GATE_FAILED",
    phase,
    checkpoint_passed: false,
    missing_evidence: missing.slice(0, NAMES_MAX),
    validation_errors: listed.map(({ message }) => message),
    problems: withoutExamples(listed),
    ...planClaims(result),
    ...droppedNotice(result.dropped),
    more_problems: more === 0 ? undefined : `${more} more: see get_errors`,
    attempt,
    attempts_left: attemptsLeft,
    session_status: status,
    awaiting_waiver: pending.length === 0 ? undefined : pending,
    remediation: waits ? WAITS : remediation(context, result),
    if_impossible: callIfImpossible(context, result),
    next: waits ? null : callAfterRefusal(result, submitted),
  };
  return withMore(context, answer, verificationNotice(verification, reveal), result);
}

/** Adds what has become of the children, and the call for the next one, to the refusal of a phase that is a workflow. */
async function withChildren(
  { engine, actions }: ToolContext,
  result: Refused,
  answer: WireObject,
): Promise<WireObject> {
  if (result.verification?.some(({ verifier }) => verifier === CHILD_CHECK) !== true) return answer;
  const view = await engine.session(result.sessionId).phase();
  const next = nextCall(view, () => callInPhase(view, workIn({ actions }, view)));
  const remediation = "Complete the sessions that the phase asks for: no evidence passes it.";
  return { ...answer, ...childrenNotice(view.children), remediation, blocked: blockedBy(view, next), next };
}

/** Returns true if a person has been asked to waive what a problem is about. */
function isAwaited({ field, problem, example }: Problem, { waivable }: Refused, pending: readonly string[]): boolean {
  const checks = waivable.filter((name) => name.startsWith(WHOLE));
  // A failed check of the gate as a whole has no field.
  if (field === "" && problem === "unverified")
    return checks.length > 0 && checks.every((name) => pending.includes(name));
  const task = field === TASKS_FIELD && typeof example === "string" ? [`${field}.${example}`] : [];
  return [field, field.split(".")[0] ?? "", ...task].some((name) => pending.includes(name));
}

/** Returns what a plan's gate still requires: ids of tasks, and items by number with their text. */
function planClaims({ problems, requiredFormat }: Refused) {
  const tasks = problems.flatMap(({ field, example }) =>
    field === TASKS_FIELD && typeof example === "string" ? [example] : [],
  );
  const format = isJsonObject(requiredFormat) ? requiredFormat[ITEMS_FIELD] : undefined;
  const texts = isJsonObject(format) && isJsonObject(format.items) ? format.items : {};
  const numbers = problems.flatMap(({ field }) => {
    const [name, number = ""] = field.split(".");
    return name === ITEMS_FIELD && texts[number] !== undefined ? [number] : [];
  });
  const unclaimed = Object.fromEntries(numbers.map((at) => [at, texts[at]]));
  return { missing_tasks: idsText(tasks), unclaimed_items: numbers.length === 0 ? undefined : unclaimed };
}

/**
 * Returns the next call; null if none of the agent's calls would help. It names all fields of the evidence,
 * since nothing of a refused submission is kept: first those to fix, then the others.
 */
function callAfterRefusal(result: Refused, submitted: readonly string[]): WireObject | null {
  const { status, sessionId, phase, exhausted } = result;
  if (exhausted) return null;
  if (status !== "active" || isUnrecorded(result)) return CALL.retry(sessionId, phase);
  return CALL.submit(sessionId, phase, blanksAfter(result, submitted));
}

/** Returns the call that asks for a waiver of what has a problem; undefined if nothing of it can be waived. */
function callIfImpossible(
  { actions }: ToolContext,
  { sessionId, phase, waivable, reveal }: Refused,
): WireObject | undefined {
  if (waivable.length === 0 || reveal === "none" || !actions.includes("request_waiver")) return undefined;
  return CALL.waiver(sessionId, phase, waivable.slice(0, BLANKS_MAX));
}

function blanksAfter(result: Refused, submitted: readonly string[]): WireObject {
  if (result.reveal === "none") return ANY_EVIDENCE;
  const { missing_tasks: tasks, unclaimed_items: items = {} } = planClaims(result);
  const ids = "the ids that were claimed before, and those of missing_tasks that you have done by now";
  const claims = planBlanks(tasks === undefined ? undefined : ids, Object.keys(items));
  const named = { ...corrected(result), ...claims };
  return { ...named, ...others(result, submitted, named) };
}

const ALL_FIELDS = "<all fields>";

function corrected({ problems, requiredFormat }: Refused): WireObject {
  const wanted = problems.flatMap(({ field, problem, expected }) => {
    if (problem === "unverified") return [[field || ALL_FIELDS, "<as before, once the check agrees>"]];
    // A problem between fields is described in validation_errors: no single field would fix it.
    const [name = ""] = field.split(".");
    return name === "" ? [] : [[name, blankFor(name, field === name ? expected : undefined, requiredFormat)]];
  });
  return Object.fromEntries(wanted.slice(0, BLANKS_MAX));
}

/** The longest description in a blank, in characters. */
const ABOUT_MAX = 120;

/** Describes the value of a field: its members, or its type and what it means; but never a claim such as `true`. */
function blankFor(name: string, expected: string | undefined, format: JsonValue): JsonValue {
  const form = isJsonObject(format) ? formOfMembers(format, name) : undefined;
  if (form !== undefined) return form;
  const properties = isJsonObject(format) && isJsonObject(format.properties) ? format.properties : {};
  const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
  const { type, description } = isJsonObject(schema) ? schema : {};
  const kind = typeof type === "string" ? type : "see required_format";
  const isClaim = expected === undefined || expected === "true";
  const isKind = !isClaim && (expected.startsWith(kind) || /^an(?:y value| \w)|^a \w/.test(expected));
  const wanted = isClaim ? kind : isKind ? expected : `${kind}, ${expected}`;
  return `<${wanted}${typeof description === "string" ? `: ${brief(description, ABOUT_MAX)}` : ""}>`;
}

function others({ problems }: Refused, submitted: readonly string[], named: WireObject): WireObject {
  if (ALL_FIELDS in named) return {};
  const isBetween = problems.some(({ field }) => field === "");
  const blank = isBetween ? "<as validation_errors want it>" : "<as before>";
  const rest = submitted.filter((name) => !Object.hasOwn(named, name));
  const shown = rest.slice(0, Math.max(0, BLANKS_MAX - Object.keys(named).length));
  const blanks = Object.fromEntries(shown.map((name) => [name, blank]));
  return shown.length === rest.length ? blanks : { ...blanks, "<all other fields>": blank };
}

/** Adds verification results and the format, if they fit; other answers have them too. */
function withMore(
  { maxChars }: ToolContext,
  bare: WireObject,
  found: WireObject,
  { requiredFormat, sessionId, phase }: Refused,
): WireObject {
  const full = { ...bare, ...found };
  const short = { ...bare, verification: found.verification && "see get_errors" };
  const answer = fits(full, maxChars) ? full : short;
  const whole = { ...answer, required_format: requiredFormat };
  return fits(whole, maxChars) ? whole : { ...answer, required_format: { see: CALL.phase(sessionId, phase) } };
}

/** How long a person has at least, in milliseconds, however long the checks took. */
const PERSON_LEAST_MS = 5_000;

/** Waits for a person's decision as long as the call may take. */
async function inTime<T>(
  { engine, answerWithinMs }: ToolContext,
  begun: number,
  deciding: Promise<T | undefined>,
): Promise<T | undefined> {
  if (answerWithinMs === Number.POSITIVE_INFINITY) return deciding;
  const { clock } = submissionsOf(engine);
  const left = answerWithinMs - (clock.elapsed() - begun);
  return decidedWithin(clock, Math.max(PERSON_LEAST_MS, Math.min(PERSON_MS, left)), deciding);
}

/** Asks the person who is present; undefined if there is none, or no answer yet. */
async function askPerson(
  context: ToolContext,
  { sessionId, request }: AwaitedApproval,
  begun: number,
): Promise<CompleteResult | undefined> {
  const { engine, askPerson: ask } = context;
  if (ask === undefined) return undefined;
  const session = engine.session(sessionId);
  const asked = await session.approval();
  // A repeated call gets its first answer, even if a person has answered since.
  if (asked?.request !== request) return undefined;
  const { evidenceHash } = asked;
  const deciding = takeAnswer(ask(asked), {
    approve: (given) => session.approve({ ...given, evidenceHash }),
    deny: (given) => session.deny({ ...given, evidenceHash }),
  });
  return inTime(context, begun, deciding);
}

/** Returns the answer while a person's approval is awaited. */
function waiting(result: Refused, awaiting: AwaitedApproval): WireObject {
  const { sessionId, phase, attempt, verification, reveal } = result;
  return {
    session_id: sessionId,
    phase,
    checkpoint_passed: false,
    ...approvalNotice(awaiting),
    evidence_hash: awaiting.evidenceHash,
    ...verificationNotice(verification, reveal, "passed"),
    attempt,
    next: CALL.state(sessionId),
  };
}

async function requestWaiver(context: ToolContext, params: ParametersOf<"request_waiver">): Promise<WireObject> {
  const { session_id, phase, fields, reason, idempotency_key: idempotencyKey } = params;
  refusePlaceholder("reason", reason, "Say in your own words why it can't be done.");
  const begun = submissionsOf(context.engine).clock.elapsed();
  const asked = await context.engine.session(session_id).requestWaiver(phase, { fields, reason, idempotencyKey });
  await askForWaiver(context, asked, begun);
  return waiverAnswer(context, asked);
}

/** Returns the answer to a request for a waiver; `refused` is the submission that has made it, which counts as no attempt. */
async function waiverAnswer(
  context: ToolContext,
  { sessionId, phase, fields, replayed }: Pick<WaiverRequested, "sessionId" | "phase" | "fields" | "replayed">,
  refused?: Refused,
): Promise<WireObject> {
  const session = context.engine.session(sessionId);
  const state = await session.state();
  // Whoever polls for the decision only wastes calls; but a plan's other tasks can be done meanwhile. Elsewhere nobody need
  // note tasks, so open ones say nothing.
  const isPlan = state.structure.phases[state.head.position]?.gate.kind === "plan";
  const view = isPlan && state.waitsForWaiver && state.tasks.some(isOpen) ? await session.phase() : undefined;
  const meanwhile = view && callInPhase(view, workIn(context, view));
  return {
    session_id: sessionId,
    ...replayNotice(replayed, state),
    phase,
    ...(refused && { checkpoint_passed: false, attempts_left: refused.attemptsLeft }),
    fields,
    ...waiverNotice(state),
    blocked: blockedBy(state),
    next: state.waitsForWaiver ? (meanwhile ?? null) : await callFrom(context, state),
  };
}

/** Asks the person who is present. Without one, or without an answer, the request stays open. */
async function askForWaiver(
  context: ToolContext,
  { sessionId, request }: Pick<WaiverRequested, "sessionId" | "request">,
  begun: number,
): Promise<void> {
  const { engine, askWaiver: ask } = context;
  if (ask === undefined) return;
  const session = engine.session(sessionId);
  const open = await session.waiver();
  // A repeated call may find its request answered.
  if (open?.request !== request) return;
  const deciding = takeAnswer(ask(open), {
    approve: (given) => session.waive({ ...given, request }),
    deny: (given) => session.denyWaiver({ ...given, request }),
  });
  await inTime(context, begun, deciding);
}
