/**
 * What a routed instance is, in the fewest words: the model that the engine's answers are compared with. It is pure, and
 * uses nothing of the code under test.
 */

/** What writers ask for. `n` is the operation's own number, so that no two reports are the same. */
export type RoutedOp =
  | { readonly type: "start" }
  /** A report on the step; `step` is its name, if the writer gives it. */
  | { readonly type: "advance"; readonly n: number; readonly good: boolean; readonly step?: string }
  /** A client comes back; without `good` it has nothing to report. */
  | { readonly type: "resume"; readonly n: number; readonly good?: boolean }
  | { readonly type: "suspend" | "retry" | "release" }
  | { readonly type: "approve" | "deny"; readonly about: number };

/** A report. */
export type RoutedReport = Extract<RoutedOp, { readonly n: number }>;

/** A report that is not decided yet. */
interface Pending {
  /** Its number; 0 for the question for the first step. */
  readonly n: number;
  readonly version: number;
  /** True while a person is awaited. */
  readonly waits: boolean;
}

/** An instance. */
export interface RoutedState {
  readonly status: "RUNNING" | "SUSPENDED" | "COMPLETED" | "FAILED";
  /** Missing before the first step is decided. */
  readonly step?: string;
  readonly pending?: Pending;
  /** The report that was decided last, and the commit that did it. */
  readonly decided?: { readonly n: number; readonly version: number };
  /** The report that has changed the context last, or 0. */
  readonly last: number;
  /** Failures at this step in a row, and in total. */
  readonly attempts: number;
  readonly spent: number;
}

/** What its log says of an operation that was carried out. */
export interface RoutedVerdict {
  readonly version: number;
  /** True if the gate let the report through. */
  readonly passes: boolean;
  /** Set if the report was recorded already, so that only the key of the call was: the commit that answers it. */
  readonly of?: number | undefined;
  /** The first step, if it was not left to the decider. */
  readonly firstStep?: string | undefined;
}

/** What the engine writes by itself: a decision, or that there is none. */
export type Decision =
  | {
      readonly type: "decided";
      readonly from?: string;
      readonly next: string;
      readonly status: RoutedState["status"];
      /** Our deciders say which report they were asked about: 0 for none. */
      readonly contextUpdates: { readonly about?: number };
    }
  | { readonly type: "failed" };

export const ROUTED_LIMITS = { maxAttempts: 2, maxAttemptsTotal: 4 };
/** The steps. */
export const [BARE, GATED, APPROVED] = ["Dig", "Sow", "Water"] as const;
const END = "FINISH";

/** Returns the instance after an operation; undefined if nothing may be written for it. */
export function next(
  state: RoutedState | undefined,
  op: RoutedOp,
  { version, passes, of, firstStep }: RoutedVerdict,
): RoutedState | undefined {
  if (op.type === "start") return state === undefined ? begun(version, firstStep) : undefined;
  if (state === undefined) return undefined;
  const { status, step, pending } = state;
  if (of !== undefined) return "n" in op && answersTo(state, op.n) === of ? state : undefined;
  switch (op.type) {
    case "advance":
      if (status !== "RUNNING" || step === undefined || isOpen(state)) return undefined;
      if (op.step !== undefined && op.step !== step) return undefined;
      return reported(state, op.n, { version, passes });
    case "resume": {
      if (status !== "RUNNING" && status !== "SUSPENDED") return undefined;
      // There is nothing to report on: the question for the first step is asked again.
      if (step === undefined) return status === "SUSPENDED" ? { ...state, status: "RUNNING", attempts: 0 } : undefined;
      const running = { ...state, status: "RUNNING" as const };
      // What has passed the gate is not asked for again, and to come back with nothing is no attempt.
      if (step !== BARE && hasPassed(state, op)) return taken(running, { n: op.n, version, waits: false });
      if (op.good === undefined && step !== BARE) return running;
      return reported(running, op.n, { version, passes });
    }
    case "suspend":
      return status === "RUNNING" ? { ...state, status: "SUSPENDED" } : undefined;
    case "retry":
      if (status === "SUSPENDED" && step === undefined) return { ...state, status: "RUNNING", attempts: 0 };
      if (status !== "FAILED" || state.spent >= ROUTED_LIMITS.maxAttemptsTotal) return undefined;
      return { ...state, status: "RUNNING", attempts: 0 };
    case "release":
      if (status === "SUSPENDED") return { ...state, status: "RUNNING" };
      return status === "FAILED" ? { ...state, status: "RUNNING", attempts: 0, spent: 0 } : undefined;
    case "approve":
    case "deny":
      if (status !== "RUNNING" || pending?.waits !== true || pending.n !== op.about) return undefined;
      return op.type === "approve"
        ? { ...state, pending: { ...pending, waits: false } }
        : failed(withoutPending(state));
  }
}

/** Returns the instance after what the engine has written by itself; undefined if it may not. */
export function decidedOn(
  state: RoutedState | undefined,
  decision: Decision,
  version: number,
): RoutedState | undefined {
  if (state === undefined || state.status !== "RUNNING" || !isOpen(state)) return undefined;
  if (decision.type === "failed") return { ...state, status: "FAILED" };
  const { from, next: to, status, contextUpdates } = decision;
  const { n = 0 } = state.pending ?? {};
  if (contextUpdates.about !== n) return undefined;
  if (from !== state.step || (to === END && (status === "RUNNING" || status === "SUSPENDED"))) return undefined;
  const step = to === END && status !== "COMPLETED" ? state.step : to;
  const { last } = state;
  return { status, attempts: 0, spent: 0, last, decided: { n, version }, ...(step === undefined ? {} : { step }) };
}

/** Returns the commit that answers a report which is or was decided; undefined if it may be neither. */
function answersTo({ status, pending, decided }: RoutedState, n: number): number | undefined {
  if (status === "COMPLETED") return undefined;
  // A client that comes back to a suspended instance sets it going.
  if (pending?.n === n && !pending.waits && status !== "SUSPENDED") return pending.version;
  return decided?.n === n ? decided.version : undefined;
}

/** Returns true for the report that has passed the gate, and for a client that comes back to it with nothing. */
function hasPassed(state: RoutedState, { n, good }: RoutedReport): boolean {
  return isOpen(state) && (good === undefined || state.pending?.n === n);
}

/** Returns true if there is a report that the decider is to decide. */
export function isOpen({ pending }: RoutedState): boolean {
  return pending !== undefined && !pending.waits;
}

/** Returns true if a report at this step is let through, as far as its writer can know. */
export function isPassed(state: RoutedState, op: RoutedReport): boolean {
  return state.step === BARE || op.good === true || (op.type === "resume" && hasPassed(state, op));
}

function begun(version: number, step: string | undefined): RoutedState {
  const none = { status: "RUNNING", attempts: 0, spent: 0, last: 0 } as const;
  return step === undefined ? { ...none, pending: { n: 0, version, waits: false } } : { ...none, step };
}

function reported(
  state: RoutedState,
  n: number,
  { version, passes }: Pick<RoutedVerdict, "version" | "passes">,
): RoutedState {
  if (!passes) return failed(state);
  return taken(state, { n, version, waits: state.step === APPROVED });
}

function taken(state: RoutedState, pending: Pending): RoutedState {
  return { ...state, pending, last: pending.n };
}

function failed(state: RoutedState): RoutedState {
  const after = { ...state, attempts: state.attempts + 1, spent: state.spent + 1 };
  const { maxAttempts, maxAttemptsTotal } = ROUTED_LIMITS;
  const isOver = after.attempts >= maxAttempts || after.spent >= maxAttemptsTotal;
  return isOver ? { ...after, status: "FAILED" } : after;
}

function withoutPending({ pending: _, ...rest }: RoutedState): RoutedState {
  return rest;
}
