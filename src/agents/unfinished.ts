/** Which session an agent has left unfinished, and the call with which it goes on: one rule for hosts and the hook. */
import type { ListedSession } from "../engine/lists.js";
import { PhasegateError } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import type { SessionQuery } from "../ports/storage-adapter.js";
import { createWorkflowTool } from "../tools/phased/workflow-tool.js";
import { compact } from "../tools/wire.js";
import { check, checkOptions, either, having, optionally, text } from "../workflow/host-options.js";
import { isJsonObject, type JsonObject } from "../workflow/json.js";

/** A session that its agent can go on with. */
export interface Unfinished {
  /** The id of the session. */
  readonly sessionId: string;
  /** The version of its newest commit. */
  readonly version: number;
  /** The arguments of the next call of the workflow tool. */
  readonly next: JsonObject;
  /** What to tell the agent, in a few lines. */
  readonly message: string;
}

/** The session that an agent works on: its id or its target, or the conversation in which its id has come up. */
export type WorkedOn =
  | { readonly sessionId: string }
  | { readonly target: string }
  /** The messages so far in the framework's own form, or their text. */
  | { readonly conversation: object | string };

/** Options of {@link unfinished}. */
export interface UnfinishedOptions {
  /** What the agent was told last. If nothing was done in the session since, and the next call is the same, there is nothing more to tell. */
  readonly told?: Unfinished | undefined;
  /** The name of the workflow tool. Default: `pos_workflow`. */
  readonly tool?: string;
}

/**
 * Finds out whether an agent may end: undefined if so. It may not while its session is active and one of its own calls is
 * next. It may if the session waits for a person or is paused, if its attempts are used up, and if there is no session. Of
 * several, the session that has changed last counts.
 *
 * @param engine The engine for the agent: `engine.as(actor)` if it has sessions of several.
 * @throws {PhasegateError} `INVALID_INPUT` when no session, target or conversation is given, the conversation is not JSON, or an option is unknown or invalid.
 * @throws {PhasegateError} `SESSION_NOT_FOUND` when there is no session of this id.
 * @throws {PhasegateError} `STORAGE_FAILED` when the storage fails.
 */
export async function unfinished(
  engine: Engine,
  worked: WorkedOn,
  options: UnfinishedOptions = {},
): Promise<Unfinished | undefined> {
  checkOptions("unfinished", { engine }, { engine: having("an engine, as createEngine() returns it", "listSessions") });
  checkOptions("unfinished", options, {
    told: optionally(having("what unfinished() returned")),
    tool: optionally(text),
  });
  const { told, tool } = options;
  const sessionId = await sessionOf(engine, worked);
  const isGuess = "conversation" in worked;
  const open = sessionId === undefined ? undefined : await goingOn(engine, sessionId, { tool, isGuess });
  return isTold(open, told) ? undefined : open;
}

/** What tells one reminder from another. */
export type Reminder = Pick<Unfinished, "sessionId" | "version" | "next">;

/** Returns true if nothing was done since an agent was told to go on: no commit, and no evidence that is being verified. */
export function isTold(open: Reminder | undefined, told: Reminder | undefined): boolean {
  const isSame = open?.sessionId === told?.sessionId && open?.version === told?.version;
  return isSame && JSON.stringify(open?.next) === JSON.stringify(told?.next);
}

async function sessionOf(engine: Engine, worked: WorkedOn): Promise<string | undefined> {
  checkOptions<Given>("unfinished", worked, givenChecks);
  const { sessionId, target, conversation }: Given = worked;
  if (sessionId !== undefined) return sessionId;
  if (target !== undefined) return (await activeSessions(engine, { target }))[0]?.sessionId;
  if (conversation === undefined) {
    throw new PhasegateError("INVALID_INPUT", "unfinished: no session is named", {
      remedy: "Give its sessionId, its target, or the conversation in which its id has come up.",
      details: { field: "sessionId" },
    });
  }
  const said = typeof conversation === "string" ? conversation : textOf(conversation);
  return (await activeSessions(engine)).find(({ sessionId }) => said.includes(sessionId))?.sessionId;
}

/** Returns the messages as one text. */
function textOf(conversation: object): string {
  let cause: unknown;
  try {
    const said: unknown = JSON.stringify(conversation);
    if (typeof said === "string") return said;
  } catch (error) {
    // It has itself in it, for example.
    cause = error;
  }
  throw new PhasegateError("INVALID_INPUT", "unfinished: the conversation can't be read: it is not JSON", {
    remedy: "Give the messages as plain JSON, or their text.",
    details: { field: "conversation", expected: "messages as plain JSON, or a text" },
    cause,
  });
}

/** What a host has given, whatever the compiler has seen. */
type Given = { readonly [Name in "sessionId" | "target"]?: string } & { readonly conversation?: object | string };

const givenChecks = {
  sessionId: optionally(text),
  target: optionally(text),
  conversation: optionally(
    either(
      "messages or a text",
      check("", (value) => typeof value === "object"),
      text,
    ),
  ),
};

/** As many active sessions are looked at, the newest first. */
const SESSIONS_MAX = 100;

/** Returns the active sessions that the engine shows, the one that has changed last first. */
export async function activeSessions(
  engine: Engine,
  query: Pick<SessionQuery, "target"> = {},
): Promise<readonly ListedSession[]> {
  const { items } = await engine.listSessions({ ...query, status: ["active"], limit: SESSIONS_MAX });
  return items.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
}

/** Returns how an agent goes on with a session, which may be a guess; undefined if it may end. */
export async function goingOn(
  engine: Engine,
  sessionId: string,
  { tool: name, isGuess }: { readonly tool?: string | undefined; readonly isGuess: boolean },
): Promise<Unfinished | undefined> {
  const state = await engine.session(sessionId).state();
  if (state.status !== "active" || state.awaitingApproval || state.waitsForWaiver) return undefined;
  const tool = createWorkflowTool(engine, { name });
  const answer = await tool.dispatch({ action: "get_state", session_id: sessionId, brief: true });
  const next = isJsonObject(answer.next) ? compact(answer.next) : undefined;
  if (!isJsonObject(next)) return undefined;
  const message = [
    `The session ${sessionId} of phasegate is not completed.`,
    `Its next call of the tool ${tool.name} is ${JSON.stringify(next)}`,
    isGuess
      ? "If you were not asked to work on it, or can't go on, end your turn."
      : "If you can't go on, say why, and end your turn.",
  ].join("\n");
  return { sessionId, version: state.version, next, message };
}
