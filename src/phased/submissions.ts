/**
 * Submissions whose checks may take longer than a caller waits. The checks go on in this process, and their result is recorded
 * when they end. Until then other evidence for the phase is refused here. Nothing of this is stored: if the process ends, the
 * submission was never made.
 */
import { PhasegateError } from "../errors.js";
import { type FullClock, TIMER_MAX } from "../ports/clock.js";
import { canonicalJson } from "../workflow/json.js";
import type { CompleteResult } from "./gate-answer.js";
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
  /** The time until the answer is that it is being verified, in milliseconds; `Infinity` for no limit. */
  readonly answerWithinMs: number;
}

/** Makes a submission; `key` is the one to record its result under if the caller has given none. */
type Begin = (followed: Followed, key: string) => Promise<CompleteResult>;

/** The submissions of one engine that run in this process. */
export class Submissions {
  readonly clock: FullClock;
  /** One of each session: the first whose checks have begun. */
  readonly #runs = new Map<string, Run>();

  constructor(clock: FullClock) {
    this.clock = clock;
  }

  /** Returns the submission of a session that is being verified here. The caller must be one who may see the session. */
  of(sessionId: string): Verifying | undefined {
    return this.#runs.get(sessionId)?.view();
  }

  /** Waits for a submission that is being verified here; undefined if none with this key is. */
  wait(sessionId: string, phase: number, key: string, waiting: Waiting): Promise<Verifying | Judged> | undefined {
    const run = this.#runs.get(sessionId);
    return run?.phase === phase && run.key === key ? this.#join(sessionId, run, waiting) : undefined;
  }

  /**
   * Makes a submission, and waits for it; or waits for the same one, if it is being verified here already.
   * @throws {PhasegateError} `INVALID_TRANSITION` when other evidence for the phase is being verified here.
   */
  async submit(sessionId: string, submission: Submission, waiting: Waiting, begin: Begin): Promise<Verifying | Judged> {
    const { phase, evidence, idempotencyKey = this.clock.newId() } = submission;
    const known = this.#runs.get(sessionId);
    if (known?.phase === phase) {
      const isSame = submission.idempotencyKey === undefined || idempotencyKey === known.key;
      if (!isSame || canonicalJson(known.evidence) !== canonicalJson(evidence)) throw beingVerified(known.view());
      return this.#join(sessionId, known, waiting);
    }
    const made = { phase, evidence, key: idempotencyKey, since: this.clock.now() };
    const run = new Run(made, begin, (running) => this.#know(sessionId, running));
    const forget = () => {
      if (this.#runs.get(sessionId) === run) this.#runs.delete(sessionId);
    };
    run.result.then(forget, forget);
    try {
      return await this.#answer(sessionId, run, waiting);
    } catch (error) {
      if (run.isOvertaken) return this.submit(sessionId, submission, waiting, begin);
      throw error;
    }
  }

  /** Stops all checks: nothing of these submissions is written. Resolves when they have ended. */
  async end(): Promise<void> {
    const runs = [...this.#runs.values()];
    for (const { stop } of runs) stop.abort();
    await Promise.allSettled(runs.map(({ result }) => result));
  }

  /** Makes a submission known, unless another one of the session is: then it is stopped, and asked for anew. */
  #know(sessionId: string, run: Run): boolean {
    const known = this.#runs.get(sessionId);
    if (known === undefined) this.#runs.set(sessionId, run);
    else if (known !== run) {
      run.isOvertaken = true;
      run.stop.abort();
    }
    return !run.isOvertaken;
  }

  #join(sessionId: string, run: Run, waiting: Waiting): Promise<Verifying | Judged> {
    run.isKept = true;
    return this.#answer(sessionId, run, waiting);
  }

  async #answer(
    sessionId: string,
    run: Run,
    { signal, onCheck, answerWithinMs }: Waiting,
  ): Promise<Verifying | Judged> {
    let leave = () => {};
    const left = new Promise<Verifying>((resolve) => {
      leave = () => resolve(run.view());
    });
    const late = () => {
      if (!this.#know(sessionId, run)) return;
      run.isKept = true;
      leave();
    };
    // Who leaves one that others know of gets no answer.
    const onAbort = () => (run.isKept ? leave() : run.stop.abort());
    const isLimited = answerWithinMs !== Number.POSITIVE_INFINITY;
    const cancel = isLimited ? this.clock.after(Math.min(answerWithinMs, TIMER_MAX), late) : () => {};
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

/** A submission that runs. */
class Run {
  readonly phase: number;
  readonly key: string;
  readonly evidence: object;
  readonly stop = new AbortController();
  /** True once it goes on without the caller that has made it. */
  isKept = false;
  /** True once it was stopped because the checks of another submission have begun before. */
  isOvertaken = false;
  readonly result: Promise<CompleteResult>;
  readonly #since: number;
  readonly #listeners = new Set<(progress: CheckProgress) => void>();
  /** The checks that run. */
  #checks: readonly CheckProgress[] = [];
  #counts = { done: 0, total: 0 };

  constructor(
    { phase, key, evidence, since }: Pick<Run, "phase" | "key" | "evidence"> & { readonly since: number },
    begin: Begin,
    onBegun: (run: Run) => void,
  ) {
    this.phase = phase;
    this.key = key;
    this.evidence = evidence;
    this.#since = since;
    const onCheck = (progress: CheckProgress) => {
      if (progress.ok === undefined) onBegun(this);
      this.#note(progress);
    };
    this.result = begin({ signal: this.stop.signal, onCheck }, key);
  }

  /** Calls back with the checks that run, and with all that begin and end from now on. Returns a function that ends this. */
  follow(onCheck: Followed["onCheck"] = () => {}): () => void {
    for (const check of this.#checks) onCheck(check);
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
      running: this.#checks.map(({ verifier, field }) => (field === undefined ? verifier : `${verifier} (${field})`)),
      ...this.#counts,
    };
  }

  /** Notes that a check has begun or ended, and tells who follows. */
  #note(progress: CheckProgress): void {
    const { verifier, field, ok, done, total } = progress;
    // They are run again, since the session has changed meanwhile.
    if (done < this.#counts.done) this.#checks = [];
    this.#counts = { done, total };
    const ended = this.#checks.find((one) => one.verifier === verifier && one.field === field);
    this.#checks = ok === undefined ? [...this.#checks, progress] : this.#checks.filter((one) => one !== ended);
    for (const listener of this.#listeners) listener(progress);
  }
}

function beingVerified({ phase, since, idempotencyKey }: Verifying): PhasegateError<"INVALID_TRANSITION"> {
  return new PhasegateError(
    "INVALID_TRANSITION",
    `completePhase is not possible: other evidence for phase ${phase} is being verified since ${since}`,
    {
      remedy: `Wait for its result, which has the idempotency key ${idempotencyKey}. Submit this evidence afterwards, if it is still needed.`,
      details: { command: "completePhase", status: "active", allowed: [] },
    },
  );
}
