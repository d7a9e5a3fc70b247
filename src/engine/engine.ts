/**
 * The part that engines of all kinds of sessions share. The entry file of this folder; what is decided where:
 * - engine.ts: the caller that an engine is for, and the notifications that the caller gets
 * - lists.ts: lists show what a session's log says, not what the storage's summary says
 * - watch.ts: which commits a watch yields
 */
import { type Actor, type Authorize, type Caller, callerOf, maySee } from "../ports/actor.js";
import type { Commit, SessionSummary, StorageAdapter, WatchOptions } from "../ports/storage-adapter.js";
import type { Failures, Listener, Notifier } from "../runtime/notifier.js";
import type { OperationMetrics, Operations } from "../runtime/operations.js";
import type { SessionId } from "../workflow/names.js";
import type { ListedSession, ListQuery, SessionPage } from "./lists.js";
import { type WatchQuery, watchSessions } from "./watch.js";

/**
 * The answer of a method: `AnswerOf<Session, "pause">` is what `await engine.session(id).pause()` gives. Names the results
 * that have no name of their own at an entry point.
 */
export type AnswerOf<Of, Method extends keyof Of> = Of[Method] extends (...args: never[]) => infer Answer
  ? Awaited<Answer>
  : never;

export interface EngineParts<Context, Names extends Failures, Seen extends Shown> {
  readonly kind: "phased" | "routed";
  readonly storage: StorageAdapter;
  readonly notifications: Notifier<Names>;
  readonly operations: Operations<Context>;
  /** Returns a session as it is listed; undefined if it is gone. */
  readonly lookAt: (context: Context, id: SessionId) => Promise<ListedSession | undefined>;
  /** Checks and reads a watched commit; undefined if it is not shown. */
  readonly read: (context: Context, commit: Commit) => Promise<Seen | undefined>;
  /** Returns what an operation for a caller works with: see `limitedFor` in runtime/access.ts. */
  readonly limit: (context: Context, caller: Caller, operation: string) => Context;
  /** The caller that the engine is for; the host itself if missing. */
  readonly caller?: Caller;
  /** Ends what goes on without a caller, before the storage is closed. */
  readonly end?: () => Promise<void>;
}

export function partsFor<Context, Names extends Failures, Seen extends Shown>(
  parts: EngineParts<Context, Names, Seen>,
  actor: Actor,
  authorize: Authorize,
): EngineParts<Context, Names, Seen> {
  const report = (error: unknown) => parts.notifications.notify("internalError", { operation: "authorize", error });
  const caller = callerOf(actor, authorize, report);
  const operations = parts.operations.within((context, operation) => parts.limit(context, caller, operation));
  return { ...parts, operations, caller };
}

type Shown = { readonly summary: SessionSummary };

/** An engine without the types of its operations. */
interface Shell<Names, Seen> {
  readonly storage: StorageAdapter;
  on<N extends keyof Names & string>(name: N, listener: Listener<Names[N]>): () => void;
  list(query: ListQuery): Promise<SessionPage>;
  watch(query: WatchQuery, options: WatchOptions): AsyncIterableIterator<Seen>;
  metrics(): Record<string, OperationMetrics>;
  failed(operation: string, error: unknown, sessionId: string | undefined): void;
  close(): Promise<void>;
}

export function shellOf<Context, Names extends Failures, Seen extends Shown>(
  parts: EngineParts<Context, Names, Seen>,
): Shell<Names, Seen> {
  const { kind, storage, notifications, operations, caller, read } = parts;
  const of = { kind, storage, caller };
  return {
    storage,
    on(name, listener) {
      if (caller === undefined) return notifications.on(name, listener);
      // Notifications about no session, such as of internal errors, are for the host alone.
      return notifications.on(name, (notification) => {
        const isSeen = isOfSession(notification) && maySee(caller, "on", { target: "", ...notification, kind });
        if (isSeen) listener(notification);
      });
    },
    list: (query) =>
      operations.run("listSessions", async (context) => {
        const { listSessions } = await import("./lists.js");
        const lookAt = (id: SessionId) => parts.lookAt(context, id);
        const onBroken = (error: unknown) => notifications.report("listSessions", error);
        return listSessions({ ...of, lookAt, onBroken }, query);
      }),
    watch: (query, options) => {
      const guard = (work: (context: Context) => Promise<Seen | undefined>) => operations.guard("watch", work);
      return watchSessions({ ...of, guard, read }, query, options);
    },
    metrics: () => operations.metrics.report(),
    failed: (operation, error, sessionId) =>
      notifications.failed(operation, error, sessionId === undefined ? {} : { sessionId }),
    close: async () => {
      if (caller !== undefined) return;
      await parts.end?.();
      await storage.close?.();
    },
  };
}

let storageIn: <N, S>(engine: SessionEngine<N, S>) => StorageAdapter;

/** Returns the storage of an engine: for the inspector, which watches it once for all engines on it. Not for hosts. */
export function storageOf<N, S>(engine: SessionEngine<N, S>): StorageAdapter {
  return storageIn(engine);
}

/** The part of an engine that does not depend on the kind of its sessions. */
export class SessionEngine<Names, Seen> {
  static {
    storageIn = (engine) => engine.#shell.storage;
  }

  readonly #shell: Shell<Names, Seen>;

  /** @internal */
  constructor(shell: Shell<Names, Seen>) {
    this.#shell = shell;
  }

  /**
   * Adds a listener for a notification; returns a function that removes it.
   * @throws {PhasegateError} `INVALID_INPUT` when there is no notification of that name.
   */
  on<N extends keyof Names & string>(name: N, listener: Listener<Names[N]>): () => void {
    return this.#shell.on(name, listener);
  }

  /**
   * Lists sessions by creation time, newest first, in pages. Each is read from its log. One that can't be read, or that
   * passed a gate with an approval that this host does not accept, is listed in `broken` and reported to `security` listeners.
   * @throws {PhasegateError} `CURSOR_INVALID` when `query.cursor` is not a cursor of this storage.
   */
  listSessions(query: ListQuery = {}): Promise<SessionPage> {
    return this.#shell.list(query);
  }

  /**
   * Yields commits of sessions as any process appends them, from the call on: each at least once, those of one session
   * in order, each checked against its hash. Ends when the signal aborts, or with `break`. Omits commits of a session
   * that passed a gate with an approval that this host does not accept; these are reported to `security` listeners.
   * @throws {PhasegateError} `UNSUPPORTED` when the storage can't be watched.
   * @throws {PhasegateError} `TAMPERED` when a commit is not what was written.
   */
  watch(query: WatchQuery = {}, options: WatchOptions = {}): AsyncIterableIterator<Seen> {
    return this.#shell.watch(query, options);
  }

  /**
   * Returns numbers of calls and durations in milliseconds of every operation that was called, by its name: in this process,
   * since the engine was created.
   */
  metrics(): Record<string, OperationMetrics> {
    return this.#shell.metrics();
  }

  /** Reports a failed call outside the engine, such as of a tool, to the listeners of `refused` or `internalError`. */
  reportError(operation: string, error: unknown, sessionId?: string): void {
    this.#shell.failed(operation, error, sessionId);
  }

  /** Ends checks that nobody waits for, and closes the storage; the engine of an actor leaves both to the host. */
  async close(): Promise<void> {
    await this.#shell.close();
  }
}

interface OfSession {
  readonly sessionId: SessionId;
  readonly workflowType: string;
  readonly owner?: string;
  readonly team?: string;
}

function isOfSession<T>(notification: T): notification is T & OfSession {
  return typeof notification === "object" && notification !== null && "workflowType" in notification;
}
