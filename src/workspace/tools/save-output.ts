import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import type { Connection } from "../connection.js";
import { ROOT_NAMES } from "../roots/workspace-folders.js";
import { isSessionFolder } from "../session/session-id.js";
import { notOwn } from "../session/session-refusals.js";
import { defineTool } from "./define-tool.js";
import type { ToolSuccess } from "./workspace-tool.js";

/** What `save_output` has saved. */
export interface OutputSaved extends ToolSuccess {
  /** With its root: `{output-root}/<session_id>/report.md`. */
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** Whether there was a file before. */
  readonly replaced: boolean;
}

/** `save_output`: a file of a session of this connection. */
export const saveOutputTool = defineTool({
  name: "save_output",
  title: "Save an output",
  description:
    "Saves a text file in a session that you created or reopened: <session_id>/name. Folders are made; an old file is replaced.",
  readOnly: false,
  input: z.strictObject({
    path: z.string().describe("<session_id>/report.md"),
    content: z
      .string()
      // What is saved must be what was given, and readable again.
      .refine((text) => text.isWellFormed(), "it holds half a character (a lone surrogate)")
      .refine((text) => !text.includes("\0"), "it holds a NUL, and outputs are text")
      .describe("The whole file"),
  }),
  async run({ path, content }, connection): Promise<OutputSaved> {
    const { id, rest } = await ownPath(path, connection);
    const saved = await connection.sessions.save(id, rest, content);
    return { success: true, path: saved.path, size: saved.bytes, replaced: saved.replaced };
  },
});

/** The session that a path begins with, if it is one of the connection's, and the path in it. */
async function ownPath(given: string, connection: Connection) {
  const location = connection.roots.resolve(given);
  const [id = "", ...names] = location.path.split("/");
  const isOutput = location.root === ROOT_NAMES.output;
  if (!isOutput || !isSessionFolder(id)) throw noSessionInPath(given, connection);
  if (!connection.owns(id)) throw notOwn(id, await connection.sessions.exists(id));
  if (names.length > 0) return { id, rest: names.join("/") };
  throw new PhasegateError("INVALID_INPUT", "the path names a session and no file in it", {
    remedy: `Give a name, such as "${id}/report.md".`,
    details: { field: "path", expected: "<session_id>/name" },
  });
}

/** Who has only forgotten the session is told the path to use; who aims at another root is refused. */
function noSessionInPath(given: string, { roots, sessionId }: Connection): PhasegateError {
  const { root, path } = roots.resolve(given);
  const isForgotten = !given.trimStart().startsWith("{") || root === ROOT_NAMES.output;
  const remedy =
    sessionId === undefined
      ? "Call create_session, then save to <session_id>/name."
      : `Save it as "${sessionId}/${isForgotten ? path : "name"}".`;
  const details = { field: "path", expected: "<session_id>/name" };
  if (isForgotten)
    return new PhasegateError("INVALID_INPUT", "the path begins with no session's id", { remedy, details });
  const reason = `{${root}} is read only`;
  return new PhasegateError("PATH_REFUSED", `nothing was saved: ${reason}`, { remedy, details: { reason } });
}
