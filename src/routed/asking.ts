/**
 * The questions to the decider that are under way. Callers who wait for the decision on one report share one question. A
 * caller that ends its call leaves the question to the others: only the last one ends it. The wait for a decider also ends at
 * the deadline.
 */
import { PhasegateError } from "../errors.js";
import type { FullClock } from "../ports/clock.js";
import type { RoutedCommit, RoutedSession } from "./state/machine.js";

export interface Waiting {
  readonly operation: "start" | "advance" | "resume" | "retry";
  readonly signal: AbortSignal | undefined;
  readonly onAsk: (() => void) | undefined;
}

/** A question that was asked once, and how many calls wait for its answer. */
interface Question {
  readonly answer: Promise<RoutedCommit>;
  readonly wait: DeciderWait;
  waiting: number;
}

type Ask = (wait: DeciderWait, close: () => void) => Promise<RoutedCommit>;

/** Asks each question once at a time. */
export class Asking {
  readonly #questions = new Map<string, Question>();

  /**
   * Returns the commit with the decision on the report at a version. `ask` asks for it, if no other call does. It calls
   * `close` once it has failed: a call that comes then asks anew. Throws `CANCELLED` when the caller ends the call.
   */
  async answer(
    { sessionId }: Pick<RoutedSession, "sessionId">,
    version: number,
    ask: Ask,
    { operation, signal, onAsk }: Waiting,
  ): Promise<RoutedCommit> {
    if (signal?.aborted) throw leftPending(operation, sessionId);
    const key = `${sessionId} ${version}`;
    const known = this.#questions.get(key);
    // One that was ended is not waited for: usually it has no answer.
    const question = known === undefined || known.wait.isLeft ? this.#ask(key, ask) : known;
    question.waiting += 1;
    if (signal === undefined) {
      onAsk?.();
      return question.answer;
    }
    let leave = () => {};
    const left = new Promise<never>((_, reject) => {
      leave = () => {
        question.waiting -= 1;
        const error = leftPending(operation, sessionId);
        // The last caller waits until the question has ended: if the decider has answered just before, its answer counts.
        if (question.waiting === 0) question.wait.leave(error);
        else reject(error);
      };
    });
    signal.addEventListener("abort", leave, { once: true });
    try {
      onAsk?.();
      return await Promise.race([question.answer, left]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #ask(key: string, ask: Ask): Question {
    const wait = new DeciderWait();
    const forget = () => {
      if (this.#questions.get(key) === question) this.#questions.delete(key);
    };
    const question: Question = { answer: ask(wait, forget).finally(forget), wait, waiting: 0 };
    this.#questions.set(key, question);
    return question;
  }
}

/** Returns the error of a call that has ended while it waited. The report stays pending. */
function leftPending(operation: string, sessionId: RoutedSession["sessionId"]): PhasegateError<"CANCELLED"> {
  return new PhasegateError("CANCELLED", "the caller has ended the call before the next step was decided", {
    remedy: "Make the call again, with the same idempotency key, or resume the instance: what is recorded is kept.",
    details: { operation, sessionId },
  });
}

export interface Deadline {
  readonly clock: FullClock;
  readonly milliseconds: number;
  readonly missed: () => Error;
}

/**
 * Waits for a decider until the deadline, as long as somebody wants its answer. A decider that is plain code answers at once:
 * then no timer is set, which would take a tenth of the call.
 */
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

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends it, since nobody waits any more: what waits for an answer throws `why`. */
  leave(why: Error): void {
    this.#left = why;
    this.#end(why);
  }

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
