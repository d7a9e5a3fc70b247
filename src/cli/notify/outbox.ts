/**
 * Messages on their way to one receiver: in their order, tried again while that may help, and bounded in number and time. A
 * message that does not arrive is logged.
 */
import type { Logger } from "pino";
import { type FullClock, pause, systemClock } from "../../ports/clock.js";
import { messageOf } from "../exit-codes.js";
import type { Message } from "./messages.js";

/** Who is told: an address or a command. */
export interface Receiver {
  /** What the log calls it: of an address no more than its server, since its path may be a secret. */
  readonly name: string;
  /** Sends a message once. Returns why it has not arrived; undefined if it has. */
  send(message: Message, signal: AbortSignal): Promise<Failure | undefined>;
}

export interface Failure {
  readonly why: string;
  /** True if it may arrive another time. */
  readonly isPassing?: true;
  /** When it may be tried again, in milliseconds from now. */
  readonly afterMs?: number;
}

/** The waits between tries, in milliseconds: the first, and the longest. Each is twice the one before. */
const FIRST_WAIT = 1000;
const LONGEST_WAIT = 60_000;

/** So long after it came, a message is not tried again: each is tried once. In milliseconds. */
const GIVE_UP = 10 * 60_000;

/** As many messages wait for one receiver. */
const WAITING_MAX = 100;

export class Outbox {
  readonly #receiver: Receiver;
  readonly #log: Pick<Logger, "debug" | "info" | "warn">;
  readonly #ended: AbortSignal;
  readonly #clock: Pick<FullClock, "now" | "after" | "random">;
  readonly #waiting: { readonly message: Message; readonly end: number }[] = [];
  #isWorking = false;
  #work = Promise.resolve();

  /** Once `ended` aborts, no message is tried any more. */
  constructor(
    receiver: Receiver,
    log: Pick<Logger, "debug" | "info" | "warn">,
    ended: AbortSignal,
    clock: Pick<FullClock, "now" | "after" | "random"> = systemClock,
  ) {
    this.#receiver = receiver;
    this.#log = log;
    this.#ended = ended;
    this.#clock = clock;
  }

  add(message: Message): void {
    if (this.#waiting.length === WAITING_MAX) return this.#drop(message, `${WAITING_MAX} others wait`);
    this.#waiting.push({ message, end: this.#clock.now() + GIVE_UP });
    if (!this.#isWorking) this.#work = this.#sendAll();
  }

  /** Resolves once each message has arrived or was dropped. */
  empty(): Promise<void> {
    return this.#work;
  }

  async #sendAll(): Promise<void> {
    this.#isWorking = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await this.#deliver(next.message, next.end);
    }
    this.#isWorking = false;
  }

  async #deliver(message: Message, end: number): Promise<void> {
    let wait = FIRST_WAIT;
    for (;;) {
      if (this.#ended.aborted) return this.#drop(message, "the server ends");
      const failure = await this.#try(message);
      if (failure === undefined) return this.#log.info(this.#about(message), "told");
      // Some chance, so that several servers do not come back at the same moment.
      const after = Math.max(wait * (0.5 + this.#clock.random() / 2), failure.afterMs ?? 0);
      if (this.#ended.aborted) continue;
      if (!failure.isPassing || this.#clock.now() + after > end) return this.#drop(message, failure.why);
      this.#log.debug({ ...this.#about(message), reason: failure.why }, "not told yet");
      await pause(this.#clock, after, this.#ended);
      wait = Math.min(wait * 2, LONGEST_WAIT);
    }
  }

  async #try(message: Message): Promise<Failure | undefined> {
    try {
      return await this.#receiver.send(message, this.#ended);
    } catch (error) {
      return { why: messageOf(error) };
    }
  }

  #drop(message: Message, reason: string): void {
    this.#log.warn({ ...this.#about(message), reason }, "not told");
  }

  #about({ id, type, data: { sessionId } }: Message): object {
    return { receiver: this.#receiver.name, id, type, sessionId };
  }
}
