/** One session as the page shows it: phases with their states, attempts, commits, and the way through a routed workflow. */

import { BROKEN, type ListedSession } from "../engine/lists.js";
import { isPhasegateError } from "../errors.js";
import { claimedIds, TASKS_FIELD } from "../gate/plan-gate.js";
import { draw, type Graph, phasedGraph, routedGraph } from "../graph/graph.js";
import type { Engine } from "../phased/engine.js";
import type { SessionEvent } from "../phased/state/events.js";
import type { PhaseAttempt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";
import type { SessionCommit } from "../phased/watch.js";
import type { Actor } from "../ports/actor.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedEntry } from "../routed/state/history.js";
import type { RoutedView } from "../routed/types.js";
import { canonicalJson, type JsonObject, type JsonValue } from "../workflow/json.js";
import { FINISH } from "../workflow/routed-definition.js";
import type { TaskDefinition } from "../workflow/structure.js";
import { differencesOf } from "./differences.js";
import { evidenceOf, notThere, waitingIn, waitingInstance } from "./inbox.js";
import { placeIn } from "./sessions.js";
import { type InspectorSources, RecordedReader, type Source } from "./sources.js";
import type {
  AttemptDetail,
  AttemptLine,
  AttemptList,
  CommitLine,
  CommitList,
  PhasedDetail,
  PhaseLine,
  RecordedDetail,
  RoutedDetail,
  SessionDetail,
} from "./wire.js";

const PAGE = 50;

/** Returns a session of any kind, as `actor` may see it; of one that can't be shown, why. */
export async function detailOf(
  { engine, routed, recorded }: InspectorSources,
  sources: readonly Source[],
  id: string,
  actor: Actor | undefined,
): Promise<SessionDetail | undefined> {
  const { kind, summary, damage } = await placeIn(sources, id);
  if (summary === undefined) return { kind: "broken", ...damage };
  try {
    if (kind === "phased") return engine && (await phasedDetail(engine, summary));
    if (kind === "routed") return routed && (await routedDetail(routed, summary));
    return recorded && (await recordedDetail(new RecordedReader(recorded, actor), summary));
  } catch (error) {
    // What a list shows is the newest commit: an older one may be damaged.
    if (!isPhasegateError(error) || !BROKEN.has(error.code)) throw error;
    return { kind: "broken", sessionId: id, code: error.code, message: error.message };
  }
}

/** Returns a phased session. */
async function phasedDetail(engine: Engine, summary: ListedSession): Promise<PhasedDetail> {
  const { sessionId } = summary;
  const [state, attempts] = [await engine.session(sessionId).state(), await engine.session(sessionId).history()];
  const passed = await passedAttempts(engine, state, attempts);
  const phases = state.structure.phases.map(({ number }) => phaseLine(state, attempts, number, passed.get(number)));
  const waiting = await waitingIn(engine, state, attempts);
  return {
    kind: "phased",
    summary,
    version: state.version,
    hash: state.hash,
    workflowName: state.structure.name,
    revision: state.head.revision,
    options: await engine.session(sessionId).options(),
    phases,
    may: mayOf(state),
    drawing: draw(phasedPath(state)),
    notices: noticesOf(state),
    ...(state.plan === undefined ? {} : { plan: state.plan }),
    ...(waiting === undefined ? {} : { awaiting: waiting }),
    ...(state.unapproved === undefined ? {} : { unapproved: state.unapproved.message }),
  };
}

/** Returns the way of a phased session over the graph of its workflow. */
export function phasedPath({ structure, currentPhase, completedPhases, skippedPhases, status }: StateView): Graph {
  return phasedGraph(structure, (number) => {
    if (skippedPhases.includes(number)) return "skipped";
    if (completedPhases.includes(number)) return "done";
    if (number !== currentPhase || status === "completed") return "ahead";
    return status === "failed" ? "failed" : "current";
  });
}

/** Returns the last passed attempt of each phase; of a phase of a plan with the evidence, which claims its tasks. */
async function passedAttempts(
  engine: Engine,
  { sessionId, structure, completedPhases }: StateView,
  attempts: readonly PhaseAttempt[],
): Promise<ReadonlyMap<number, PhaseAttempt>> {
  const last = new Map<number, number>();
  for (const [index, { phase, status }] of attempts.entries())
    if ((status === "completed" || status === "overridden") && completedPhases.includes(phase)) last.set(phase, index);
  const planned = structure.phases.flatMap(({ number, gate }) =>
    gate.kind === "plan" ? (last.get(number) ?? []) : [],
  );
  const all = planned.length === 0 ? attempts : await engine.session(sessionId).history({ evidence: planned });
  return new Map([...last].flatMap(([phase, index]) => (all[index] === undefined ? [] : [[phase, all[index]]])));
}

function phaseLine(
  state: StateView,
  attempts: readonly PhaseAttempt[],
  number: number,
  passed: PhaseAttempt | undefined,
): PhaseLine {
  const phase = state.structure.phases.find((one) => one.number === number);
  const own = attempts.filter((attempt) => attempt.phase === number && attempt.status !== "rolled_back");
  const [first, last] = [own[0], own.at(-1)];
  const isNow = number === state.currentPhase && state.status !== "completed";
  const isDone = state.completedPhases.includes(number);
  const tasks: PhaseLine["tasks"] = isNow
    ? state.tasks.map(({ number, name, done, closed }) => ({ number, name, state: done ? "done" : (closed ?? "open") }))
    : (phase?.tasks ?? []).map((task) => ({ number: task.number, name: task.name, state: taskState(task, passed) }));
  return {
    number,
    name: phase?.name ?? "",
    state: stateOf(state, number, last),
    waived: state.waivedPhases.includes(number),
    tasks,
    attempts: own.filter(
      ({ status, problems }) => status !== "active" || problems !== undefined || (isNow && state.awaitingApproval),
    ).length,
    ...(first === undefined ? {} : { startedAt: first.startedAt }),
    ...(isDone && last?.completedAt !== undefined ? { completedAt: last.completedAt } : {}),
  };
}

/** Returns what was said of a task when its phase was left: by a note, or for a plan by the evidence, which must claim it. */
function taskState(
  { number, plan }: TaskDefinition,
  passed: PhaseAttempt | undefined,
): PhaseLine["tasks"][number]["state"] {
  const { tasks, evidence = {}, waived = [] }: Partial<PhaseAttempt> = passed ?? {};
  if (tasks?.done.includes(number)) return "done";
  if (plan?.state === "dropped") return "dropped";
  if (plan && claimedIds(evidence).includes(plan.id)) return "done";
  if (plan && waived.some(({ fields }) => fields.includes(`${TASKS_FIELD}.${plan.id}`))) return "waived";
  if (!tasks?.givenUp.includes(number)) return "open";
  return plan?.optional ? "skipped" : "given_up";
}

/** Returns what the workflow allows the host at the current phase. */
function mayOf({ structure, currentPhase }: StateView): PhasedDetail["may"] {
  const phase = structure.phases.find(({ number }) => number === currentPhase);
  return { skip: phase?.skippable === true, override: phase?.gate.allowOverride === true };
}

function stateOf(state: StateView, number: number, last: PhaseAttempt | undefined): PhaseLine["state"] {
  if (state.skippedPhases.includes(number)) return "skipped";
  if (state.completedPhases.includes(number)) return last?.status === "overridden" ? "overridden" : "done";
  if (number !== state.currentPhase || state.status === "completed") return "ahead";
  if (state.status === "failed") return "failed";
  if (state.status === "paused") return "paused";
  if (state.awaitingApproval || state.waitsForWaiver) return "waiting";
  return state.head.submission === undefined ? "working" : "refused";
}

function noticesOf(state: StateView): readonly string[] {
  const notices: string[] = [];
  if (state.exhausted) notices.push("The attempts at this phase are used up. Only the host can grant more.");
  for (const { verifier } of state.unrecorded ?? [])
    notices.push(`${verifier} has no snapshot to compare with. A retry of the phase takes one.`);
  if (state.plan?.unreadable !== undefined) notices.push(`The plan can't be read: ${state.plan.unreadable}`);
  if (state.plan?.changed !== undefined) notices.push(`The plan has changed: ${state.plan.changed}.`);
  return notices;
}

/** Returns a page of a session's attempts, newest first. `before` is an index: only those before it. */
export async function attemptsOf(engine: Engine, sessionId: string, before: number | undefined): Promise<AttemptList> {
  const all = await engine.session(sessionId).history();
  const end = Math.min(before ?? all.length, all.length);
  const start = Math.max(0, end - PAGE);
  const items = all.slice(start, end).map((attempt, at): AttemptLine => ({ ...attempt, index: start + at }));
  return { items: items.reverse(), total: all.length, ...(start === 0 ? {} : { cursor: String(start) }) };
}

/** Returns one attempt with its evidence, and what changed since the attempt before at the same phase. */
export async function attemptOf(engine: Engine, sessionId: string, index: number): Promise<AttemptDetail> {
  const all = await engine.session(sessionId).history();
  const attempt = all[index];
  if (attempt === undefined) throw notThere(`there is no attempt ${index}`, sessionId);
  const before = all.findLastIndex(({ phase }, at) => at < index && phase === attempt.phase);
  const [now, then] = await evidenceOf(engine, sessionId, [index, before]);
  const differences = then === undefined || now === undefined ? {} : { differences: differencesOf(then, now) };
  const evidence = now === undefined ? {} : { evidence: now };
  const artifact = await artifactOf(engine, sessionId, attempt, now);
  return { ...attempt, index, ...evidence, ...differences, ...(artifact === undefined ? {} : { artifact }) };
}

/** Returns what later phases get of a passed attempt, if that is not its evidence. */
async function artifactOf(
  engine: Engine,
  sessionId: string,
  { phase, status, completedAt }: PhaseAttempt,
  evidence: JsonObject | undefined,
): Promise<JsonValue | undefined> {
  if (status !== "completed" || evidence === undefined) return undefined;
  try {
    const found = await engine.session(sessionId).artifact(phase);
    if (found?.at !== completedAt || found === undefined) return undefined;
    return canonicalJson(found.artifact) === canonicalJson(evidence) ? undefined : found.artifact;
  } catch (error) {
    // A sync has removed the phase, or the host does not accept the approval that it passed with.
    if (isPhasegateError(error, "PHASE_OUT_OF_RANGE") || isPhasegateError(error, "PHASE_LOCKED")) return undefined;
    throw error;
  }
}

/** Returns a page of a session's log, newest first. */
export async function commitsOf(engine: Engine, sessionId: string, before: number | undefined): Promise<CommitList> {
  const { version } = await engine.session(sessionId).state();
  const commits = await engine.session(sessionId).commits({ limit: PAGE, ...(before === undefined ? {} : { before }) });
  const last = commits.at(-1)?.version ?? 1;
  return { items: commits.map(commitLine), total: version, ...(last <= 1 ? {} : { cursor: String(last) }) };
}

function commitLine({ version, at, hash, events }: SessionCommit): CommitLine {
  const by = events.map(byOf).find((name) => name !== undefined);
  const note = events.map(noteOf).find((text) => text !== undefined);
  return {
    version,
    at,
    hash,
    events: events.map(({ type }) => type),
    ...(by === undefined ? {} : { by }),
    ...(note === undefined ? {} : { note }),
  };
}

function byOf(event: SessionEvent): string | undefined {
  if ("operator" in event && event.operator !== undefined) return event.operator;
  return "by" in event ? event.by : undefined;
}

function noteOf(event: SessionEvent): string | undefined {
  if ("note" in event) return event.note;
  return "reason" in event ? event.reason : undefined;
}

/** Returns a routed session. */
async function routedDetail(routed: RoutedEngine, summary: ListedSession): Promise<RoutedDetail> {
  const { sessionId } = summary;
  const [view, entries] = [await routed.session(sessionId).state(), await routed.session(sessionId).history()];
  const waiting = waitingInstance(view);
  const path = await pathOf(routed, view, entries);
  return {
    kind: "routed",
    summary,
    version: view.version,
    drawing: draw(path),
    context: view.context,
    entries,
    ...(waiting === undefined ? {} : { awaiting: waiting }),
    ...(view.reason === undefined ? {} : { reason: view.reason }),
    ...(view.unapproved === undefined ? {} : { unapproved: `${view.unapproved.step}: ${view.unapproved.distrust}` }),
  };
}

/** Returns the way of a routed session over the graph of its workflow, as far as that still exists. */
export async function routedPath(routed: RoutedEngine, sessionId: string): Promise<Graph> {
  return pathOf(routed, await routed.session(sessionId).state(), await routed.session(sessionId).history());
}

async function pathOf(routed: RoutedEngine, view: RoutedView, entries: readonly RoutedEntry[]): Promise<Graph> {
  const listing = (await routed.listWorkflows()).find(({ name }) => name === view.workflow);
  const definition = listing?.status === "ready" ? listing.definition : undefined;
  const decided = entries.flatMap(({ determinedNextStep }) => determinedNextStep ?? []);
  const first = entries.find(({ stepName }) => stepName !== "")?.stepName ?? view.currentStep;
  const steps = [...(first === undefined || decided[0] === first ? [] : [first]), ...decided];
  const end = view.status === "COMPLETED" && steps.at(-1) !== FINISH ? [FINISH] : [];
  return routedGraph(definition, { steps: [...steps, ...end], failed: view.status === "FAILED" });
}

/** Returns a recorded session. */
async function recordedDetail(reader: RecordedReader, summary: ListedSession): Promise<RecordedDetail> {
  const found = await reader.read(summary.sessionId);
  if (found === undefined) throw notThere("it is gone", summary.sessionId);
  const { head, version, hash, entries } = found;
  const agent = head.agent === undefined ? {} : { agent: head.agent };
  return { kind: "recorded", summary, version, hash, entries, ...agent };
}
