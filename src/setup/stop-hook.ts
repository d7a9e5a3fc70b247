/**
 * What clients say to a hook before an agent ends, and how it answers them. Pure. Each client has its own words for "this
 * agent goes on only because the hook asked it to"; then, and whenever a run has not ended by itself, the hook is silent.
 */
import { isJsonObject, type JsonObject } from "../workflow/json.js";

/** The clients that ask a hook before an agent ends. */
export const HOOK_CLIENTS = ["claude", "gemini", "cursor"] as const;
/** One of these clients. */
export type HookClient = (typeof HOOK_CLIENTS)[number];

/** An agent that is about to end, and may be asked to go on. */
export interface Ending {
  /** The folder that the agent works in; undefined if the client does not say. */
  readonly folder: string | undefined;
  /** The client's id of the conversation. */
  readonly conversation: string;
  /** The file with the conversation so far; undefined if there is none. */
  readonly transcript: string | undefined;
}

/** Reads what a client has sent. Undefined if there is nothing to say, whatever the session is like. */
export function readEnding(client: HookClient, input: string): Ending | undefined {
  const sent = parsed(input);
  if (sent === undefined || !MAY_GO_ON[client](sent)) return undefined;
  const [workspace] = Array.isArray(sent.workspace_roots) ? sent.workspace_roots : [];
  return {
    folder: textOf(client === "cursor" ? workspace : sent.cwd),
    conversation: textOf(client === "cursor" ? sent.conversation_id : sent.session_id) ?? "",
    transcript: textOf(sent.transcript_path),
  };
}

/** Whether a client asks about the end of an agent that has not been asked to go on before. */
const MAY_GO_ON: Readonly<Record<HookClient, (sent: JsonObject) => boolean>> = {
  claude: (sent) => sent.hook_event_name === "Stop" && sent.stop_hook_active !== true,
  gemini: (sent) => sent.hook_event_name === "AfterAgent" && sent.stop_hook_active !== true,
  // A run that a person has stopped, or that has failed, is not "completed".
  cursor: (sent) => sent.hook_event_name === "stop" && sent.status === "completed" && (sent.loop_count ?? 0) === 0,
};

/** Returns the answer by which a client lets its agent go on with a text. */
export function goOnAnswer(client: HookClient, text: string): JsonObject {
  switch (client) {
    case "claude":
      return { decision: "block", reason: text };
    case "gemini":
      return { decision: "deny", reason: text };
    case "cursor":
      return { followup_message: text };
  }
}

function parsed(input: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(input.startsWith("\ufeff") ? input.slice(1) : input);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // No client sends this: then there is nobody to answer.
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
