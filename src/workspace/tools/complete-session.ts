import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import { isSessionFolder } from "../session/session-id.js";
import { noSession, notOwn } from "../session/session-refusals.js";
import { defineTool } from "./define-tool.js";
import type { ToolSuccess } from "./workspace-tool.js";

/** A session that is over. */
export interface SessionCompleted extends ToolSuccess {
  readonly session_id: string;
  readonly status: "completed" | "failed";
  /** The files that it has made. */
  readonly outputs: number;
}

/** `complete_session`: the workflow is done, or can't be done. */
export const completeSessionTool = defineTool({
  name: "complete_session",
  title: "Complete a session",
  description: "Notes that the workflow is done; status: failed if it can't be done.",
  readOnly: false,
  input: z.strictObject({
    session_id: z.string().optional().describe("Your last session if not given"),
    status: z.enum(["completed", "failed"]).default("completed"),
    summary: z.string().max(2000).optional().describe("What was made, or why it failed"),
  }),
  async run({ session_id: given, status, summary }, connection): Promise<SessionCompleted> {
    const id = given?.trim().toLowerCase() ?? connection.sessionId;
    if (id === undefined) throw noneYet();
    if (!connection.owns(id)) {
      throw isSessionFolder(id) && (await connection.sessions.exists(id))
        ? notOwn(id, true, "nothing was completed")
        : noSession(id, []);
    }
    const { outputs } = await connection.sessions.complete(id, status, summary);
    return { success: true, session_id: id, status, outputs: outputs.length };
  },
});

function noneYet(): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", "this connection has no session", {
    remedy: "Call create_session first.",
    details: { field: "session_id", expected: "a session of this connection" },
  });
}
