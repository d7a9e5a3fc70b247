import { EventEmitter } from "eventemitter3";
/** A listener; what it throws, or rejects with, stops neither the others nor the call. */
export type Listener<P> = (payload: P) => unknown;

/** What a listener or a port has failed with. */
interface Failures {
  internalError: { readonly operation: string; readonly error: unknown };
}

/**
 * Notifications on eventemitter3, with each listener on its own. They come at most once and after
 * the commit: the log is the record, these are the news of it.
 */
export class Notifier<Names extends Failures> {
  readonly #emitter = new EventEmitter<string>();

  /** Listens; the function that comes back stops it. */
  on<N extends keyof Names & string>(name: N, listener: Listener<Names[N]>): () => void {
    // One of its own for each call: who listens twice hears twice, and stops each by itself.
    const own: Listener<Names[N]> = (payload) => listener(payload);
    this.#emitter.on(name, own);
    return () => {
      this.#emitter.off(name, own);
    };
  }

  /** Tells all listeners. */
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

  /** A listener of `internalError` that fails itself has nobody left to tell. */
  #failed(name: string, error: unknown): void {
    if (name !== "internalError") this.notify("internalError", { operation: `listener of ${name}`, error });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
