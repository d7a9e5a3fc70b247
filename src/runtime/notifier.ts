/**
 * Notifications to a host's listeners. They come at most once and after the commit; the log is the record.
 * A listener that fails stops neither the others nor the call.
 */

import { EventEmitter } from "eventemitter3";

/** A listener. If it throws or rejects, neither the other listeners nor the call are affected. */
export type Listener<P> = (payload: P) => unknown;

/** The notification about a listener or port that failed. */
interface Failures {
  internalError: { readonly operation: string; readonly error: unknown };
}

/** Sends notifications to listeners, each isolated from the others. */
export class Notifier<Names extends Failures> {
  readonly #emitter = new EventEmitter<string>();

  /** Adds a listener; returns a function that removes it. */
  on<N extends keyof Names & string>(name: N, listener: Listener<Names[N]>): () => void {
    // A new function for each call: a listener added twice is called twice, and each is removed separately.
    const own: Listener<Names[N]> = (payload) => listener(payload);
    this.#emitter.on(name, own);
    return () => {
      this.#emitter.off(name, own);
    };
  }

  /** Calls all listeners of a notification. */
  notify<N extends keyof Names & string>(name: N, payload: Names[N]): void {
    if (this.#emitter.listenerCount(name) === 0) return;
    for (const listener of this.#emitter.listeners(name)) this.#call(name, () => listener(payload));
  }

  #call(name: string, listener: () => unknown): void {
    try {
      const outcome: unknown = listener();
      if (isThenable(outcome)) Promise.resolve(outcome).catch((error: unknown) => this.#failed(name, error));
    } catch (error) {
      this.#failed(name, error);
    }
  }

  /** Does nothing if a listener of `internalError` itself failed: there is no one left to notify. */
  #failed(name: string, error: unknown): void {
    if (name !== "internalError") this.notify("internalError", { operation: `listener of ${name}`, error });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
