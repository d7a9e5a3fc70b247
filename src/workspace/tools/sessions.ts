/** The tools that work in sessions, and the table of all tools. */
import * as z from "zod";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { preloadWorkflowTool } from "../preload/preload-workflow.js";
import { checkedPath, isSessionFolder, type Location, namesSession, ROOT_NAMES, sessionPath } from "../roots/paths.js";
import type { Connection } from "../session/connection.js";
import { noSession } from "../session/folders.js";
import { sessionInputsSchema } from "../session/machine.js";
import type { Manifest } from "../session/manifest.js";
import { nextStepTool } from "../steps/next-step.js";
import { defineTool, listFilesTool, readFileTool, type ToolSuccess, type WorkspaceTool } from "./tool.js";

/** The longest inputs of a session, in characters of JSON: they are in every reading of the manifest. */
const INPUTS_MAX = 100_000;
/** Limits the outputs that are named when a session is continued. */
const OUTPUTS_SHOWN = 50;

/** The answer of `create_session`: the connection may save to this session from now on. */
export interface SessionOpened extends ToolSuccess {
  /** The session's id. */
  readonly session_id: string;
  /** How the session was opened. */
  readonly opened: "created" | "reopened" | "already yours";
  /** The beginning of paths of outputs. */
  readonly save_to: string;
  /** The workflow's name, if one was given. */
  readonly workflow?: string;
  /** The newest outputs of a session that is continued. */
  readonly outputs?: readonly string[];
  /** The difference from what was asked for, such as another id. */
  readonly note?: string;
}

export const createSessionTool = defineTool({
  name: "create_session",
  title: "Create a session",
  description:
    "Makes a session's folder for outputs, and its manifest. With session_id and reopen: true it continues an earlier session.",
  readOnly: false,
  input: z.strictObject({
    session_id: z.string().optional().describe("A UUID or YYYY-MM-DD-HHMMSS; one is made if not given"),
    reopen: z.boolean().optional().describe("Continue that session"),
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
    if (id === undefined || manifest.session_id === id) return opened(manifest, "created");
    return { ...opened(manifest, "created"), note: await otherId(id, connection) };
  },
});

async function reopened(id: string | undefined, connection: Connection): Promise<SessionOpened> {
  if (id === undefined) throw notAnId(id);
  // A client that may not have the session isn't told that it exists.
  if (!connection.owns(id) && !connection.mayReopen(id)) throw noSession(id, []);
  const kept = [...connection.kept];
  const manifest = await connection.sessions.reopen(id, kept);
  connection.adopt(id, kept.length);
  return opened(manifest, "reopened");
}

function opened(manifest: Manifest, how: SessionOpened["opened"]): SessionOpened {
  const { session_id, workflow } = manifest;
  const outputs = how === "created" ? undefined : manifest.outputs.slice(-OUTPUTS_SHOWN).map(({ path }) => path);
  return { success: true, session_id, opened: how, save_to: `${session_id}/`, workflow, outputs };
}

/** Returns why a new session has another id than the one asked for, and how to continue an existing one. */
async function otherId(id: string, { sessions }: Connection): Promise<string> {
  const reopen = `call create_session with {"session_id": "${id}", "reopen": true}`;
  // Where several actors share a workspace, the answer is the same for an id that exists and for one that does not.
  if (!sessions.takesIds)
    return `The server makes the ids of new sessions here. If ${id} is a session of yours, ${reopen} to continue it.`;
  if (!(await sessions.exists(id))) return `${id} can't be had, so this is a new session under another id.`;
  return `${id} exists already, so this is a new session. To continue that one instead, ${reopen}.`;
}

function notAnId(given: string | undefined): PhasegateError<"INVALID_INPUT"> {
  const message =
    given === undefined ? "reopen needs a session_id" : "session_id is neither a UUID nor YYYY-MM-DD-HHMMSS";
  return new PhasegateError("INVALID_INPUT", message, {
    remedy: "Leave session_id out for a new session; list_files with {output-root} lists those that there are.",
    details: { field: "session_id", expected: "a UUID or YYYY-MM-DD-HHMMSS" },
  });
}

/** The answer of `save_output`. */
export interface OutputSaved extends ToolSuccess {
  /** The path with its root: `{output-root}/<session_id>/report.md`. */
  readonly path: string;
  /** The size of the file, in bytes. */
  readonly size: number;
  /** True if an older file was replaced. */
  readonly replaced: boolean;
}

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
      // A file must contain exactly what was given, and be readable again.
      .refine((text) => text.isWellFormed(), "it contains half a character (a lone surrogate)")
      .refine((text) => !text.includes("\0"), "it contains a NUL, and outputs are text")
      .describe("The whole file"),
  }),
  async run({ path, content }, connection): Promise<OutputSaved> {
    const { id, rest } = await ownPath(path, connection);
    const saved = await connection.sessions.save(id, rest, content);
    return { success: true, path: saved.path, size: saved.bytes, replaced: saved.replaced };
  },
});

/** Returns the session that a path begins with, and the path in it. Throws unless it is one of the connection's. */
async function ownPath(given: string, connection: Connection) {
  const location = resolved(given, connection);
  const [id = "", ...names] = location.path.split("/");
  const isOutput = location.root === ROOT_NAMES.output;
  if (!isOutput || !isSessionFolder(id)) throw noSessionInPath(given, location, connection);
  if (!connection.owns(id)) {
    const rest = names.length === 0 ? undefined : placeFor(names.join("/"), connection.sessionId);
    throw notOwn(id, await connection.sessions.sees(id), { rest });
  }
  if (names.length > 0) return { id, rest: names.join("/") };
  throw new PhasegateError("INVALID_INPUT", "the path names a session and no file in it", {
    remedy: `Give a name, such as "${id}/report.md".`,
    details: { field: "path", expected: "<session_id>/name" },
  });
}

/** Resolves a path to save to. A refusal says where in the session the file can be saved instead. */
function resolved(given: string, { roots, sessionId }: Connection): Location {
  const path = sessionPath(given, sessionId);
  if (sessionId === undefined && namesSession(path)) {
    throw new PhasegateError("INVALID_INPUT", "there is no open session that the path could mean", {
      remedy: "Call create_session, then save again.",
      details: { field: "path", expected: "<session_id>/name" },
    });
  }
  try {
    return roots.resolve(path);
  } catch (error) {
    const place = placeFor(lastName(path), sessionId);
    if (!isPhasegateError(error, "PATH_REFUSED") || place === undefined) throw error;
    throw new PhasegateError("PATH_REFUSED", error.message, { remedy: place, details: error.details });
  }
}

function lastName(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? "";
}

/** Returns a remedy with the exact path for a file; undefined if it can't have this name. */
function placeFor(name: string, sessionId: string | undefined): string | undefined {
  try {
    if (/[{}]/.test(name) || checkedPath(name) === ".") return undefined;
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
  return sessionId === undefined
    ? `Call create_session, then save it as "<session_id>/${name}".`
    : `Save it as "${sessionId}/${name}".`;
}

/** Returns the error for a path without a session: with the right path if only the session is missing. */
function noSessionInPath(given: string, { root, path }: Location, { sessionId }: Connection): PhasegateError {
  const isForgotten = !given.trimStart().startsWith("{") || root === ROOT_NAMES.output;
  const remedy =
    placeFor(isForgotten ? path : lastName(path), sessionId) ?? "Call create_session, then save to <session_id>/name.";
  const details = { field: "path", expected: "<session_id>/name" };
  if (isForgotten)
    return new PhasegateError("INVALID_INPUT", "the path begins with no session's id", { remedy, details });
  const reason = `{${root}} is read only`;
  return new PhasegateError("PATH_REFUSED", `nothing was saved: ${reason}`, { remedy, details: { reason } });
}

/** The answer of `complete_session`. */
export interface SessionCompleted extends ToolSuccess {
  /** The session's id. */
  readonly session_id: string;
  /** How the session ended. */
  readonly status: "completed" | "failed";
  /** The number of its outputs. */
  readonly outputs: number;
}

export const completeSessionTool = defineTool({
  name: "complete_session",
  title: "Complete a session",
  description: "Ends a session: the workflow is done; status: failed if it can't be done.",
  readOnly: false,
  input: z.strictObject({
    session_id: z.string().optional().describe("Your last session if not given"),
    status: z.enum(["completed", "failed"]).default("completed"),
    summary: z.string().max(2000).optional().describe("What was made, or why it failed"),
  }),
  async run({ session_id: given, status, summary }, connection): Promise<SessionCompleted> {
    const id = given?.trim().toLowerCase() ?? connection.sessionId;
    if (id === undefined) {
      throw new PhasegateError("INVALID_INPUT", "this connection has no session", {
        remedy: "Call create_session first.",
        details: { field: "session_id", expected: "a session of this connection" },
      });
    }
    if (!connection.owns(id)) {
      throw isSessionFolder(id) && (await connection.sessions.sees(id))
        ? notOwn(id, true, { what: "nothing was completed" })
        : noSession(id, []);
    }
    const { outputs } = await connection.sessions.complete(id, status, summary);
    return { success: true, session_id: id, status, outputs: outputs.length };
  },
});

/** The connection has neither created nor reopened the session. `rest` is the remedy that saves to its own one. */
function notOwn(
  id: string,
  exists: boolean,
  { what = "nothing was saved", rest }: { readonly what?: string; readonly rest?: string | undefined } = {},
): PhasegateError {
  const reason = exists ? `the session ${id} belongs to another connection` : `there is no session ${id}`;
  const call = exists ? `{"session_id": "${id}", "reopen": true}` : `{"session_id": "${id}"}`;
  const others = exists
    ? `Call create_session for a session of your own, or with ${call} to continue that one.`
    : `Call create_session with ${call}, then save again.`;
  const message = `${what}: ${reason}`;
  const remedy = rest === undefined || rest.startsWith("Call") ? others : `${rest} Or: ${others}`;
  return exists
    ? new PhasegateError("PATH_REFUSED", message, { remedy, details: { reason } })
    : new PhasegateError("SESSION_NOT_FOUND", message, { remedy, details: { sessionId: id } });
}

/** All tools of a workspace, in the order in which an agent usually needs them. */
export const WORKSPACE_TOOLS: readonly WorkspaceTool[] = [
  preloadWorkflowTool,
  readFileTool,
  listFilesTool,
  createSessionTool,
  nextStepTool,
  saveOutputTool,
  completeSessionTool,
];
