/** A hook for the end of an agent of Claude Code, which sends and takes the same in the Agent SDK and on the command line. */
import type { Engine } from "../phased/engine.js";
import { RecentMap } from "../workflow/cache.js";
import { callable, checkOptions, having, optionally, text } from "../workflow/host-options.js";
import { activeSessions, goingOn, isTold, type Reminder } from "./unfinished.js";

/** What Claude Code sends to a hook, as far as it is read. */
export interface StopHookInput {
  /** `Stop` for the end of the agent. */
  readonly hook_event_name: string;
  /** True if the agent goes on only because a hook has asked it to. */
  readonly stop_hook_active?: boolean;
  /** The id of the conversation. */
  readonly session_id?: string;
  /** The file with the conversation. */
  readonly transcript_path?: string;
}

/** What Claude Code is answered: an empty object lets the agent end. */
export interface StopHookAnswer {
  /** The agent goes on. */
  readonly decision?: "block";
  /** What the agent is told. */
  readonly reason?: string;
}

/** Returns true for the end of an agent that goes on by itself: it is asked to go on once. */
export function isFirstEnd(sent: { readonly hook_event_name?: unknown; readonly stop_hook_active?: unknown }): boolean {
  return sent.hook_event_name === "Stop" && sent.stop_hook_active !== true;
}

/** Returns the answer by which an agent goes on with a text. */
export function blocking(reason: string) {
  return { decision: "block", reason } as const;
}

/** The most conversations whose reminders are known; one that was forgotten may be reminded once more. */
const CONVERSATIONS_MAX = 1000;

/** Options of {@link stopHook}. */
export interface StopHookOptions {
  /** The name of the workflow tool as the agent knows it, such as `mcp__work__pos_workflow`. Default: `pos_workflow`. */
  readonly tool?: string;
  /** Is told of an error of the storage, which lets the agent end. Must not throw. Default: nobody is told. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Returns a hook for `hooks: { Stop: [{ hooks: [stopHook(engine)] }] }` of the Claude Agent SDK: an agent whose session is
 * unfinished is told its next call once, and may then end. Of the active sessions it is the one that the conversation names, as
 * for `phasegate hook stop`. The hook never rejects. Needs Node.
 *
 * @param engine The engine for the agent: `engine.as(actor)` if it has sessions of several.
 * @throws {PhasegateError} `INVALID_INPUT` when an option is unknown or invalid.
 */
export function stopHook(
  engine: Engine,
  options: StopHookOptions = {},
): (input: StopHookInput) => Promise<StopHookAnswer> {
  checkOptions("stopHook", { engine }, { engine: having("an engine, as createEngine() returns it", "listSessions") });
  checkOptions("stopHook", options, { tool: optionally(text), onError: optionally(callable) });
  /** What each conversation was told last. */
  const told = new RecentMap<string | undefined, Reminder>(CONVERSATIONS_MAX);
  return async (input) => {
    if (!isFirstEnd(input)) return {};
    try {
      const { sessionIn } = await import("./transcript.js");
      const session = await sessionIn(input.transcript_path, await activeSessions(engine));
      const open = session && (await goingOn(engine, session.sessionId, { tool: options.tool, isGuess: true }));
      if (open === undefined || isTold(open, told.get(input.session_id))) return {};
      told.set(input.session_id, open);
      return blocking(open.message);
    } catch (error) {
      options.onError?.(error);
      return {};
    }
  };
}
