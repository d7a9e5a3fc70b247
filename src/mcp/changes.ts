/** How clients are told of changes: of the lists of resources and prompts, and of sessions that they have subscribed to. */
import type { Engine } from "../phased/engine.js";
import type { EngineNotifications } from "../phased/notifications.js";
import { type FullClock, pause, TIMER_MAX } from "../ports/clock.js";
import type { ContentProvider } from "../ports/content-provider.js";
import { formatDiagnostic } from "../workflow/diagnostic.js";
import { fromOne, having, type OptionChecks } from "../workflow/host-options.js";
import { type Host, McpFailure } from "./host.js";
import { guarded } from "./resources.js";

/** Maximum number of sessions that one client or stream may subscribe to. */
export const SUBSCRIPTIONS_MAX = 100;
/** The wait before a watch that has failed begins again, in milliseconds. */
const AGAIN_MS = 5000;
/** The longest wait for the storage's watch to begin, in milliseconds. */
const READY_MS = 1000;
/** The wait before polling begins, in milliseconds: it reads all workflows, and a new client waits for its first answers. */
const SETTLE_MS = 500;
const SESSION = "phasegate://session/";

/** Something that was registered on a server, and ends with it. */
export interface Registration {
  /**
   * Stops the notifications. Call it when the server is no longer used: a host that creates a server for each connection
   * or request would otherwise leak a listener on the engine.
   */
  dispose(): void;
  /**
   * Sends updates of a resource, as if the client had subscribed: for a transport of protocol 2026-07-28, whose
   * subscriptions the server does not see. Missing without resources of sessions. Rejects if there is no such resource.
   */
  subscribe?(uri: string): Promise<void>;
  /** Ends the updates of a resource. */
  unsubscribe?(uri: string): void;
}

/**
 * Lets a client subscribe to sessions: it is told of each commit, whichever process has appended it. The storage is watched
 * only while there are subscriptions.
 */
export function registerSubscriptions(host: Host, engine: Engine): Registration {
  const subscribed = new Map<string, string>();
  let watching: { readonly end: AbortController; readonly ready: Promise<void> } | undefined;
  const end = () => {
    watching?.end.abort();
    watching = undefined;
  };
  const tellAll = () => {
    for (const uri of subscribed.values()) void host.tellUpdated(uri);
  };
  /** Watches the storage. Resolves when no commit is missed, or after a time: some storages can't tell. */
  const begin = (): Promise<void> => {
    if (watching !== undefined) return watching.ready;
    const aborter = new AbortController();
    const { signal } = aborter;
    let onReady = () => {};
    const begun = new Promise<void>((resolve) => {
      onReady = resolve;
    });
    // Throws if the storage can't be watched.
    const first = engine.watch({}, { signal, onReady });
    const ready = Promise.race([begun, pause(untied, READY_MS, signal)]);
    watching = { end: aborter, ready };
    const follow = async (): Promise<void> => {
      for (let isFirst = true; !signal.aborted; isFirst = false) {
        try {
          const commits = isFirst ? first : engine.watch({}, { signal, onReady: tellAll });
          // Commits may have been missed; until the watch is ready, too.
          if (!isFirst) tellAll();
          for await (const { sessionId } of commits) {
            const uri = subscribed.get(sessionId);
            if (uri !== undefined) await host.tellUpdated(uri);
          }
        } catch (error) {
          engine.reportError("subscriptions", error);
          onReady();
        }
        await pause(untied, AGAIN_MS, signal);
      }
    };
    void follow();
    return ready;
  };
  /** The sessions of subscriptions that are being checked. */
  const asking = new Set<string>();
  const endIfUnused = () => {
    if (subscribed.size === 0 && asking.size === 0) end();
  };
  const subscribe = async (uri: string): Promise<void> => {
    const id = sessionOf(uri);
    if (id === undefined) throw refused(uri, `only sessions, ${SESSION}{id}, can be subscribed to`);
    if (!subscribed.has(id) && subscribed.size + asking.size >= SUBSCRIPTIONS_MAX) {
      throw refused(uri, `a client may subscribe to ${SUBSCRIPTIONS_MAX} sessions`);
    }
    asking.add(id);
    try {
      await guarded(new URL(uri), async () => {
        await begin();
        await engine.session(id).state();
      });
      // It may have ended meanwhile.
      if (asking.has(id)) subscribed.set(id, uri);
    } finally {
      asking.delete(id);
      endIfUnused();
    }
  };
  const unsubscribe = (uri: string): void => {
    const id = sessionOf(uri) ?? "";
    asking.delete(id);
    subscribed.delete(id);
    endIfUnused();
  };
  host.subscriptions(subscribe, unsubscribe);
  return {
    subscribe,
    unsubscribe,
    dispose() {
      asking.clear();
      subscribed.clear();
      end();
    },
  };
}

function sessionOf(uri: string): string | undefined {
  const id = uri.startsWith(SESSION) ? uri.slice(SESSION.length) : "";
  return id === "" || id.includes("/") ? undefined : id;
}

function refused(uri: string, message: string): McpFailure {
  return new McpFailure("invalid params", message, { uri });
}

/** The notifications after which the list of sessions is different. */
const CHANGES: readonly (keyof EngineNotifications)[] = ["started", "completed", "failed", "deleted", "assigned"];

/** Tells a client that the list of resources has changed when sessions start or end. Returns a function that stops it. */
export function tellSessions(host: Host, engine: Engine): () => void {
  const stops = CHANGES.map((name) => engine.on(name, () => void host.tellResourcesChanged()));
  return () => {
    for (const stop of stops) stop();
  };
}

/** Options for polling for changed workflows. */
export interface WorkflowPoll {
  /** The engine's own provider. It is called directly, so that polling does not appear in the engine's metrics. */
  readonly content: ContentProvider;
  /** The interval, in milliseconds. */
  readonly everyMs: number;
}

export const pollChecks: OptionChecks<WorkflowPoll> = {
  content: having("a provider of workflows", "list"),
  everyMs: fromOne,
};

/** Calls `onChange` when the workflows have changed. Returns a function that stops the polling. */
export function pollWorkflows({ content, everyMs }: WorkflowPoll, onChange: () => void): () => void {
  const aborter = new AbortController();
  const { signal } = aborter;
  const poll = async () => {
    await pause(untied, Math.min(everyMs, SETTLE_MS), signal);
    for (let seen: string | undefined; !signal.aborted; await pause(untied, Math.min(everyMs, TIMER_MAX), signal)) {
      const found = await fingerprint(content);
      if (signal.aborted) return;
      if (seen !== undefined && found !== undefined && seen !== found) onChange();
      seen = found ?? seen;
    }
  };
  void poll();
  return () => aborter.abort();
}

/** Returns undefined if the provider fails: calls that need it report that. */
async function fingerprint(content: ContentProvider): Promise<string | undefined> {
  try {
    const listings = await content.list();
    const states = listings.map((one) => {
      const revision = one.status === "ready" ? one.definition.structure.revision : undefined;
      return [one.type, revision, one.diagnostics.map(formatDiagnostic)];
    });
    return JSON.stringify(states);
  } catch {
    return undefined;
  }
}

/** Timers that let the process end. */
const untied: Pick<FullClock, "after"> = {
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    letProcessEnd(timer);
    return () => clearTimeout(timer);
  },
};

/** Lets the process end in spite of a timer. In Node a timer is an object that keeps it alive; elsewhere it is a number. */
export function letProcessEnd(timer: unknown): void {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
  if (typeof timer.unref === "function") timer.unref();
}
