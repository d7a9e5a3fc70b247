/**
 * The wait for a decider's answers to one question. It ends at the deadline, or when no caller waits any more. A decider
 * that is plain code answers at once: then no timer is set, which would take a tenth of the call.
 */
import type { FullClock } from "../ports/clock.js";

/** A deadline, with the error for a decider that misses it. */
export interface Deadline {
  readonly clock: FullClock;
  readonly milliseconds: number;
  readonly missed: () => Error;
}

/** Waits for a decider until the deadline, as long as somebody wants its answer. */
export class DeciderWait {
  #left: Error | undefined;
  #isClosed = false;
  readonly #controller = new AbortController();
  #refuse: ((why: Error) => void) | undefined;
  #cancel: (() => void) | undefined;

  /** True if nobody waits any more. */
  get isLeft(): boolean {
    return this.#left !== undefined;
  }

  /** What the decider is stopped by. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends it, since nobody waits any more: what waits for an answer throws `why`. */
  leave(why: Error): void {
    this.#left = why;
    this.#end(why);
  }

  /** Throws if nobody waits any more. */
  throwIfLeft(): void {
    if (this.#left !== undefined) throw this.#left;
  }

  /**
   * Asks, and returns what the answer comes to. Throws when nobody waits any more, and at the deadline, which counts from the
   * first question that is not answered at once; even if the decider ignores its signal.
   */
  answer(ask: () => unknown, { clock, milliseconds, missed }: Deadline): Promise<unknown> {
    this.throwIfLeft();
    return new Promise((resolve, reject) => {
      // Before it is asked: who asks may end the wait at once.
      this.#refuse = reject;
      let isAnswered = false;
      const answered = () => {
        isAnswered = true;
      };
      // A host's decider in plain JavaScript may give no promise.
      const answer = Promise.resolve(ask());
      answer.then(resolve, reject);
      answer.then(answered, answered);
      queueMicrotask(() => {
        if (!isAnswered) this.#cancel ??= clock.after(milliseconds, () => this.#end(missed()));
      });
    });
  }

  /** Ends the wait, once no more is asked: nothing stops the decider any more. */
  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #end(why: Error): void {
    if (this.#isClosed) return;
    // The rejection comes before the signal: the decider's own error about the signal is ignored then.
    this.#refuse?.(why);
    this.#controller.abort();
  }
}
