import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import type { Connection } from "../connection.js";
import type { Manifest } from "../session/manifest.js";
import { sessionInputsSchema } from "../session/recorded-events.js";
import { isSessionFolder } from "../session/session-id.js";
import { noSession } from "../session/session-refusals.js";
import { defineTool } from "./define-tool.js";
import type { ToolSuccess } from "./workspace-tool.js";

/** The most that inputs may hold together, in characters: they stand in each reading of the manifest. */
const INPUTS_MAX = 100_000;
/** How many outputs of a session that is gone on with are named. */
const OUTPUTS_SHOWN = 50;

/** The session that this connection may save to from now on. */
export interface SessionOpened extends ToolSuccess {
  readonly session_id: string;
  readonly opened: "created" | "reopened" | "already yours";
  /** What paths of outputs begin with. */
  readonly save_to: string;
  readonly workflow?: string;
  /** What it has made so far, where it is gone on with; the newest. */
  readonly outputs?: readonly string[];
  /** What came otherwise than it was asked for. */
  readonly note?: string;
}

/** `create_session`: a session for the outputs of a workflow, or one that is gone on with. */
export const createSessionTool = defineTool({
  name: "create_session",
  title: "Create a session",
  description:
    "Makes a session's folder for outputs, and its manifest. With session_id and reopen: true it goes on with an earlier session.",
  readOnly: false,
  input: z.strictObject({
    session_id: z.string().optional().describe("A UUID or YYYY-MM-DD-HHMMSS; one is made if not given"),
    reopen: z.boolean().optional().describe("Go on with that session"),
    workflow: z.string().min(1).max(200).optional().describe("The workflow's name"),
    agent: z.string().min(1).max(200).optional().describe("The agent's name"),
    inputs: sessionInputsSchema
      .refine((inputs) => JSON.stringify(inputs).length <= INPUTS_MAX, `at most ${INPUTS_MAX} characters in all`)
      .optional()
      .describe("What the user gave, by name"),
  }),
  async run({ session_id: given, reopen = false, ...facts }, connection): Promise<SessionOpened> {
    const id = given?.trim().toLowerCase();
    if (id !== undefined && !isSessionFolder(id)) throw notAnId(given);
    if (reopen) return reopened(id, connection);
    if (id !== undefined && connection.owns(id)) {
      connection.adopt(id, 0);
      return opened(await connection.sessions.manifest(id), "already yours");
    }
    const kept = [...connection.kept];
    const manifest = await connection.sessions.create(id, facts, kept);
    connection.adopt(manifest.session_id, kept.length);
    const isOther = id !== undefined && manifest.session_id !== id;
    return { ...opened(manifest, "created"), ...(isOther ? { note: taken(id) } : {}) };
  },
});

async function reopened(id: string | undefined, connection: Connection): Promise<SessionOpened> {
  if (id === undefined) throw notAnId(id);
  // Whether it is there is told to nobody who may not have it.
  if (!connection.owns(id) && !connection.mayReopen(id)) throw noSession(id, []);
  const kept = [...connection.kept];
  const manifest = await connection.sessions.reopen(id, kept);
  connection.adopt(id, kept.length);
  return opened(manifest, "reopened");
}

function opened(manifest: Manifest, how: SessionOpened["opened"]): SessionOpened {
  const { session_id, workflow } = manifest;
  const outputs = manifest.outputs.slice(-OUTPUTS_SHOWN).map(({ path }) => path);
  return {
    success: true,
    session_id,
    opened: how,
    save_to: `${session_id}/`,
    ...(workflow === undefined ? {} : { workflow }),
    ...(how === "created" ? {} : { outputs }),
  };
}

function taken(id: string): string {
  return `${id} exists already, so this is a new session. To go on with that one instead, call create_session with {"session_id": "${id}", "reopen": true}.`;
}

function notAnId(given: string | undefined): PhasegateError<"INVALID_INPUT"> {
  const message =
    given === undefined ? "reopen needs a session_id" : "session_id is neither a UUID nor YYYY-MM-DD-HHMMSS";
  return new PhasegateError("INVALID_INPUT", message, {
    remedy: "Leave session_id out for a new session; list_files with {output-root} lists those that there are.",
    details: { field: "session_id", expected: "a UUID or YYYY-MM-DD-HHMMSS" },
  });
}
