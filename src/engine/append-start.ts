/** The first commit of a session, and the id that it gets. */
import type { JsonObject } from "../definition/json.js";
import { type SessionId, sessionIdFor, shown } from "../definition/names.js";
import type { WorkflowStructure } from "../definition/structure.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { KeyedRequest } from "../kernel/idempotency.js";
import type { Prepared } from "../kernel/kernel.js";
import type { EngineContext, PhasedOutcome } from "./engine-context.js";
import type { PhasedCommand } from "./phased-machine.js";
import { beginPhase } from "./verify/begin-phase.js";
import { withBegun } from "./verify/begun-by.js";

/** So many sessions of one second are told apart by counting. */
const COUNTED_COPIES = 5;

/** Appends the first commit of a session, under an id that no other one has. */
export async function appendStart(
  context: EngineContext,
  structure: WorkflowStructure,
  target: string,
  settings: JsonObject,
  keyed: KeyedRequest | undefined,
): Promise<PhasedOutcome> {
  const { limits, clock } = context.options;
  const command = { command: { type: "start", target, options: settings } as const, structure, limits };
  const position = structure.phases.findIndex(({ number }) => number === structure.startPhase);
  const prepare = async (sessionId: SessionId) => {
    const owner = { sessionId, head: { workflowType: structure.type, target } };
    return withBegun(command, await beginPhase(context, owner, structure, position));
  };
  if (keyed !== undefined) return startKeyed(context, keyedId(structure.type, target, keyed), prepare, keyed);
  const stamp = timeStamp(clock.now());
  for (let copy = 1; ; copy += 1) {
    const id = sessionIdFor(structure.type, target, `${stamp}${copySuffix(copy)}`);
    try {
      return await context.kernel.execute(id, (current) => {
        if (current !== undefined) throw new TakenError();
        return prepare(id);
      });
    } catch (error) {
      // A session that can't be read has its id all the same.
      const isTaken = isPhasegateError(error, "CONFLICT") || isPhasegateError(error, "TAMPERED");
      if (!(error instanceof TakenError) && !isTaken) throw error;
    }
  }
}

/** Throws `CONFLICT` if the session that the key has started was deleted. */
async function startKeyed(
  { kernel }: EngineContext,
  id: SessionId,
  prepare: (id: SessionId) => Promise<Prepared<PhasedCommand>>,
  keyed: KeyedRequest,
): Promise<PhasedOutcome> {
  try {
    const started = await kernel.execute(id, () => prepare(id), keyed);
    if (!started.replayed || (await kernel.find(id)) !== undefined) return started;
  } catch (error) {
    if (!isPhasegateError(error, "CONFLICT")) throw error;
  }
  throw new PhasegateError("CONFLICT", `the session that the key ${shown(keyed.key)} has started was deleted`, {
    remedy: "Start with a new idempotency key, or without one.",
    details: { sessionId: id },
  });
}

/** Another session has the id that this one would have had. */
class TakenError extends Error {}

/** `_2`, `_3` …; where many start in one second, not one by one any more. */
function copySuffix(copy: number): string {
  if (copy === 1) return "";
  return copy <= COUNTED_COPIES ? `_${copy}` : `_${Math.random().toString(36).slice(2, 8).padEnd(6, "0")}`;
}

/** A key stands where the time would, so that the same call finds the same session. */
export function keyedId(type: string, target: string, keyed: KeyedRequest): SessionId {
  return sessionIdFor(type, target, `k${keyed.id.slice(0, 16)}`);
}

/** `YYYYMMDD_HHMMSS` in UTC. */
function timeStamp(now: number): string {
  const digits = new Date(now).toISOString().replace(/[^0-9]/g, "");
  return `${digits.slice(0, 8)}_${digits.slice(8, 14)}`;
}
