import type { JsonObject } from "../definition/json.js";
import type { SessionId } from "../definition/names.js";
import type { WorkflowStructure } from "../definition/structure.js";
import { approvalOf } from "../session/approval.js";
import type { SessionHead } from "../session/head.js";
import { inRanges, type Ranges } from "../session/ranges.js";
import type { AwaitedApproval, Denial } from "./approval/awaited.js";
import { notBelieved, type UnapprovedPass } from "./approval/ledger.js";
import { viewAwaited, viewDenial } from "./approval/view-awaited.js";
import { type ArtifactView, loadArtifacts } from "./artifacts.js";
import type { EngineContext, LoadedSession } from "./engine-context.js";
import type { PlanView } from "./plan/live-plan.js";
import { loadPlanned } from "./plan/load-planned.js";
import { type Standing, standingOf } from "./standing.js";

/** A gate that was passed on an approval that this host does not believe, and what to do about it. */
export interface UnapprovedView extends UnapprovedPass {
  /** What is wrong, in a sentence. */
  readonly message: string;
  readonly remedy: string;
}

/** Where a session stands. */
export interface StateView extends Standing {
  readonly version: number;
  /** A receipt for {@link Engine.audit}: keep it elsewhere. */
  readonly hash: string;
  readonly head: SessionHead;
  readonly structure: WorkflowStructure;
  readonly updatedAt: string;
  readonly completedPhases: readonly number[];
  readonly skippedPhases: readonly number[];
  /** The plan that its phases come out of, where they do. */
  readonly plan?: PlanView;
  /** What it waits for, where it waits for a person. */
  readonly awaiting?: AwaitedApproval;
  /** The person's no to the last submission, where that was its end. */
  readonly denied?: Denial;
  /**
   * The gate that the log has as passed on an approval that this host does not believe. All else here is the session
   * before that: what comes after it in the log does not count. Missing where there is none, and at hosts that know no
   * approvers.
   */
  readonly unapproved?: UnapprovedView;
}

/** A session with what its log holds. */
export interface FullStateView extends StateView {
  readonly artifacts: readonly ArtifactView[];
  /** The options that it was started with. */
  readonly options: JsonObject;
}

/** Where a session stands, from its head, and its plan, alone: costs the same however long its log is. */
export function viewState(context: EngineContext, loaded: LoadedSession): StateView | Promise<StateView> {
  const { structure, session, unapproved } = loaded;
  if (unapproved !== undefined) {
    const { message, remedy } = notBelieved(unapproved);
    return { ...stateOf(context, loaded), awaitingApproval: false, unapproved: { ...unapproved, message, remedy } };
  }
  const asksPerson = approvalOf(structure.phases[session.head.position]?.gate) !== undefined;
  if (structure.plan === undefined && !asksPerson) return stateOf(context, loaded);
  return withMore(context, loaded);
}

/** What a plan and a person have to say, which stands in other places than the head. */
async function withMore(context: EngineContext, loaded: LoadedSession): Promise<StateView> {
  const state = loaded.structure.plan === undefined ? stateOf(context, loaded) : await withPlan(context, loaded);
  const awaiting = await viewAwaited(context, loaded.session);
  const denied = await viewDenial(context, loaded.session);
  return { ...state, ...(awaiting === undefined ? {} : { awaiting }), ...(denied === undefined ? {} : { denied }) };
}

async function withPlan(context: EngineContext, loaded: LoadedSession): Promise<StateView> {
  const { livePlan } = await loadPlanned();
  const live = await livePlan(context, loaded);
  return { ...stateOf(context, loaded), ...(live === undefined ? {} : { plan: live.view }) };
}

function stateOf(context: EngineContext, { session, structure }: LoadedSession): StateView {
  const { version, hash, head, at } = session;
  const numbers = (ranges: Ranges) =>
    structure.phases.filter((_, position) => inRanges(ranges, position)).map(({ number }) => number);
  return {
    ...standingOf(context, session),
    version,
    hash,
    head,
    structure,
    updatedAt: at,
    completedPhases: numbers(head.completed),
    skippedPhases: numbers(head.skipped),
  };
}

/** Where a session stands, with artifacts and options out of its log. */
export async function viewFullState(context: EngineContext, loaded: LoadedSession): Promise<FullStateView> {
  const { session } = loaded;
  return {
    ...(await viewState(context, loaded)),
    artifacts: await loadArtifacts(context, session),
    options: await startOptions(context, session.sessionId),
  };
}

/** The options that a session was started with. */
export async function startOptions({ kernel }: EngineContext, sessionId: SessionId): Promise<JsonObject> {
  const { events } = await kernel.at(sessionId, 1);
  const started = events.find(({ type }) => type === "started");
  return started?.type === "started" ? started.options : {};
}
