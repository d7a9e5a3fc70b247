/**
 * What a phased session is, in the fewest words: the model that the engine's answers are compared with. It is pure, and
 * uses nothing of the code under test. Its workflow has three phases, one of which asks a person.
 */

/** What writers ask for. `n` is the operation's own number, so that no two submissions are the same. */
export type Op =
  | { readonly type: "start" }
  | { readonly type: "submit"; readonly phase: number; readonly good: boolean; readonly n: number }
  | { readonly type: "approve" | "deny"; readonly about: number }
  /** An approval that somebody else has signed. */
  | { readonly type: "forge"; readonly about: number }
  | { readonly type: "requestWaiver"; readonly phase: number; readonly n: number }
  | { readonly type: "waive" | "denyWaiver"; readonly about: number }
  | { readonly type: "pause" | "resume" }
  | { readonly type: "retry"; readonly phase: number; readonly by: "agent" | "host" }
  | { readonly type: "rollback"; readonly to: number }
  | { readonly type: "task"; readonly phase: number; readonly task: number }
  | { readonly type: "sync" };

/** A session. */
export interface State {
  readonly status: "active" | "paused" | "failed" | "completed";
  readonly phase: number;
  /** The submission that waits for an approval. */
  readonly waits?: number;
  /** The request for a waiver that waits for an answer. */
  readonly asks?: number;
  readonly isWaived: boolean;
  /** Requests for waivers at this phase since one was granted. */
  readonly requests: number;
  /** Failures at this phase since it was entered or retried. */
  readonly inARow: number;
  /** Failures by phase, since it was passed or since the host reset them. */
  readonly failures: Readonly<Record<number, number>>;
  /** The tasks of this phase that are noted as done. */
  readonly tasks: readonly number[];
  /** Set if the gate has nothing to compare with, since this visit's snapshot was not taken; and if an agent was told. */
  readonly lacks?: "untold" | "told";
}

export const LAST_PHASE = 3;
export const LIMITS = { maxAttempts: 2, maxAttemptsTotal: 4 };
/** The most requests for waivers in one visit to a phase. */
const REQUESTS_MAX = 10;

const BEGIN: State = { status: "active", phase: 1, isWaived: false, requests: 0, inARow: 0, failures: {}, tasks: [] };

/** The verdict of a gate on a submission. */
export interface Verdict {
  readonly passes: boolean;
  /** True if a person must approve it. */
  readonly isAsked: boolean;
}

/** Returns the state after an operation; undefined if it is refused. */
export function next(state: State | undefined, op: Op, { passes, isAsked }: Verdict): State | undefined {
  if (op.type === "start") return state === undefined ? BEGIN : undefined;
  if (state === undefined) return undefined;
  const { status, phase } = state;
  const isAtWork = status === "active" || status === "failed";
  switch (op.type) {
    case "submit":
      if (status !== "active" || op.phase !== phase || isUsedUp(state)) return undefined;
      if (!passes && state.lacks !== undefined) return lacking(state, op.good);
      if (!passes) return failed(state);
      return isAsked ? { ...without(state, "asks"), waits: op.n } : passed(state);
    case "approve":
    case "deny":
      if (status !== "active" || state.waits !== op.about) return undefined;
      return op.type === "approve" ? passed(state) : failed(state);
    case "forge":
      return undefined;
    case "requestWaiver":
      if (!isAtWork || op.phase !== phase || state.waits !== undefined || state.isWaived) return undefined;
      return state.requests < REQUESTS_MAX ? { ...state, asks: op.n, requests: state.requests + 1 } : undefined;
    case "waive":
    case "denyWaiver":
      if (state.asks !== op.about || status === "completed") return undefined;
      return op.type === "denyWaiver"
        ? without(state, "asks")
        : { ...without(state, "asks"), isWaived: true, requests: 0 };
    case "pause":
      return status === "active" ? { ...state, status: "paused" } : undefined;
    case "resume":
      return status === "paused" ? { ...state, status: "active" } : undefined;
    case "retry": {
      if (!isAtWork || op.phase !== phase || (op.by === "agent" && isUsedUp(state))) return undefined;
      const isTried = state.inARow > 0 || (op.by === "host" && (state.failures[phase] ?? 0) > 0);
      if (status === "active" && !isTried && state.lacks === undefined) return undefined;
      const failures = op.by === "host" ? { ...state.failures, [phase]: 0 } : state.failures;
      return { ...without(state, "waits"), status: "active", inARow: 0, failures };
    }
    case "rollback":
      return isAtWork && op.to < phase && op.to >= 1 ? entered(state, op.to) : undefined;
    case "task":
      if (status !== "active" || op.phase !== phase) return undefined;
      return { ...state, tasks: [...new Set([...state.tasks, op.task])].sort() };
    case "sync":
      return status === "completed" ? undefined : state;
  }
}

/** Returns true if the text of a phase may be read. */
export function mayRead(state: State, phase: number): boolean {
  return phase >= 1 && phase <= state.phase;
}

function isUsedUp({ failures, phase }: State): boolean {
  return (failures[phase] ?? 0) >= LIMITS.maxAttemptsTotal;
}

function passed(state: State): State {
  const done = { ...state, failures: { ...state.failures, [state.phase]: 0 } };
  return entered(done, state.phase + 1);
}

function entered(state: State, phase: number): State {
  const { failures } = state;
  if (phase > LAST_PHASE) return { ...BEGIN, failures, phase: LAST_PHASE, status: "completed" };
  return { ...BEGIN, failures, phase };
}

function failed(state: State): State {
  const inARow = state.inARow + 1;
  const failures = { ...state.failures, [state.phase]: (state.failures[state.phase] ?? 0) + 1 };
  const after = { ...without(state, "waits"), inARow, failures };
  return inARow >= LIMITS.maxAttempts || isUsedUp(after) ? { ...after, status: "failed" } : after;
}

/** Returns the state after a submission with nothing to compare with: the first one counts only if it is wrong in itself. */
function lacking(state: State, good: boolean): State {
  const after = good && state.lacks === "untold" ? without(state, "waits") : failed(state);
  return { ...after, lacks: "told" };
}

export function without(state: State, name: "waits" | "asks" | "lacks"): State {
  const { [name]: _, ...rest } = state;
  return rest;
}
