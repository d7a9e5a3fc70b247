/**
 * Submissions whose checks may take longer than a caller waits. The checks go on in this process, and their result is recorded
 * when they end. Until then other evidence for the phase is refused here. Nothing of this is stored: if the process ends, the
 * submission was never made.
 */
import { isPhasegateError } from "../errors.js";
import { type FullClock, TIMER_MAX } from "../ports/clock.js";
import { RecentMap } from "../workflow/cache.js";
import { callable, checkOptions, fromZero, having, type OptionChecks, optionally } from "../workflow/host-options.js";
import { canonicalJson } from "../workflow/json.js";
import type { CompleteResult } from "./gate-answer.js";
import type { EngineNotifications } from "./notifications.js";
import type { CheckProgress, Followed } from "./verify/verify.js";

/** A submission that is being verified in this process. */
export interface Verifying {
  readonly status: "verifying";
  /** The phase that the evidence is for. */
  readonly phase: number;
  /** The idempotency key under which `submission` finds its result: the caller's own, or one that was made for it. */
  readonly idempotencyKey: string;
  /** When it was submitted: ISO 8601, UTC. */
  readonly since: string;
  /** The verifiers that run, or for a field `verifier (field)`. */
  readonly running: readonly string[];
  /** How many checks have ended. */
  readonly done: number;
  /** How many checks there are. */
  readonly total: number;
}

/** A submission that was judged. */
export interface Judged {
  readonly status: "judged";
  readonly result: CompleteResult;
  /** The names of the evidence; of large evidence the first 100. */
  readonly submitted: readonly string[];
}

/** A submission to answer within a time. */
export interface Submission extends Followed {
  readonly phase: number;
  /** As it was copied on arrival. */
  readonly evidence: object;
  readonly idempotencyKey?: string | undefined;
}

/** How a caller waits for a submission. */
export interface Waiting extends Followed {
  /** The time until the answer is that it is being verified, in milliseconds; 0 for at once, `Infinity` for no limit. */
  readonly answerWithinMs: number;
}

const waitingChecks: OptionChecks<Waiting> = {
  answerWithinMs: fromZero,
  signal: optionally(having("an AbortSignal")),
  onCheck: optionally(callable),
};

/** How a submission is made. */
interface Made extends Followed {
  /** The caller's own key, or one that was made for it. */
  readonly idempotencyKey: string;
  /** Asked once nothing was run for it: true if nobody else has its key, or gets it before the result is recorded. */
  readonly mayForget: () => boolean;
}

/** How a submission is made, and refused. */
interface Making {
  readonly begin: (made: Made) => Promise<CompleteResult>;
  /** Returns the error while the checks of other evidence for the phase run. */
  readonly refusal: (running: Verifying) => Promise<Error>;
}

/** The lost submissions whose errors are known to who asks for their results. */
const LOST_MAX = 1000;

/** The submissions of one engine that run in this process. */
export class Submissions {
  readonly clock: FullClock;
  readonly #onLost: (lost: EngineNotifications["submissionLost"]) => void;
  /** The errors of lost submissions, by their place and key. */
  readonly #lost = new RecentMap<string, unknown>(LOST_MAX);
  /** One of each phase of a session: the first whose checks have begun. A phase may have been left meanwhile. */
  readonly #runs = new Map<string, Run>();

  constructor(clock: FullClock, onLost: (lost: EngineNotifications["submissionLost"]) => void) {
    this.clock = clock;
    this.#onLost = onLost;
  }

  /** Returns the submission for a phase that is being verified here. The caller must be one who may see the session. */
  of(sessionId: string, phase: number): Verifying | undefined {
    return this.#runs.get(placeOf(sessionId, phase))?.view();
  }

  /** Waits for a submission that is being verified here; undefined if none with this key is. */
  wait(sessionId: string, phase: number, key: string, waiting: Waiting): Promise<Verifying | Judged> | undefined {
    checkOptions("submission", waiting, waitingChecks);
    const run = this.#runs.get(placeOf(sessionId, phase));
    return run?.key === key ? this.#join(run, waiting) : undefined;
  }

  /** Returns the error of a submission that was being verified here, and of which no result is recorded; undefined if there is none. */
  errorOf(sessionId: string, phase: number, key: string): unknown {
    return this.#lost.get(lostAt(placeOf(sessionId, phase), key));
  }

  /**
   * Makes a submission, and waits for it; or waits for the same one, if it is being verified here already.
   * Rejects with what `making` refuses it with when other evidence for the phase is being verified here.
   */
  async submit(
    sessionId: string,
    submission: Submission,
    waiting: Waiting,
    making: Making,
  ): Promise<Verifying | Judged> {
    checkOptions("submit", waiting, waitingChecks);
    const { phase, evidence, idempotencyKey } = submission;
    const place = placeOf(sessionId, phase);
    const known = this.#runs.get(place);
    if (known !== undefined) {
      const isSame = idempotencyKey === undefined || idempotencyKey === known.key;
      if (!isSame || canonicalJson(known.evidence) !== canonicalJson(evidence))
        throw await making.refusal(known.view());
      return this.#join(known, waiting);
    }
    const about = { place, phase, key: idempotencyKey ?? this.clock.newId(), hasOwnKey: idempotencyKey !== undefined };
    const run = new Run({ ...about, evidence, clock: this.clock }, making.begin, (begun) => this.#know(begun));
    this.#lost.delete(lostAt(place, run.key));
    run.result.then(
      () => this.#forget(run),
      (error: unknown) => {
        this.#forget(run);
        if (run.isKept) this.#lose(sessionId, run, error);
      },
    );
    try {
      return await this.#answer(run, waiting);
    } catch (error) {
      if (run.isOvertaken) return this.submit(sessionId, submission, waiting, making);
      throw error;
    }
  }

  /** Stops all checks: nothing of these submissions is written. Resolves when they have ended. */
  async end(): Promise<void> {
    const runs = [...this.#runs.values()];
    for (const { stop } of runs) stop.abort();
    await Promise.allSettled(runs.map(({ result }) => result));
  }

  /** Makes a submission known, unless it was stopped, or another one for the phase is known: then it is stopped, and made anew. */
  #know(run: Run): boolean {
    if (run.stop.signal.aborted) return false;
    const known = this.#runs.get(run.place) ?? run;
    if (known === run) {
      this.#runs.set(run.place, run);
      return true;
    }
    run.isOvertaken = true;
    run.stop.abort();
    return false;
  }

  /** Stops a submission: the same call that comes now makes it anew. */
  #stop(run: Run): void {
    run.stop.abort();
    this.#forget(run);
  }

  #forget(run: Run): void {
    if (this.#runs.get(run.place) === run) this.#runs.delete(run.place);
  }

  /** Remembers the error of a submission that callers were told of, and tells the host: nobody may wait for it. */
  #lose(sessionId: string, { place, phase, key }: Run, error: unknown): void {
    this.#lost.set(lostAt(place, key), error);
    const { code, message } = isPhasegateError(error)
      ? error
      : ({ code: "INTERNAL", message: "internal error" } as const);
    this.#onLost({ sessionId, phase, idempotencyKey: key, code, message });
  }

  #join(run: Run, waiting: Waiting): Promise<Verifying | Judged> {
    run.isKept = true;
    return this.#answer(run, waiting);
  }

  async #answer(run: Run, { signal, onCheck, answerWithinMs }: Waiting): Promise<Verifying | Judged> {
    let leave = () => {};
    const left = new Promise<Verifying>((resolve) => {
      leave = () => resolve(run.view());
    });
    let cancel = () => {};
    const wait = () => {
      cancel = this.clock.after(Math.min(answerWithinMs, TIMER_MAX), late);
    };
    const late = () => {
      // It is about to be recorded.
      if (run.isForgotten) return wait();
      if (!this.#know(run)) return;
      run.isKept = true;
      leave();
    };
    // Who leaves one that others know of gets no answer.
    const onAbort = () => (run.isKept ? leave() : this.#stop(run));
    if (answerWithinMs !== Number.POSITIVE_INFINITY) wait();
    const unfollow = run.follow(onCheck);
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted === true) onAbort();
    try {
      return await Promise.race([run.judged(), left]);
    } finally {
      cancel();
      unfollow();
      signal?.removeEventListener("abort", onAbort);
    }
  }
}

/** Returns the text that identifies a phase of a session. */
function placeOf(sessionId: string, phase: number): string {
  return `${sessionId} ${phase}`;
}

/** Returns the text that identifies a lost submission. */
function lostAt(place: string, key: string): string {
  return `${place} ${key}`;
}

/** A submission that runs. */
class Run {
  readonly place: string;
  readonly phase: number;
  readonly key: string;
  readonly evidence: object;
  readonly stop = new AbortController();
  /** True once it goes on without the caller that has made it. */
  isKept = false;
  /** True once it was stopped because the checks of another submission have begun before. */
  isOvertaken = false;
  /** True while its result is recorded without its key, which nobody may then be told. */
  isForgotten = false;
  readonly result: Promise<CompleteResult>;
  readonly #since: number;
  readonly #listeners = new Set<(progress: CheckProgress) => void>();
  readonly #clock: FullClock;
  /** The checks that run, and when each began. */
  #checks: readonly { readonly check: CheckProgress; readonly begun: number }[] = [];
  #counts = { done: 0, total: 0 };

  constructor(
    {
      place,
      phase,
      key,
      evidence,
      ...more
    }: Pick<Run, "place" | "phase" | "key" | "evidence"> & {
      readonly clock: FullClock;
      /** True if the caller has chosen the key. */
      readonly hasOwnKey: boolean;
    },
    begin: Making["begin"],
    onBegun: (run: Run) => void,
  ) {
    this.place = place;
    this.phase = phase;
    this.key = key;
    this.evidence = evidence;
    this.#clock = more.clock;
    this.#since = more.clock.now();
    const onCheck = (progress: CheckProgress) => {
      this.isForgotten = false;
      if (progress.ok === undefined) onBegun(this);
      this.#note(progress);
    };
    const mayForget = () => {
      this.isForgotten = !this.isKept && !more.hasOwnKey;
      return this.isForgotten;
    };
    this.result = begin({ signal: this.stop.signal, onCheck, idempotencyKey: key, mayForget });
  }

  /** Calls back with the checks that run, and with all that begin and end from now on. Returns a function that ends this. */
  follow(onCheck: Followed["onCheck"] = () => {}): () => void {
    const now = this.#clock.elapsed();
    for (const { check, begun } of this.#checks) onCheck({ ...check, ...this.#counts, elapsedMs: now - begun });
    this.#listeners.add(onCheck);
    return () => this.#listeners.delete(onCheck);
  }

  async judged(): Promise<Judged> {
    return { status: "judged", result: await this.result, submitted: Object.keys(this.evidence) };
  }

  view(): Verifying {
    return {
      ...{ status: "verifying", phase: this.phase, idempotencyKey: this.key },
      since: new Date(this.#since).toISOString(),
      running: this.#checks.map(({ check: { verifier, field } }) =>
        field === undefined ? verifier : `${verifier} (${field})`,
      ),
      ...this.#counts,
    };
  }

  /** Notes that a check has begun or ended, and tells who follows. */
  #note(progress: CheckProgress): void {
    const { verifier, field, ok, done, total, elapsedMs } = progress;
    // They are run again, since the session has changed meanwhile.
    if (done < this.#counts.done) this.#checks = [];
    this.#counts = { done, total };
    const ended = this.#checks.find(({ check }) => check.verifier === verifier && check.field === field);
    const begins = { check: progress, begun: this.#clock.elapsed() - elapsedMs };
    this.#checks = ok === undefined ? [...this.#checks, begins] : this.#checks.filter((one) => one !== ended);
    for (const listener of this.#listeners) listener(progress);
  }
}
