import type { McpServer } from "@modelcontextprotocol/server";
import type { Engine } from "../engine/engine.js";
import type { NotificationName } from "../engine/notifications.js";
import { pollWorkflows, type WorkflowPoll } from "./poll-workflows.js";

/** What changes the list of sessions, or what it says of one. */
const CHANGES: readonly NotificationName[] = ["started", "completed", "failed", "deleted"];

/** Tells the server's client when the list of resources is another one; the function that comes back stops it. */
export function notifyListChanged(server: McpServer, engine: Engine, poll: WorkflowPoll | undefined): () => void {
  const notify = () => void sendListChanged(server);
  const stops = CHANGES.map((name) => engine.on(name, notify));
  if (poll !== undefined) stops.push(pollWorkflows(poll, notify));
  return () => {
    for (const stop of stops) stop();
  };
}

/** The client may go away at any time, which is nobody's error. */
async function sendListChanged(server: McpServer): Promise<void> {
  if (!server.isConnected()) return;
  try {
    await server.server.sendResourceListChanged();
  } catch {
    // The news was for a client that is gone.
  }
}
