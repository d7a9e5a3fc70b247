/**
 * Phases that are workflows of their own: which children the current phase asks for, and what has become of each. The gate looks
 * at the children's own logs, and hands on their artifacts.
 */

import { isPhasegateError } from "../errors.js";
import { surroundingsOf } from "../gate/run-gate-rules.js";
import type { Problem } from "../gate/verdict.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import { assignmentsOf } from "../rules/child-rules.js";
import {
  type Assignment,
  assignmentKey,
  CHILD_CHECK,
  type ChildWorkflow,
  childWorkflowOf,
} from "../workflow/child-workflow.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import { parseSessionId, type SessionId, shown } from "../workflow/names.js";
import { PhaseNames } from "../workflow/phase-names.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { loadArtifacts } from "./artifacts.js";
import { loadSession, requirePhase } from "./context.js";
import type { EngineContext, LoadedSession } from "./engine-context.js";
import { ruleSurroundings } from "./gate-answer.js";
import type { ChildReceipt, Verification } from "./state/events.js";
import type { SessionHead } from "./state/head.js";
import type { PhasedSession } from "./state/machine.js";

/** A child of a session, or one that is still to be started. */
export interface ChildView {
  /** Its place among those that the phase asks for, from 1: what {@link ChildRequest} takes. */
  readonly item: number;
  /** The item of the list that it is for; missing if the phase asks for one child. */
  readonly value?: JsonValue;
  /** What it works on. */
  readonly target: string;
  /** Its session; missing if it is not started. */
  readonly sessionId?: SessionId;
  /** What has become of it: the status of its session, `not_started`, or `damaged` if its log can't be read. */
  readonly status: Exclude<SessionStatus, "deleted"> | "not_started" | "damaged";
  /** The number of its current phase, and how many it has. */
  readonly phase?: number;
  readonly total?: number;
}

/** The children of a phase that is a workflow. */
export interface ChildrenView {
  /** The type of the workflow. */
  readonly workflowType: string;
  /** Each child that the phase asks for, in the order of the list. */
  readonly children: readonly ChildView[];
  /** Why it can't be said which children it asks for: a rule gives no list, say. */
  readonly fault?: string;
}

/** A child with what the engine knows of it. */
export interface Child {
  readonly assignment: Assignment;
  readonly key: string;
  readonly view: ChildView;
  /** The id that the parent's log has for it. */
  readonly claimed: SessionId | undefined;
  /** Its session as far as this host accepts its approvals. */
  readonly loaded: LoadedSession | undefined;
}

/** A host sees the children of a session, whoever started them. */
function asHost(context: EngineContext): EngineContext {
  return { ...context, kernel: context.wholeKernel, caller: undefined, workflowType: undefined };
}

/** Returns the children that the current phase asks for; undefined if it is no workflow. */
export async function viewChildren(
  context: EngineContext,
  { session, structure }: LoadedSession,
): Promise<ChildrenView | undefined> {
  const phase = requirePhase(structure, session.head.phase);
  const child = childWorkflowOf(phase.gate);
  if (child === undefined || session.head.status === "completed") return undefined;
  const { children, fault } = await findChildren(context, session, structure, phase, child);
  return { workflowType: child.type, children: children.map(({ view }) => view), fault };
}

/** The children that a phase asks for; none, with the reason, if that can't be said. */
interface Found {
  readonly children: readonly Child[];
  readonly fault?: string;
}

export async function findChildren(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  child: ChildWorkflow,
): Promise<Found> {
  const surroundings = surroundingsOf(await ruleSurroundings(context, session, structure, phase));
  const asked = await assignmentsOf(child, surroundings, session.head.target);
  if (!asked.ok) return { children: [], fault: asked.why };
  const claimed = new Map(session.head.children?.map(({ assignment, sessionId }) => [assignment, sessionId]));
  const children = await Promise.all(
    asked.children.map(async (assignment, index): Promise<Child> => {
      const key = assignmentKey(child.type, assignment);
      const id = claimed.get(key);
      const base = { item: index + 1, value: assignment.item, target: assignment.target };
      const known = { assignment, key, claimed: id === undefined ? undefined : parseSessionId(id) };
      const found = known.claimed && (await lookAt(asHost(context), known.claimed));
      if (found === undefined) return { ...known, loaded: undefined, view: { ...base, status: "not_started" } };
      if (found === "damaged")
        return { ...known, loaded: undefined, view: { ...base, sessionId: known.claimed, status: "damaged" } };
      const { sessionId, head } = found.session;
      const status = head.status === "deleted" ? "not_started" : head.status;
      return { ...known, loaded: found, view: { ...base, sessionId, status, phase: head.phase, total: head.total } };
    }),
  );
  return { children };
}

/** Returns a child's session; undefined if there is none. */
async function lookAt(context: EngineContext, id: SessionId): Promise<LoadedSession | "damaged" | undefined> {
  try {
    return await loadSession(context, id, { snapshotsFirst: false });
  } catch (error) {
    if (isPhasegateError(error, "SESSION_NOT_FOUND")) return undefined;
    if (isPhasegateError(error, "TAMPERED")) return "damaged";
    throw error;
  }
}

/** A child that is not completed when its parent leaves it behind. */
export interface OpenChild {
  readonly sessionId: string;
  readonly status: ChildView["status"];
}

/** Returns the children of this state of a session that are started and not completed; undefined if there are none. */
export async function openChildren(
  context: EngineContext,
  { children = [] }: Pick<SessionHead, "children">,
): Promise<readonly OpenChild[] | undefined> {
  const open: OpenChild[] = [];
  for (const { sessionId } of children) {
    const found = await lookAt(asHost(context), parseSessionId(sessionId));
    const status = found === undefined || found === "damaged" ? found : found.session.head.status;
    if (status !== undefined && status !== "completed" && status !== "deleted") open.push({ sessionId, status });
  }
  return open.length === 0 ? undefined : open;
}

/** Returns why a child counts for nothing: its parent is gone, or has left the phase. Undefined if it counts, and for no child. */
export async function orphaned(
  context: EngineContext,
  { sessionId, head }: PhasedSession,
): Promise<string | undefined> {
  const { parent } = head;
  if (parent === undefined) return undefined;
  const found = await lookAt(asHost(context), parseSessionId(parent.sessionId));
  if (found === undefined) return `the session ${parent.sessionId} that it was started for is gone`;
  if (found === "damaged" || head.status === "completed") return undefined;
  const isThere = found.session.head.children?.some((child) => child.sessionId === sessionId);
  return isThere ? undefined : `the session ${parent.sessionId} that it was started for has left phase ${parent.phase}`;
}

/** The most children that a message names. */
export const LISTED_MAX = 5;

/** What a gate finds about the children of its phase. */
export interface CheckedChildren {
  readonly problems: readonly Problem[];
  readonly verification: readonly Verification[];
  /** What they hand on, and the ends of their logs, if all are completed. */
  readonly completed?: { readonly artifact: JsonObject; readonly receipts: readonly ChildReceipt[] };
}

/** Checks that all children of the current phase are completed, and that their logs are intact. */
export async function checkChildren(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  child: ChildWorkflow,
): Promise<CheckedChildren> {
  const host = asHost(context);
  const { children: found, fault: why } = await findChildren(context, session, structure, phase, child);
  const at = new Date(context.options.clock.now()).toISOString();
  const outcome = (message: string, ok: boolean, output?: string[]) => ({
    problems: ok
      ? []
      : [{ field: "", problem: "unverified" as const, message: `${message}. Nothing was counted as an attempt` }],
    verification: [{ verifier: CHILD_CHECK, ok, message, output, at }],
  });
  if (why !== undefined) return outcome(`the sessions on ${child.type} can't be told: ${why}`, false);
  const open: string[] = [];
  const receipts: ChildReceipt[] = [];
  const handedOn: JsonObject[] = [];
  for (const one of found) {
    const fault = await faultOf(host, session, one);
    if (fault !== undefined || one.loaded === undefined) {
      open.push(`item ${one.view.item} (${shown(one.view.target)}): ${fault ?? "not started"}`);
      continue;
    }
    const { sessionId, version, hash } = one.loaded.session;
    receipts.push({ sessionId, version, hash });
    handedOn.push(await artifactsOf(host, one.loaded));
  }
  if (open.length > 0) {
    const more = open.length > LISTED_MAX ? `; and ${open.length - LISTED_MAX} more` : "";
    const what = `${open.length} of ${found.length} sessions on ${child.type} are not completed`;
    return outcome(`${what}: ${open.slice(0, LISTED_MAX).join("; ")}${more}`, false, open);
  }
  const items = found.map(({ assignment: { item = null, target } }, index) => ({
    ...{ item, target, session_id: receipts[index]?.sessionId ?? null, artifacts: handedOn[index] ?? {} },
  }));
  const artifact = child.for_each === undefined ? (handedOn[0] ?? {}) : { items };
  const ids = receipts.map(({ sessionId }) => sessionId);
  const is = ids.length === 1 ? "the session is completed" : `all ${ids.length} sessions are completed`;
  return { ...outcome(`${child.type}: ${is}`, true, ids), completed: { artifact, receipts } };
}

/** Returns why a child does not count; undefined if it does. */
async function faultOf(
  host: EngineContext,
  { sessionId }: PhasedSession,
  { loaded, view }: Child,
): Promise<string | undefined> {
  if (loaded === undefined) return view.status === "damaged" ? "its log can't be read" : "not started";
  const { head, sessionId: id } = loaded.session;
  // The phase may have another number since: a migration has moved it.
  if (head.parent?.sessionId !== sessionId) return `${id} was started for another session`;
  if (loaded.unapproved !== undefined) return `${id} has passed a gate with an approval that does not count here`;
  if (head.status !== "completed") return `${id} is ${head.status} in phase ${head.phase}`;
  const { intact } = await host.approvalGuard.audit(id);
  return intact ? undefined : `the log of ${id} is not intact`;
}

/** Returns the artifacts of a completed child by the names of its phases. */
async function artifactsOf(host: EngineContext, { session, structure }: LoadedSession): Promise<JsonObject> {
  const names = new PhaseNames(structure.phases);
  const artifacts = await loadArtifacts(host, session);
  return Object.fromEntries(
    artifacts.map(({ phase, artifact }) => [names.keysOf(phase).at(-1) ?? `${phase}`, artifact]),
  );
}
