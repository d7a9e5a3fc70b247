import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import type { Connection } from "../connection.js";
import { type PreloadedWorkflow, preloadWorkflow } from "../preload/preload-workflow.js";
import { ROOT_NAMES } from "../roots/folders.js";
import { isSessionFolder } from "../session/folders.js";
import { sessionInputsSchema } from "../session/machine.js";
import type { Manifest } from "../session/manifest.js";
import { noSession, notOwn } from "../session/refusals.js";
import type { GivenStep, StepRefusal } from "../steps/give-step.js";
import { nextStep } from "../steps/next-step.js";
import { defineTool, type ToolSuccess } from "./tool.js";

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

/** A workflow, loaded: whole files, and what is missing. */
export interface WorkflowPreloaded extends ToolSuccess, PreloadedWorkflow {}

/** `preload_workflow`: all files of a workflow in one call. */
export const preloadWorkflowTool = defineTool({
  name: "preload_workflow",
  title: "Preload a workflow",
  description:
    "Loads all files of a workflow in one call: its definition, configuration, instructions, template and whatever else it " +
    "names; of a skill with steps, only the current one. Call it first, and don't read these files again.",
  readOnly: true,
  input: z.strictObject({
    workflow: z.string().describe("Its name, such as intake, or the path of its folder"),
    cursor: z.string().optional().describe("From the page before"),
    reload: z.boolean().optional().describe("Gives files once more that were given before"),
  }),
  async run({ workflow, cursor, reload }, connection): Promise<WorkflowPreloaded> {
    const loaded = await preloadWorkflow(connection, {
      workflow,
      ...(cursor === undefined ? {} : { cursor }),
      ...(reload === undefined ? {} : { reload }),
    });
    return { success: true, ...loaded };
  },
});

/** The next step of a skill, or that there is none: then `done` is true. */
export interface StepAnswered extends ToolSuccess, Partial<GivenStep> {
  readonly done: boolean;
  /** For the model: what to do with it. */
  readonly message: string;
}

/** `next_step`: the next step of a skill, and no other. */
export const nextStepTool = defineTool({
  name: "next_step",
  title: "Next step",
  description:
    "Gives the next step of a skill, once the current one is done. If that one has a gate, hand in the evidence it asks for.",
  readOnly: false,
  input: z.strictObject({
    workflow: z.string().describe("The skill, as preload_workflow was called"),
    evidence: z.record(z.string(), z.unknown()).optional().describe("What the gate of the current step asks for"),
    step: z.string().optional().describe("Which one, where there are several to choose from"),
  }),
  async run({ workflow, evidence, step }, connection): Promise<StepAnswered> {
    const next = await nextStep(connection, {
      workflow,
      ...(evidence === undefined ? {} : { evidence }),
      ...(step === undefined ? {} : { step }),
    });
    switch (next.status) {
      case "step":
        return { success: true, done: false, ...next.step, message: messageFor(next.step) };
      case "done":
        return { success: true, done: true, message: `${next.after} was the last step: the workflow is done.` };
      case "refused":
        throw refused(next.at, next.refusal);
    }
  },
});

function messageFor({ number, of, gate, choices }: GivenStep): string {
  const evidence = gate === undefined ? "" : " with the evidence that its gate asks for";
  const choice = choices === undefined ? "" : ` It may lead to ${choices.join(" or ")}: give one as step.`;
  return `Step ${number} of ${of}. Do it whole, then call next_step${evidence}.${choice}`;
}

function refused(at: string, { problems, example }: StepRefusal): PhasegateError<"INVALID_INPUT"> {
  const found = problems.map(({ message }) => message).join("; ");
  const such = example === undefined ? "" : ` such as ${JSON.stringify(example)}`;
  return new PhasegateError("INVALID_INPUT", `the gate of ${at} is not passed: ${found}`, {
    remedy: `Do what is missing, then call next_step with evidence${such}.`,
    details: { field: "evidence" },
  });
}
