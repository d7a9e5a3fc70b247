/**
 * What must be true at the end of a round of routed sessions:
 *
 * - each log replays in the model, and its chain holds: reports are stored as they were handed in, every decision is on the
 *   report that was open, no report counts for another step, and only what a person has approved is decided behind a gate
 *   that asks for it
 * - what was acknowledged is in the log, once; what was refused or cancelled is not, and there was a moment at which the
 *   model refuses it
 * - a caller is told the decision on its own report, or the state that its report found
 * - a state that was shown is one that the instance had during the call, and no step's text is shown but that of the current one
 * - a repeated key gets the first answer, if that was the last word, and writes nothing
 * - every instance that waits for a person is listed, and no other
 * - every watcher has seen each commit once, in order
 */
import { isPhasegateError } from "phasegate";
import type { RoutedEngine } from "phasegate/routed";
import { STATUS_WORDS } from "../../src/routed/decision/request.js";
import { parseSessionId } from "../../src/workflow/names.js";
import type { Life } from "./host.js";
import { digestOf, watchedBy } from "./phased-check.js";
import type { Answer, Called, RoutedProduct } from "./routed.js";
import { type Decision, decidedOn, isOpen, isPassed, next, type RoutedOp, type RoutedState } from "./routed-model.js";
import { codeOf } from "./store.js";

/** A log with the model's states: `states[version]` is the one after that commit. */
interface Replayed {
  readonly id: string;
  readonly states: readonly (RoutedState | undefined)[];
  readonly bodies: readonly Body[];
  /** The commits that each key has led to. */
  readonly byKey: ReadonlyMap<string, readonly number[]>;
}

type Event =
  | Decision
  | { readonly type: "started"; readonly firstStep?: string }
  | { readonly type: "reported" | "gate_refused"; readonly report: Report }
  | { readonly type: "continued"; readonly of: number }
  | { readonly type: "approval_requested" | "approved" | "denied" | "suspended" | "retried" | "released" };

interface Report {
  readonly n?: number;
  readonly details?: { readonly n?: number; readonly good?: boolean };
}

interface Body {
  readonly keys: readonly (readonly [digest: string, version: number, print: string])[];
  readonly events: readonly Event[];
  readonly head: {
    readonly status: string;
    readonly step?: string;
    readonly pending?: { readonly version: number; readonly awaiting?: unknown };
    readonly attempts: number;
    readonly spent: number;
    readonly context: { readonly last?: number };
  };
}

/** Returns what is wrong. */
export async function checkRouted(product: RoutedProduct, { engine }: Life<RoutedEngine>): Promise<readonly string[]> {
  const { world, calls } = product;
  const problems: string[] = [];
  const instances = new Map<string, Replayed>();
  for (const id of world.store.versions.keys()) {
    const commits = await world.store.commits(parseSessionId(id));
    const bodies = commits.map(({ body }): Body => JSON.parse(body));
    instances.set(id, replay(product, id, bodies, problems));
    const audit = await engine.session(id).audit();
    if (!audit.intact) problems.push(`the chain of ${id} is broken: ${audit.reason}`);
    problems.push(...world.hosts.flatMap((host) => watchedBy(host, id, bodies.length)));
  }
  for (const call of calls) {
    const instance = instances.get(call.id);
    if (instance === undefined) problems.push(`${call.id} was acknowledged, and is gone`);
    else problems.push(...judge(call, instance).map((problem) => `${problem}: ${JSON.stringify(call)}`));
  }
  problems.push(...(await listed(engine, instances)));
  if (problems.length === 0) problems.push(...(await repeated(product, engine, instances)));
  return problems;
}

/** Replays a log in the model. */
function replay({ ops, world }: RoutedProduct, id: string, bodies: readonly Body[], problems: string[]): Replayed {
  const byDigest = new Map([...ops].map(([key, op]) => [digestOf(key), { key, op }]));
  const states: (RoutedState | undefined)[] = [undefined];
  const byKey = new Map<string, number[]>();
  for (const [index, { keys, events, head }] of bodies.entries()) {
    const version = index + 1;
    const wrong = (what: string) => problems.push(`${id}, commit ${version}: ${what}`);
    const [digest] = keys.find(([, made]) => made === version) ?? [];
    const known = digest === undefined ? undefined : byDigest.get(digest);
    const before = states.at(-1);
    let after: RoutedState | undefined;
    if (known !== undefined) {
      const { key, op } = known;
      byKey.set(key, [...(byKey.get(key) ?? []), version]);
      const passes = events.some(({ type }) => type === "reported");
      const [of] = events.flatMap((event) => (event.type === "continued" ? event.of : []));
      const isClear =
        of === undefined && "n" in op && !world.store.trouble.disturbed.has(op.n) && before?.step !== undefined;
      if (isClear && passes !== isPassed(before, op)) wrong(`the gate says ${passes ? "yes" : "no"}`);
      const firstStep = events.flatMap((event) => (event.type === "started" ? (event.firstStep ?? []) : []))[0];
      after = next(before, op, { version, passes, of, firstStep });
      const stored = events.flatMap((event) => ("report" in event ? event.report : []));
      if (stored.some((report) => !isReportOf(report, op))) wrong(`another report than ${JSON.stringify(op)}`);
      if (after === undefined) wrong(`${JSON.stringify(op)} is not possible in ${JSON.stringify(before)}`);
    } else {
      const [event, ...others] = events;
      const isDecision = (event?.type === "decided" || event?.type === "failed") && others.length === 0;
      if (!isDecision) wrong("nobody has asked for it");
      else after = decidedOn(before, event, version);
      if (after === undefined) wrong(`${JSON.stringify(event)} is not possible in ${JSON.stringify(before)}`);
    }
    const difference = after === undefined ? undefined : differs(after, head);
    if (difference !== undefined) wrong(`${difference}: ${JSON.stringify(after)}, but ${JSON.stringify(head)}`);
    states.push(after);
  }
  for (const [key, versions] of byKey) {
    if (versions.length > 1) problems.push(`${key} was carried out ${versions.length} times: ${versions}`);
  }
  return { id, states, bodies, byKey };
}

function isReportOf({ n, details }: Report, op: RoutedOp): boolean {
  if (!("n" in op) || n !== op.n) return false;
  return op.good === undefined ? details === undefined : details?.n === op.n && details.good === op.good;
}

function differs(state: RoutedState, head: Body["head"]): string | undefined {
  if (state.status !== head.status) return "another status";
  if (state.step !== head.step) return "another step";
  if (state.last !== (head.context.last ?? 0)) return "another context";
  if (state.attempts !== head.attempts || state.spent !== head.spent) return "other attempts";
  if (state.pending?.version !== head.pending?.version) return "a report is lost, or new";
  const waits = head.pending?.awaiting !== undefined;
  return (state.pending?.waits === true) === waits ? undefined : "a wait for an approval is lost, or new";
}

/** What ends a question to the decider. */
const ENDS = ["decided", "failed", "suspended", "reported"];

/** Returns what is wrong with what a writer was told. */
function judge(call: Called, { states, bodies, byKey }: Replayed): string[] {
  const { from, to, asked, outcome } = call;
  if (outcome.kind === "lost") return [];
  const during = states.slice(Math.max(from, 1), to + 1).flatMap((state) => state ?? []);
  const own = asked === undefined ? undefined : byKey.get(asked.key)?.[0];
  if (outcome.kind === "answer") {
    const { value } = outcome;
    if (value.others.length > 0) return ["the text of a step was shown that is not the current one"];
    const state = states[value.version];
    if (state === undefined || value.version > to) return ["an answer from a commit that is not in the log"];
    if (!isShown(state, value)) return ["an answer that is not that of its commit"];
    if (asked === undefined) return value.version >= from ? [] : ["an old state was shown"];
    // An earlier try that was given up may be carried out after the answer that wrote nothing.
    const isUnwritten = own === undefined || (own > to && outcome.mayStillHappen);
    if (isUnwritten) return judgeUnwritten(asked.op, from, value, states, during);
    if (own <= from || own > to) return ["a commit was acknowledged that is not of this call"];
    return judgeAnswer(own, value, { states, bodies });
  }
  const code = codeOf(outcome.error);
  if (asked === undefined) return [`a state was refused with ${code}`];
  // The report is kept: a decision that has failed is recorded, unless somebody has ended the question, and its caller told.
  const hasAsked = during.some(isOpen);
  const isEnded = bodies.slice(from, to).some(({ events }) => events.some(({ type }) => ENDS.includes(type)));
  if (code === "DECIDER_FAILED") return hasAsked && isEnded ? [] : ["a decider has failed, and it is not recorded"];
  if (code === "CANCELLED" && isPhasegateError(outcome.error, "CANCELLED") && "sessionId" in outcome.error.details)
    return hasAsked ? [] : ["a decider was waited for that was not asked"];
  if (own !== undefined) return outcome.mayStillHappen ? [] : [`${code}, but it is in the log`];
  if (code === "CANCELLED") return [];
  return during.some((state) => refuses(state, asked.op, code)) ? [] : [`refused with ${code} for nothing`];
}

/** Returns true if an operation is refused with a code in a state. */
function refuses(state: RoutedState, op: RoutedOp, code: string): boolean {
  // Another report was decided first. A client that comes back before the first step waits for it.
  if (code === "CONFLICT") {
    return (
      "n" in op && isOpen(state) && state.pending?.n !== op.n && (op.type === "advance" || state.step !== undefined)
    );
  }
  if (code === "STEP_NOT_CURRENT") return op.type === "advance" && op.step !== state.step;
  if (code === "APPROVAL_REFUSED" && op.type !== "approve" && op.type !== "deny") return false;
  if (code !== "APPROVAL_REFUSED" && code !== "INVALID_TRANSITION") return false;
  // What is over is shown, not refused.
  if ("n" in op) return op.type === "advance" && state.status === "SUSPENDED";
  return next(state, op, { version: 0, passes: true }) === undefined;
}

/** Returns what is wrong with the answer to an operation that has written a commit. */
function judgeAnswer(
  own: number,
  { version, isRefused }: Answer,
  { states, bodies }: Pick<Replayed, "states" | "bodies">,
) {
  const events = bodies[own - 1]?.events ?? [];
  const [of = own] = events.flatMap((event) => (event.type === "continued" ? event.of : []));
  if (version < of) return ["an answer from before the report"];
  const wasRefused = events.some(({ type }) => type === "gate_refused");
  if (wasRefused !== isRefused)
    return [`the gate ${wasRefused ? "has refused it" : "has let it through"}, but not in the answer`];
  if (wasRefused) return version === own ? [] : ["a refusal is not that of the report"];
  return isAnswerTo(of, version, states) || !events.some(({ type }) => type === "reported" || type === "continued")
    ? []
    : ["the decision on another report was told"];
}

/** Returns what is wrong with an answer to an operation that has written nothing. */
function judgeUnwritten(
  op: RoutedOp,
  from: number,
  { version }: Answer,
  states: Replayed["states"],
  during: readonly RoutedState[],
): string[] {
  const state = states[version];
  if (!("n" in op) || state === undefined) return ["an acknowledged commit is not in the log"];
  if (version < from) return ["an old state was shown"];
  const { status, pending } = state;
  const isOver =
    status === "COMPLETED" || (status === "FAILED" && (pending === undefined || pending.n !== op.n || pending.waits));
  // The same report waits for a person, or the client has come back before the first step.
  const isAsked = pending?.waits === true && pending.n === op.n;
  const isBeginning = op.type === "resume" && during.some(({ step }) => step === undefined);
  return isOver || isAsked || isBeginning ? [] : ["an acknowledged report is not in the log"];
}

/** Returns true if a commit is the decision on the report of another one, or comes before it. */
function isAnswerTo(report: number, version: number, states: Replayed["states"]): boolean {
  return version >= report && states.slice(report, version).every((state) => state?.pending !== undefined);
}

function isShown(state: RoutedState, { status, step, waits }: Answer): boolean {
  const isWaiting = state.status === "RUNNING" && state.pending?.waits === true;
  // Logs have the words of the wire.
  return state.status === STATUS_WORDS[status] && state.step === step && isWaiting === waits;
}

/** Returns what is wrong with the list of what waits for a person. */
async function listed(engine: RoutedEngine, instances: ReadonlyMap<string, Replayed>): Promise<string[]> {
  const { items } = await engine.listSessions({ limit: 1000 });
  const found = items.filter(({ waitsFor = [] }) => waitsFor.includes("approval"));
  const waiting = [...instances.values()].filter(({ states }) => {
    const last = states.at(-1);
    return last?.status === "RUNNING" && last.pending?.waits === true;
  });
  const [shown, expected] = [found.map(({ sessionId }) => sessionId), waiting.map(({ id }) => id)].map((ids) =>
    JSON.stringify(ids.sort()),
  );
  return shown === expected ? [] : [`approvals of ${shown} are listed, not of ${expected}`];
}

/** How many calls are repeated of each instance, which remembers its last 16 keys. */
const REPEATED = 16;

/** Returns true for an operation after which the engine has nothing to decide. */
function isDone({ type }: RoutedOp): boolean {
  return type === "suspend" || type === "deny";
}

/** Repeats the last calls with their keys. Reports whose answer was the last word get it again. */
async function repeated(product: RoutedProduct, engine: RoutedEngine, instances: ReadonlyMap<string, Replayed>) {
  const problems: string[] = [];
  for (const { id, states, bodies, byKey } of instances.values()) {
    const last = product.calls.filter(({ id: of, asked, outcome }) => {
      if (of !== id || outcome.kind !== "answer" || asked === undefined) return false;
      const own = byKey.get(asked.key)?.[0];
      const isRecent = own !== undefined && own > states.length - 1 - REPEATED;
      // The answer wrote nothing, and then an earlier try of the same call, which was given up, was carried out.
      if (own !== undefined && own > outcome.value.version && outcome.mayStillHappen) return false;
      const { events = [] } = bodies[outcome.value.version - 1] ?? {};
      const isLastWord = outcome.value.isRefused || events.some(({ type }) => type === "decided");
      return isRecent && (("n" in asked.op && isLastWord) || isDone(asked.op));
    });
    for (const { asked, outcome } of last) {
      if (asked === undefined || outcome.kind !== "answer") continue;
      const said = await product.perform(engine, id, asked.op, asked.key).catch(codeOf);
      const first = JSON.stringify({ ...outcome.value, isReplayed: true });
      // It shows the instance as it is now.
      if (isDone(asked.op) && typeof said !== "string" && said.isReplayed) continue;
      if (JSON.stringify(said) !== first)
        problems.push(`${asked.key} was answered ${first}, and then ${JSON.stringify(said)}`);
    }
    const version = product.world.store.versions.get(id);
    if (version !== bodies.length) problems.push(`repeated calls have written commit ${version} of ${id}`);
  }
  return problems;
}
