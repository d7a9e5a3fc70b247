/**
 * `phasegate hook stop`: reminds an agent that is about to end of the session that it works on, once. A failure here never keeps
 * the agent from ending. The hook is silent if the agent goes on only because the hook has asked it to, for which each client has
 * its own words, and whenever a run has not ended by itself.
 */
import { join } from "node:path";
import process from "node:process";
import type { Readable } from "node:stream";
import { blocking, isFirstEnd } from "../agents/stop-hook.js";
import { sessionIn } from "../agents/transcript.js";
import { activeSessions, goingOn, type Unfinished } from "../agents/unfinished.js";
import { openSandbox } from "../sandbox/sandbox.js";
import { STATE } from "../setup/places.js";
import { findProject } from "../setup/project.js";
import { parseObject } from "../setup/wanted.js";
import type { JsonObject } from "../workflow/json.js";
import { choice, command, group, required, text, type Values } from "./command.js";
import { EXIT } from "./exit-codes.js";
import { enginesOver } from "./opened.js";
import { parseState, requireNoLink, withState } from "./state.js";
import { isTty, print, printable, withoutPasswords } from "./terminal.js";
import { readTrust, trustOptions } from "./trust.js";

const stopOptions = () => ({
  client: required(choice("--client <client>", "the client that asks", HOOK_CLIENTS)),
  state: text("--state <where>", `where the sessions are; ${STATE} in the project if not given`).env("PHASEGATE_STATE"),
  ...trustOptions(),
});
type StopOptions = Values<ReturnType<typeof stopOptions>>;

/** The clients that ask a hook before an agent ends. */
const HOOK_CLIENTS = ["claude", "codex", "gemini", "qwen", "copilot", "cursor"] as const;
type HookClient = (typeof HOOK_CLIENTS)[number];

const HELP = `
The client runs it before an agent ends, with JSON on stdin. If a session that the agent works on is active, the answer on
stdout tells the agent once which call is next. There is no answer if the agent goes on because of an earlier one, if
nothing was done in the session since, if the session waits for a person or is paused, or if the agent was stopped or has
failed. The exit code is always 0; errors are printed only with --log-level debug, and for wrong options.

\`phasegate init --hooks\` installs it.`;

const stopCommand = command({
  name: "stop",
  summary: "remind an agent of an unfinished session before it ends",
  description: "Answers a client that asks before an agent ends.",
  options: stopOptions(),
  help: HELP,
  async run(options, terminal) {
    // A client that does not close its end, or a database that does not answer, keeps the process from ending.
    const limit = setTimeout(() => process.exit(EXIT.ok), LIMIT_MS).unref();
    try {
      const text = await reminder(options, await inputOf(terminal.stdin));
      if (text !== undefined) print(terminal, JSON.stringify(WORDS[options.client].goOn(text)));
    } catch (error) {
      if (options.logLevel !== "debug" && options.logLevel !== "trace") return EXIT.ok;
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
      terminal.stderr.write(`phasegate: ${printable(withoutPasswords(what), { lines: true })}\n`);
    } finally {
      clearTimeout(limit);
    }
    return EXIT.ok;
  },
});

export const hookCommand = group({ name: "hook", description: "Answers hooks of agents' clients." }, [stopCommand]);

/** Time after which the agent may end in any case, in milliseconds: less than clients wait for a hook. */
const LIMIT_MS = 10_000;

/** Inputs have the agent's last words in them. */
const INPUT_MAX = 16 * 1024 * 1024;

async function inputOf(stdin: Readable): Promise<string> {
  if (isTty(stdin)) return "";
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    length += bytes.length;
    if (length > INPUT_MAX) return "";
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Returns what the agent should be told; undefined if it may end. */
async function reminder(options: StopOptions, input: string): Promise<string | undefined> {
  const ending = readEnding(options.client, input);
  if (ending === undefined) return undefined;
  const project = await findProject(ending.folder ?? process.cwd());
  if (project === undefined) return undefined;
  const trust = await readTrust(options);
  const state = options.state ?? join(project.root, STATE);
  requireNoLink(state, project.root);
  return withState(state, async (storage) => {
    const { engine } = enginesOver(storage, trust);
    const session = await sessionIn(ending.transcript, await activeSessions(engine));
    const open = session && (await goingOn(engine, session.sessionId, { isGuess: true }));
    if (open === undefined) return undefined;
    // A database has no folder for the note. None is made in the project: the sessions of this project are elsewhere.
    const { kind, rest } = parseState(state);
    const folder = kind === undefined ? rest : join(project.root, STATE);
    return (await noteReminder(folder, ending, open)) ? open.message : undefined;
  });
}

/** The file with the reminders that were given. */
const MEMORY = "stop-hook.json";
const REMEMBERED_MAX = 50;
const MEMORY_MAX = 1024 * 1024;

/**
 * Notes a reminder. Returns false if the conversation was reminded of the session before and nothing was done in it since:
 * not every client says reliably that an agent goes on because of a reminder. Rejects if the note can't be kept: then there
 * is no reminder, since it could be repeated without end.
 */
async function noteReminder(
  folder: string,
  { conversation }: Ending,
  { sessionId, version }: Unfinished,
): Promise<boolean> {
  // The folder may have come with a project: nothing is written through a link in it.
  const sandbox = await openSandbox(folder);
  const before: unknown = await sandbox
    .read(MEMORY, { maxBytes: MEMORY_MAX })
    .then(({ text }) => JSON.parse(text))
    .catch(() => []);
  const known = Array.isArray(before) ? before.filter((one): one is string => typeof one === "string") : [];
  const now = `${conversation} ${sessionId} ${version}`;
  if (known.includes(now)) return false;
  const text = `${JSON.stringify([...known, now].slice(-REMEMBERED_MAX), null, 1)}\n`;
  await sandbox.save(MEMORY, { text, maxBytes: MEMORY_MAX });
  return true;
}

/** An agent that is about to end, and may be asked to go on. */
interface Ending {
  /** The folder that the agent works in, if the client says. */
  readonly folder?: string;
  readonly conversation: string;
  readonly transcript?: string;
}

/** Reads what a client has sent. Undefined if there is nothing to say, whatever the session is like. */
function readEnding(client: HookClient, input: string): Ending | undefined {
  const sent = parseObject(input);
  if (sent === undefined || !WORDS[client].mayGoOn(sent)) return undefined;
  const [workspace] = Array.isArray(sent.workspace_roots) ? sent.workspace_roots : [];
  return {
    folder: textOf(client === "cursor" ? workspace : sent.cwd),
    conversation: textOf(client === "cursor" ? sent.conversation_id : sent.session_id) ?? "",
    transcript: textOf(sent.transcript_path),
  };
}

interface Words {
  /** Whether the client asks about the end of an agent that has not been asked to go on before. */
  readonly mayGoOn: (sent: JsonObject) => boolean;
  /** Returns the answer by which the client lets its agent go on with a text. */
  readonly goOn: (text: string) => JsonObject;
}

/** The form of Claude Code, which others have taken over. */
const STOP: Words = { mayGoOn: isFirstEnd, goOn: blocking };

const WORDS: Readonly<Record<HookClient, Words>> = {
  claude: STOP,
  codex: STOP,
  qwen: STOP,
  copilot: STOP,
  gemini: {
    mayGoOn: (sent) => sent.hook_event_name === "AfterAgent" && sent.stop_hook_active !== true,
    goOn: (reason) => ({ decision: "deny", reason }),
  },
  cursor: {
    // A run that a person has stopped, or that has failed, is not "completed".
    mayGoOn: (sent) => sent.hook_event_name === "stop" && sent.status === "completed" && (sent.loop_count ?? 0) === 0,
    goOn: (text) => ({ followup_message: text }),
  },
};

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
