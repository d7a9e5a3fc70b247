/**
 * Tells a client that the list of resources has changed: when sessions start or end, and, if the host wishes, when polling
 * finds changed workflows.
 */
import type { McpServer } from "@modelcontextprotocol/server";
import type { Engine } from "../phased/engine.js";
import type { EngineNotifications } from "../phased/notifications.js";
import type { ContentProvider, WorkflowListing } from "../ports/content-provider.js";
import { formatDiagnostic } from "../workflow/diagnostic.js";

/** The notifications after which the list of sessions is different. */
const CHANGES: readonly (keyof EngineNotifications)[] = ["started", "completed", "failed", "deleted"];

/** Notifies the client of changes. Returns a function that stops it. */
export function notifyListChanged(server: McpServer, engine: Engine, poll: WorkflowPoll | undefined): () => void {
  const notify = () => void sendListChanged(server);
  const stops = CHANGES.map((name) => engine.on(name, notify));
  if (poll !== undefined) stops.push(pollWorkflows(poll, notify));
  return () => {
    for (const stop of stops) stop();
  };
}

/** Sends the notification. The client may disconnect at any time, which is not an error. */
async function sendListChanged(server: McpServer): Promise<void> {
  if (!server.isConnected()) return;
  try {
    await server.server.sendResourceListChanged();
  } catch {
    // The client has disconnected.
  }
}

/** Options for polling for changed workflows. */
export interface WorkflowPoll {
  /** The engine's own provider. It is called directly, so that polling does not appear in the engine's metrics. */
  readonly content: ContentProvider;
  /** The interval, in milliseconds. */
  readonly everyMs: number;
}

/** Calls `onChange` when the workflows have changed. Returns a function that stops the polling. */
function pollWorkflows({ content, everyMs }: WorkflowPoll, onChange: () => void): () => void {
  let seen: string | undefined;
  let stopped = false;
  let polling = false;
  const poll = async () => {
    // Polls that take longer than the interval must not run at the same time.
    if (polling) return;
    polling = true;
    const found = await fingerprint(content);
    polling = false;
    if (stopped || found === undefined) return;
    if (seen !== undefined && seen !== found) onChange();
    seen = found;
  };
  const timer = setInterval(() => void poll(), everyMs);
  letProcessEnd(timer);
  void poll();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

/** Returns undefined if the provider fails: calls that need it report that. */
async function fingerprint(content: ContentProvider): Promise<string | undefined> {
  try {
    return JSON.stringify((await content.list()).map(stateOf));
  } catch {
    return undefined;
  }
}

function stateOf(listing: WorkflowListing): readonly unknown[] {
  const revision = listing.status === "ready" ? listing.definition.structure.revision : undefined;
  return [listing.type, revision, listing.diagnostics.map(formatDiagnostic)];
}

/** Lets the process end in spite of a timer. In Node a timer is an object that keeps it alive; elsewhere it is a number. */
function letProcessEnd(timer: unknown): void {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
  if (typeof timer.unref === "function") timer.unref();
}
