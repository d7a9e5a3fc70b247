/**
 * What must be true at the end of a round of phased sessions:
 *
 * - each log replays in the model, and its chain holds
 * - what was acknowledged is in the log, once; what was refused is not, and there was a moment at which the model refuses it
 * - a state that was shown is one that the session had during the call; a phase was shown only if the model had reached it
 * - a repeated key gets the first answer, and writes nothing
 * - every session that waits for a person is listed, and no other
 * - every watcher has seen each commit once, in order
 */
import { createHash } from "node:crypto";
import type { Engine } from "phasegate";
import type { Commit } from "../../src/ports/storage-adapter.js";
import { parseSessionId } from "../../src/workflow/names.js";
import type { Host, Life } from "./host.js";
import type { Called, PhasedProduct } from "./phased.js";
import { textOf } from "./phased.js";
import { LAST_PHASE, mayRead, next, type Op, type State, without } from "./phased-model.js";
import { codeOf } from "./store.js";

/** A session's log with the model's states: `states[version]` is the one after that commit. */
interface Replayed {
  readonly sessionId: string;
  readonly states: readonly (State | undefined)[];
  /** The commits that each key has led to. */
  readonly byKey: ReadonlyMap<string, readonly number[]>;
}

interface Body {
  readonly keys: readonly (readonly [digest: string, version: number, print: string])[];
  readonly events: readonly { readonly type: string; readonly snapshots?: readonly { readonly failed?: string }[] }[];
  readonly head: {
    readonly status: string;
    readonly phase: number;
    readonly attempts: number;
    readonly tasks?: { readonly done: readonly (readonly [from: number, to: number])[] };
    readonly awaiting?: unknown;
    readonly waiver?: { readonly denied?: true };
    readonly waived?: readonly unknown[];
  };
}

/** The errors that say that the session's state does not allow an operation. */
const REFUSALS = ["INVALID_TRANSITION", "PHASE_LOCKED", "PHASE_ALREADY_COMPLETED", "PHASE_OUT_OF_RANGE"];
const OTHER_REFUSALS = ["ATTEMPTS_EXHAUSTED", "APPROVAL_REFUSED", "NOT_ALLOWED", "INVALID_INPUT"];

/** What an engine writes by itself. */
const UNASKED = ["step_refused", "plan_ticked", "snapshots_taken"];

/** Returns what is wrong. */
export async function checkPhased(product: PhasedProduct, { engine }: Life<Engine>): Promise<readonly string[]> {
  const { world, calls } = product;
  const problems: string[] = [];
  const sessions = new Map<string, Replayed>();
  for (const sessionId of world.store.versions.keys()) {
    const commits = await world.store.commits(parseSessionId(sessionId));
    const replayed = replay(product, sessionId, commits, problems);
    sessions.set(sessionId, replayed);
    const audit = await engine.session(sessionId).audit();
    if (!audit.intact) problems.push(`the chain of ${sessionId} is broken: ${audit.reason}`);
    const newest = commits.at(-1);
    problems.push(...world.hosts.flatMap((host) => watchedBy(host, sessionId, newest?.version ?? 0)));
  }
  for (const call of calls) {
    const session = sessions.get(call.sessionId);
    if (session === undefined) problems.push(`${call.sessionId} was acknowledged to ${call.writer}, and is gone`);
    else problems.push(...judge(call, session).map((problem) => `${problem}: ${JSON.stringify(call)}`));
  }
  problems.push(...(await listed(engine, sessions)));
  if (problems.length === 0) problems.push(...(await repeated(product, engine, sessions)));
  return problems;
}

/** How far the clocks of hosts may be from the time, and how long a round may take, in milliseconds. */
const CLOCKS_MS = 3_600_000;

/** Replays a log in the model. */
function replay(product: PhasedProduct, sessionId: string, commits: readonly Commit[], problems: string[]): Replayed {
  const byDigest = new Map([...product.ops].map(([key, op]) => [digestOf(key), { key, op }]));
  const states: (State | undefined)[] = [undefined];
  const byKey = new Map<string, number[]>();
  let previous = "";
  for (const [index, { version, at, previousHash, hash, body }] of commits.entries()) {
    const wrong = (what: string) => problems.push(`${sessionId}, commit ${version}: ${what}`);
    if (Math.abs(Date.parse(at) - product.world.schedule.now) > CLOCKS_MS) wrong("its time is that of no host");
    if (version !== index + 1 || previousHash !== previous) wrong("it does not follow the one before it");
    previous = hash;
    const { keys, events, head }: Body = JSON.parse(body);
    const [digest] = keys.find(([, made]) => made === version) ?? [];
    const known = digest === undefined ? undefined : byDigest.get(digest);
    let state = states.at(-1);
    if (known === undefined) {
      if (events.some(({ type }) => !UNASKED.includes(type))) wrong("nobody has asked for it");
    } else {
      byKey.set(known.key, [...(byKey.get(known.key) ?? []), version]);
      const passes = events.some(({ type }) => type === "gate_passed" || type === "approval_requested");
      if (known.op.type === "submit" && !product.world.store.trouble.disturbed.has(known.op.n) && !state?.lacks) {
        if (passes !== (known.op.good || state?.isWaived === true)) wrong(`the gate says ${passes ? "yes" : "no"}`);
      }
      state = next(state, known.op, { passes, isAsked: state?.phase === product.approvedPhase });
      if (state === undefined) wrong(`${JSON.stringify(known.op)} is not possible in ${JSON.stringify(states.at(-1))}`);
    }
    const taken = events.flatMap(({ snapshots = [] }) => snapshots);
    if (state !== undefined && taken.length > 0) {
      const isLacking = taken.some(({ failed }) => failed !== undefined);
      state = isLacking ? { ...state, lacks: "untold" } : without(state, "lacks");
    }
    const difference = state === undefined ? undefined : differs(state, head);
    if (difference !== undefined) wrong(`${difference}: ${JSON.stringify(state)}, but ${JSON.stringify(head)}`);
    states.push(state);
  }
  for (const [key, versions] of byKey) {
    if (versions.length > 1)
      problems.push(`${sessionId}: ${key} was carried out ${versions.length} times: ${versions}`);
  }
  return { sessionId, states, byKey };
}

/** The numbers that tasks have. */
const TASKS = [1, 2, 3];

function differs(state: State, head: Body["head"]): string | undefined {
  if (state.status !== head.status) return "another status";
  if (state.phase !== head.phase) return "another phase";
  if (state.status === "completed") return undefined;
  if (state.inARow !== head.attempts) return "other attempts";
  const done = (task: number) => head.tasks?.done.some(([from, to]) => from <= task && task <= to) === true;
  if (TASKS.some((task) => state.tasks.includes(task) !== done(task))) return "other tasks are noted as done";
  if ((state.waits !== undefined) !== (head.awaiting !== undefined)) return "a wait for an approval is lost, or new";
  const asks = head.waiver !== undefined && head.waiver.denied !== true;
  if ((state.asks !== undefined) !== asks) return "a wait for a waiver is lost, or new";
  return state.isWaived === (head.waived ?? []).length > 0 ? undefined : "a waiver is lost, or new";
}

/** Returns what is wrong with what a writer was told. */
function judge(call: Called, { states, byKey }: Replayed): string[] {
  const { from, to, asked, shown } = call;
  const during = states.slice(Math.max(from, 1), to + 1).flatMap((state) => state ?? []);
  if (shown?.type === "state") {
    const state = states[shown.version];
    if (shown.version < from || shown.version > to || state === undefined) return ["an old state was shown"];
    const isWaiting = state.status === "active" && state.waits !== undefined;
    const isRight = state.status === shown.status && state.phase === shown.phase && isWaiting === shown.waits;
    return isRight && (state.asks !== undefined) === shown.asks ? [] : ["a state was shown that was none"];
  }
  if (shown?.type === "phase") {
    const { text, phase } = shown;
    const isReadable = (state: State) => mayRead(state, phase);
    if (text === undefined) return during.every(isReadable) ? ["a phase was locked that was open"] : [];
    if (!during.some(isReadable)) return ["a phase was shown ahead of its gate"];
    const others = Array.from({ length: LAST_PHASE }, (_, index) => index + 1).filter((other) => other > phase);
    if (others.some((other) => text.includes(textOf(other)))) return ["a later phase was shown"];
    return text.includes(textOf(phase)) ? [] : ["another text was shown"];
  }
  if (asked === undefined) return [];
  const versions = byKey.get(asked.key) ?? [];
  switch (asked.outcome.kind) {
    case "lost":
      return [];
    case "answer": {
      const [version] = versions;
      if (version === undefined && isNothingNew(asked.op, during)) return [];
      if (version === undefined) return ["an acknowledged commit is not in the log"];
      const said = asked.outcome.value.version;
      if (said !== undefined && said !== version) return [`version ${String(said)} was acknowledged, not ${version}`];
      return version > from && version <= to ? [] : ["a commit was acknowledged that is not of this call"];
    }
    case "refusal": {
      const code = codeOf(asked.outcome.error);
      if (code === "CANCELLED") {
        return versions.length === 0 || asked.outcome.mayStillHappen ? [] : ["what was cancelled is in the log"];
      }
      if (![...REFUSALS, ...OTHER_REFUSALS].includes(code)) return [`refused with ${code}`];
      if (versions.length > 0) return asked.outcome.mayStillHappen ? [] : ["what was refused is in the log"];
      return during.some((state) => next(state, asked.op, { passes: true, isAsked: false }) === undefined)
        ? []
        : [`refused with ${code} for nothing`];
    }
  }
}

/** Returns true for an operation that is acknowledged without a commit if it changes nothing. */
function isNothingNew(op: Op, during: readonly State[]): boolean {
  return op.type === "sync" || (op.type === "task" && during.some(({ tasks }) => tasks.includes(op.task)));
}

/** Returns what is wrong with the lists of what waits for a person. */
async function listed(engine: Engine, sessions: ReadonlyMap<string, Replayed>): Promise<string[]> {
  const waiting = (isMeant: (state: State) => boolean) =>
    [...sessions.values()].filter(({ states }) => states.at(-1) !== undefined && isMeant(states.at(-1) as State));
  const ids = (list: readonly { readonly sessionId: string }[]) =>
    JSON.stringify(list.map((one) => one.sessionId).sort());
  const problems: string[] = [];
  const approvals = ids(await engine.approvals());
  const expected = ids(waiting(({ status, waits }) => status === "active" && waits !== undefined));
  if (approvals !== expected) problems.push(`approvals of ${approvals} are listed, not of ${expected}`);
  const waivers = ids(await engine.waivers());
  const asked = ids(waiting(({ status, asks }) => status !== "completed" && asks !== undefined));
  if (waivers !== asked) problems.push(`waivers of ${waivers} are listed, not of ${asked}`);
  return problems;
}

/** How many calls are repeated of each session. A session remembers its last 16 keys. */
const REPEATED = 16;

/** Repeats the last calls with their keys. */
async function repeated(product: PhasedProduct, engine: Engine, sessions: ReadonlyMap<string, Replayed>) {
  const problems: string[] = [];
  for (const { sessionId, states, byKey } of sessions.values()) {
    const last = product.calls.filter(({ asked, sessionId: of }) => {
      if (of !== sessionId || asked?.outcome.kind !== "answer" || asked.op.type === "start") return false;
      // Without a commit of its own, a call that changed nothing is not remembered.
      const [own] = byKey.get(asked.key) ?? [];
      return own !== undefined && own > states.length - 1 - REPEATED;
    });
    for (const { asked } of last) {
      if (asked?.outcome.kind !== "answer") continue;
      const first = JSON.stringify(asked.outcome.value);
      const said = await answerTo(product, engine, sessionId, asked);
      if (said !== first) problems.push(`${asked.key} was answered ${first}, and then ${said}`);
    }
    const version = product.world.store.versions.get(sessionId);
    if (version !== states.length - 1) problems.push(`repeated calls have written commit ${version} of ${sessionId}`);
  }
  return problems;
}

async function answerTo(
  product: PhasedProduct,
  engine: Engine,
  sessionId: string,
  { op, key }: { readonly op: Op; readonly key: string },
): Promise<string> {
  try {
    return JSON.stringify(await product.perform(engine, sessionId, op, key));
  } catch (error) {
    return codeOf(error);
  }
}

/** Returns what is wrong with what the watchers of a host have seen of a session. */
export function watchedBy({ watched }: Pick<Host<unknown>, "watched">, sessionId: string, newest: number): string[] {
  return watched.flatMap(({ of, seen, from, old, own, ready, isOver }) => {
    const versions = seen.get(sessionId) ?? [];
    const wanted = Math.min(
      ready === undefined ? newest + 1 : (ready.get(sessionId) ?? 0) + 1,
      own.get(sessionId) ?? newest + 1,
    );
    const first = versions[0] ?? wanted;
    const end = first + versions.length;
    const isInOrder = versions.every((version, index) => version === first + index);
    const isNew = first > (old.get(sessionId) ?? 0) && first <= wanted;
    const isComplete = isOver ? versions.length === 0 || end <= newest + 1 : ready !== undefined && end === newest + 1;
    if (isInOrder && isNew && isComplete) return [];
    const since = `${from.get(sessionId) ?? 0} when it began, and ${ready === undefined ? "none" : (ready.get(sessionId) ?? 0)} when it was ready`;
    return [`the watcher of ${of} saw ${versions} of ${sessionId}, which had ${since}; now ${newest}`];
  });
}

/** Returns a key as logs have it. */
export function digestOf(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 24);
}
