/** One session as people are shown it: its phases with their states, attempts, commits, and the way through its workflow. */

import { BROKEN, type ListedSession } from "../engine/lists.js";
import { isPhasegateError } from "../errors.js";
import { claimedIds, TASKS_FIELD } from "../gate/plan-gate.js";
import { draw, type Graph, phasedGraph, routedGraph } from "../graph/graph.js";
import type { Engine } from "../phased/engine.js";
import { isOnOlder, newestRevisions } from "../phased/revisions.js";
import type { Session } from "../phased/session.js";
import type { Waived } from "../phased/state/events.js";
import { isAttemptAt, type PhaseAttempt } from "../phased/state/history.js";
import type { SessionCommit } from "../phased/state/machine.js";
import type { StateView } from "../phased/views.js";
import type { Actor } from "../ports/actor.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedEntry } from "../routed/state/history.js";
import type { RoutedView } from "../routed/types.js";
import { canonicalJson, defined, type JsonObject, type JsonValue } from "../workflow/json.js";
import { FINISH } from "../workflow/routed-definition.js";
import type { TaskDefinition, WorkflowStructure } from "../workflow/structure.js";
import { eventWords } from "./commit-words.js";
import { differencesOf } from "./differences.js";
import { placeIn } from "./lists.js";
import type {
  AttemptDetail,
  AttemptList,
  CommitLine,
  CommitList,
  PhasedDetail,
  PhaseLine,
  RecordedDetail,
  RoutedDetail,
  SessionDetail,
} from "./model.js";
import { phaseState } from "./phase-state.js";
import { type InspectorSources, notThere, RecordedReader, type Source } from "./sources.js";
import { evidenceOf, waitingIn, waitingInstance } from "./waiting.js";
import { whyPhased, whyRecorded, whyRouted } from "./why.js";

const PAGE = 50;

/** Returns a session of any kind, as `actor` may see it; of one that can't be shown, why. */
export async function detailOf(
  { engine, routed, recorded }: InspectorSources,
  sources: readonly Source[],
  id: string,
  actor: Actor | undefined,
): Promise<SessionDetail | undefined> {
  const { kind, summary, damage } = await placeIn(sources, id);
  if (summary === undefined) return damage && { kind: "broken", ...damage };
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

async function phasedDetail(engine: Engine, summary: ListedSession): Promise<PhasedDetail> {
  const session = engine.session(summary.sessionId);
  const [state, attempts] = [await session.state(), await session.history()];
  const passed = await passedAttempts(session, state, attempts);
  const phase = state.structure.phases.find(({ number }) => number === state.currentPhase);
  return {
    kind: "phased",
    summary,
    why: whyPhased(summary, state, attempts),
    version: state.version,
    hash: state.hash,
    workflowName: state.structure.name,
    revision: state.head.revision,
    options: await session.options(),
    phases: state.structure.phases.map(({ number }) => phaseLine(state, attempts, number, passed.get(number))),
    may: { skip: phase?.skippable === true, override: phase?.gate.allowOverride === true },
    drawing: draw(phasedPath(state)),
    notices: [
      ...noticesOf(state),
      ...(isOnOlder(summary, await newestRevisions(engine))
        ? [
            "The workflow has changed since: the session keeps the revision that it is on. `phasegate migrate` moves it.",
          ]
        : []),
    ],
    parent: state.parent,
    children: state.children,
    plan: state.plan,
    awaiting: await waitingIn(session, state, attempts),
    unapproved: state.unapproved?.message,
  };
}

export function phasedPath(state: StateView): Graph {
  return phasedGraph(state.structure, (number) => {
    const phase = phaseState(state, number);
    return phase === "done" || phase === "skipped" || phase === "ahead" || phase === "failed" ? phase : "current";
  });
}

/** Returns the last passed attempt of each phase; of a phase of a plan with the evidence, which claims its tasks. */
async function passedAttempts(
  session: Session,
  { structure, completedPhases }: StateView,
  attempts: readonly PhaseAttempt[],
): Promise<ReadonlyMap<number, PhaseAttempt>> {
  const last = new Map<number, number>();
  for (const [index, { phase, status }] of attempts.entries())
    if ((status === "completed" || status === "overridden") && completedPhases.includes(phase)) last.set(phase, index);
  const planned = structure.phases.flatMap(({ number, gate }) =>
    gate.kind === "plan" ? (last.get(number) ?? []) : [],
  );
  const all = planned.length === 0 ? attempts : await session.history({ evidence: planned });
  return new Map([...last].flatMap(([phase, index]) => (all[index] === undefined ? [] : [[phase, all[index]]])));
}

function phaseLine(
  state: StateView,
  attempts: readonly PhaseAttempt[],
  number: number,
  passed: PhaseAttempt | undefined,
): PhaseLine {
  const phase = state.structure.phases.find((one) => one.number === number);
  const own = attempts.filter((attempt) => isAttemptAt(attempt, number) && attempt.status !== "rolled_back");
  const last = own.at(-1);
  const isNow = number === state.currentPhase && state.status !== "completed";
  const tasks: PhaseLine["tasks"] = isNow
    ? state.tasks.map(({ number, name, done, closed }) => ({ number, name, state: done ? "done" : (closed ?? "open") }))
    : (phase?.tasks ?? []).map((task) => ({ number: task.number, name: task.name, state: taskState(task, passed) }));
  return {
    number,
    name: phase?.name ?? "",
    state: phaseState(state, number, last),
    waivers: waiversOf(isNow ? state.waived : passed?.waived, own),
    tasks,
    attempts: own.filter(
      ({ status, problems }) => status !== "active" || problems !== undefined || (isNow && state.awaitingApproval),
    ).length,
    startedAt: own[0]?.startedAt,
    completedAt: state.completedPhases.includes(number) ? last?.completedAt : undefined,
  };
}

/** Returns the waivers that count, each with the time at which it was granted. */
function waiversOf(waived: readonly Waived[] = [], attempts: readonly PhaseAttempt[]): PhaseLine["waivers"] {
  const granted = attempts.flatMap(({ notes = [] }) => notes.filter(({ event }) => event === "waiver_granted"));
  return waived.map(({ fields, by, reason, note }) => {
    const at = granted.findLast((one) => one.by === by && one.fields?.join() === fields.join())?.at;
    return { fields, by, at, reason, note };
  });
}

/** Returns what was said of a task when its phase was left: by a note, or for a plan by the evidence, which must claim it. */
function taskState(
  { number, plan }: TaskDefinition,
  { tasks, evidence = {}, waived = [] }: Partial<PhaseAttempt> = {},
): PhaseLine["tasks"][number]["state"] {
  if (tasks?.done.includes(number)) return "done";
  if (plan?.state === "dropped") return "dropped";
  if (plan && claimedIds(evidence).includes(plan.id)) return "done";
  if (plan && waived.some(({ fields }) => fields.includes(`${TASKS_FIELD}.${plan.id}`))) return "waived";
  if (!tasks?.givenUp.includes(number)) return "open";
  return plan?.optional ? "skipped" : "given_up";
}

function noticesOf({ exhausted, unrecorded = [], plan }: StateView): readonly string[] {
  return [
    ...(exhausted ? ["The attempts at this phase are used up. Only the host can grant more."] : []),
    ...unrecorded.map(({ verifier }) => `${verifier} has no snapshot to compare with. A retry of the phase takes one.`),
    ...(plan?.unreadable === undefined ? [] : [`The plan can't be read: ${plan.unreadable}`]),
    ...(plan?.changed === undefined ? [] : [`The plan has changed: ${plan.changed}.`]),
  ];
}

/** Returns a page of a session's attempts, newest first. `before` is an index: only those before it. */
export async function attemptsOf(session: Session, before: number | undefined): Promise<AttemptList> {
  const all = await session.history();
  const end = Math.min(before ?? all.length, all.length);
  const start = Math.max(0, end - PAGE);
  const items = all.slice(start, end).map((attempt, at) => ({ ...attempt, index: start + at }));
  return { items: items.reverse(), total: all.length, cursor: start === 0 ? undefined : String(start) };
}

/** Returns one attempt with its evidence, and what changed since the attempt before at the same phase. */
export async function attemptOf(session: Session, index: number): Promise<AttemptDetail> {
  const all = await session.history();
  const attempt = all[index];
  if (attempt === undefined) throw notThere(`there is no attempt ${index}`, session.id);
  const before = all.findLastIndex(
    ({ phase, gone }, at) => at < index && phase === attempt.phase && gone === attempt.gone,
  );
  const [evidence, then] = await evidenceOf(session, [index, before]);
  const differences = then && evidence && differencesOf(then, evidence);
  return { ...attempt, index, evidence, differences, artifact: await artifactOf(session, attempt, evidence) };
}

/** Returns what later phases get of a passed attempt, if that is not its evidence. */
async function artifactOf(
  session: Session,
  { phase, status, completedAt }: PhaseAttempt,
  evidence: JsonObject | undefined,
): Promise<JsonValue | undefined> {
  if (status !== "completed" || evidence === undefined) return undefined;
  try {
    const found = await session.artifact(phase);
    if (found?.at !== completedAt || found === undefined) return undefined;
    return canonicalJson(found.artifact) === canonicalJson(evidence) ? undefined : found.artifact;
  } catch (error) {
    // A sync has removed the phase, or the host does not accept the approval that it passed with.
    if (isPhasegateError(error, "PHASE_OUT_OF_RANGE") || isPhasegateError(error, "PHASE_LOCKED")) return undefined;
    throw error;
  }
}

/** Returns a page of a session's log, newest first. */
export async function commitsOf(session: Session, before: number | undefined): Promise<CommitList> {
  const { version, structure } = await session.state();
  const commits = await session.commits(defined({ limit: PAGE, before }));
  const last = commits.at(-1)?.version ?? 1;
  const items = commits.map((commit) => commitLine(commit, structure));
  return { items, total: version, cursor: last <= 1 ? undefined : String(last) };
}

function commitLine({ version, at, hash, events }: SessionCommit, structure: WorkflowStructure): CommitLine {
  const said = events.flatMap((event) => [
    "note" in event ? event.note : undefined,
    "reason" in event ? event.reason : undefined,
  ]);
  const note = said.find((text) => text !== undefined);
  return { version, at, hash, events: events.map((event) => eventWords(event, structure)), note };
}

async function routedDetail(routed: RoutedEngine, summary: ListedSession): Promise<RoutedDetail> {
  const session = routed.session(summary.sessionId);
  const [view, entries] = [await session.state(), await session.history()];
  const { version, context, reason, unapproved } = view;
  return {
    ...{ kind: "routed", summary, version, context, entries, reason },
    why: whyRouted(summary, view, entries),
    drawing: draw(await pathOf(routed, view, entries)),
    awaiting: waitingInstance(view),
    unapproved: unapproved && `${unapproved.step}: ${unapproved.distrust}`,
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
  const end = view.status === "completed" && steps.at(-1) !== FINISH ? [FINISH] : [];
  return routedGraph(definition, { steps: [...steps, ...end], failed: view.status === "failed" });
}

async function recordedDetail(reader: RecordedReader, summary: ListedSession): Promise<RecordedDetail> {
  const found = await reader.read(summary.sessionId);
  if (found === undefined) throw notThere("it is gone", summary.sessionId);
  const { head, version, hash, entries } = found;
  return { kind: "recorded", summary, why: whyRecorded(summary, entries), version, hash, entries, agent: head.agent };
}
