/**
 * How a child of a session is started. The parent's log names it before it is started, so that no two agents start it; a child
 * that was named but never started is started by the next call.
 */
import { isPhasegateError, PhasegateError } from "../errors.js";
import { type KeyedRequest, keyedRequest } from "../log/machine.js";
import { childWorkflowOf } from "../workflow/child-workflow.js";
import { parseSessionId, type SessionId, shown } from "../workflow/names.js";
import type { PhaseDefinition } from "../workflow/structure.js";
import { type Child, findChildren, LISTED_MAX } from "./children.js";
import { loadSession, preparing, requirePhase } from "./context.js";
import type { EngineContext, LoadedSession } from "./engine-context.js";
import { begin, ChildTaken, newSessionId, type StartResult } from "./start.js";
import { invalidTransition, type Keyed } from "./state/commands.js";
import type { EventOf } from "./state/events.js";
import type { SessionHead } from "./state/head.js";
import { requireEvent } from "./state/machine.js";
import { viewPhase } from "./views.js";

/** Which child is to be started. */
export interface ChildRequest extends Keyed {
  /** Its place in the list, from 1. Default: the first one that is not started. */
  readonly item?: number;
}

/** Starts a child of a session, or returns it if it was started before. */
export async function startChild(context: EngineContext, id: SessionId, request: ChildRequest): Promise<StartResult> {
  const { item, idempotencyKey } = request;
  const keyed = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, ["startChild", item ?? null]);
  for (;;) {
    const loaded = await loadSession(context, id);
    const { session, structure } = loaded;
    const { head } = session;
    await context.approvalGuard.check(session, structure);
    const phase = requirePhase(structure, head.phase);
    const child = childWorkflowOf(phase.gate);
    if (head.status !== "active") throw invalidTransition(head, structure, "startChild");
    if (child === undefined) throw isNoWorkflow(phase);
    const { children, fault } = await findChildren(context, session, structure, phase, child);
    if (fault !== undefined) throw unassigned(phase, fault);
    const earlier = keyed && (await claimOf(context, id, keyed.key));
    const repeated =
      earlier && children.find(({ key, claimed }) => key === earlier.assignment && claimed === earlier.child);
    // It has started another child: of a visit to the phase that is over, say.
    if (earlier !== undefined && (repeated === undefined || (item ?? repeated.view.item) !== repeated.view.item))
      throw keyReused(earlier, keyed);
    const picked = repeated ?? pick(children, phase, item);
    if (picked.loaded !== undefined) return startedBefore(context, picked.loaded);
    if (picked.view.status === "damaged") throw damaged(picked);
    const by = context.caller?.actor.name;
    const about = picked.assignment.item === undefined ? undefined : shown(picked.assignment.item);
    let expected = picked.claimed;
    const claim = async (unusable: SessionId | undefined): Promise<SessionId> => {
      const claimed = await context.kernel.execute(
        id,
        preparing<"taken" | SessionId>(context, id, async ({ head: now }) => {
          const known = now.children?.find(({ assignment }) => assignment === picked.key)?.sessionId;
          const isSame = now.phase === head.phase && now.phaseStartedAt === head.phaseStartedAt;
          if (!isSame || known !== expected) return { answer: "taken" };
          if (expected !== undefined && expected !== unusable) return { answer: expected };
          const own = newSessionId(context.options.clock, child.type, picked.assignment.target);
          return { type: "startChild", child: own, assignment: picked.key, item: about, by };
        }),
        // A repeated call has its claim already.
        expected === undefined ? keyed : undefined,
      );
      if (!("answer" in claimed)) expected = parseSessionId(requireEvent(claimed, "child_claimed").child);
      else if (claimed.answer === "taken") throw new ChildTaken();
      if (expected === undefined) throw new Error("a child was claimed without an id");
      return expected;
    };
    const { target, options } = picked.assignment;
    try {
      return await begin(
        context,
        { workflowType: child.type, target, options },
        { parent: { sessionId: id, phase: phase.number, depth: depthBelow(head) }, owner: head.owner, claim },
      );
    } catch (error) {
      if (error instanceof ChildTaken) continue;
      throw isPhasegateError(error, "INVALID_INPUT") || isPhasegateError(error, "PATH_REFUSED")
        ? unusable(phase, picked, error)
        : error;
    }
  }
}

/** How many sessions may be within one another: a workflow that is a phase of itself would have no end. */
const DEPTH_MAX = 8;

/** Returns how deep a child of a session is. */
function depthBelow({ parent }: SessionHead): number {
  const depth = (parent === undefined ? 0 : (parent.depth ?? 1)) + 1;
  if (depth <= DEPTH_MAX) return depth;
  throw new PhasegateError("NOT_ALLOWED", `no more than ${DEPTH_MAX} sessions can be within one another`, {
    remedy: "Tell the person who runs this: a workflow is probably a phase of itself.",
    details: { operation: "start" },
  });
}

/** Returns the error for an item from which no child can be started: only the phase that gave it can mend that. */
function unusable(
  { number }: PhaseDefinition,
  { view: { item, value, target } }: Child,
  { message }: { readonly message: string },
): PhasegateError<"NOT_ALLOWED"> {
  const what = value === undefined ? shown(target) : `item ${item}, ${shown(value)}`;
  return new PhasegateError("NOT_ALLOWED", `phase ${number} can't start a session for ${what}: ${message}`, {
    remedy: "Roll back to the phase whose evidence gives it, and submit what can be used; or go on with another item.",
    details: { phase: number, operation: "start" },
  });
}

function keyReused({ child }: Claim, keyed: KeyedRequest | undefined): PhasegateError<"IDEMPOTENCY_KEY_REUSED"> {
  const key = keyed?.key ?? "";
  return new PhasegateError("IDEMPOTENCY_KEY_REUSED", `the key ${shown(key)} has started another child, ${child}`, {
    remedy: "Use a new key for each child.",
    details: { key },
  });
}

type Claim = Pick<EventOf<"child_claimed">, "assignment" | "child">;

/** Returns what an earlier call with this key has claimed; undefined if there was none. */
async function claimOf(context: EngineContext, id: SessionId, key: string): Promise<Claim | undefined> {
  const version = await context.kernel.ledTo(id, key);
  if (version === undefined) return undefined;
  const { events } = await context.kernel.at(id, version);
  return events.find((event) => event.type === "child_claimed");
}

/** Returns the child that is asked for; without a number the first that is not started, or the only one. */
function pick(children: readonly Child[], { number }: PhaseDefinition, item: number | undefined): Child {
  const open = children.find(({ view }) => view.status === "not_started");
  const [only] = children.length === 1 ? children : [];
  const found = item === undefined ? (open ?? only) : children[item - 1];
  if (found !== undefined) return found;
  if (item !== undefined) {
    const expected = children.length === 0 ? "no item: the list is empty" : `1 to ${children.length}`;
    throw new PhasegateError("INVALID_INPUT", `phase ${number} has no item ${item}`, {
      remedy: `Give one of its items: ${expected}; or leave it out.`,
      details: { field: "item", expected },
    });
  }
  const listed = children.flatMap(({ view }) =>
    view.status === "completed" ? [] : [`${view.sessionId} (${view.status})`],
  );
  throw new PhasegateError("NOT_ALLOWED", `all ${children.length} sessions of phase ${number} are started`, {
    remedy:
      listed.length === 0
        ? `They are completed: submit {} for phase ${number}.`
        : `Work goes on in ${listed.slice(0, LISTED_MAX).join(", ")}: name the item to get one of them.`,
    details: { phase: number, operation: "start" },
  });
}

function isNoWorkflow({ number, name }: PhaseDefinition): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", `phase ${number} (${name}) is no workflow: it has no session to start`, {
    remedy: "Do its work in this session.",
    details: { phase: number, operation: "start" },
  });
}

function unassigned({ number }: PhaseDefinition, why: string): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", `phase ${number} has no session to start: ${why}`, {
    remedy: "Roll back to the phase whose evidence the rule reads, and submit what it needs.",
    details: { phase: number, operation: "start" },
  });
}

function damaged({ claimed, view }: Child): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", `the log of ${claimed} can't be read: item ${view.item} is lost`, {
    remedy: "Ask the person who runs this to repair it (phasegate audit, phasegate repair), or to delete it.",
    details: { operation: "start" },
  });
}

/** Returns the answer for a child that was started before. */
async function startedBefore(context: EngineContext, { session }: LoadedSession): Promise<StartResult> {
  // The caller may see less than the parent's gate.
  const loaded = await loadSession(context, session.sessionId);
  const { structure } = loaded;
  const { head, sessionId } = loaded.session;
  return {
    sessionId,
    workflowType: head.workflowType,
    target: head.target,
    options: await context.pinned.options(sessionId),
    phase: await viewPhase(context, loaded, head.phase),
    openPhases: [],
    searches: structure.searches ?? false,
    openSessions: [],
    replayed: true,
  };
}
