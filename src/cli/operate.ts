/**
 * `phasegate retry`, `resume`, `suspend`, `skip`, `override`, `sync`, `assign` and `delete`: what the host alone may do with
 * sessions, from the terminal. Each names who did it, which the log records. And `phasegate cleanup`, which deletes phased
 * sessions that nobody has touched for long, also regularly, for `serve --cleanup-after`.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { FilePlans } from "../content/file-plans.js";
import { type AnyPhasegateError, isPhasegateError } from "../errors.js";
import type { OpenChild } from "../phased/children.js";
import type { Engine } from "../phased/engine.js";
import { type EngineOptions, LIVING } from "../phased/options.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { STATUS_WORDS } from "../routed/decision/request.js";
import type { RoutedEngine } from "../routed/engine.js";
import { parseSessionId } from "../workflow/names.js";
import { unrecorded } from "./approve.js";
import {
  age,
  type CreateCommand,
  choices,
  command,
  flag,
  type Given,
  parsed,
  required,
  text,
  wholeNumber,
} from "./command.js";
import { contentIn } from "./content-in.js";
import type { Setup } from "./engine-options.js";
import { CommandFailure, EXIT, type ExitCode, exitCodeOf, messageOf, usage } from "./exit-codes.js";
import { type OpenedSession, openAll, sessionIn } from "./opened.js";
import { jsonOption, requireFolder, sessionsArgument, stateOption, workflowsOption } from "./options.js";
import { packOption, withPacks } from "./packs.js";
import { sessionsMeant } from "./session-id.js";
import { using, withState } from "./state.js";
import { counted, durationText, print, printable, printJson, type Terminal, withoutPasswords } from "./terminal.js";
import { openVerifiers, projectOption, readTrust, type TrustOptions, trustOptions } from "./trust.js";

/** Each command has some of those that may be missing. */
interface OperateOptions extends TrustOptions {
  readonly state: string;
  readonly by: string;
  readonly note?: string;
  readonly phase?: number;
  readonly reset?: true;
  readonly preview?: true;
  readonly to?: string;
  readonly team?: string;
  readonly project?: string;
  readonly workflows?: readonly string[];
  readonly json?: true;
}

/** What was done to a session: what `--json` prints of it, and the rest of a sentence that begins with its id. */
export interface Done {
  readonly json: object;
  readonly text: string;
  readonly warnings?: readonly string[];
}

type Verifiers = NonNullable<EngineOptions["verifiers"]>;
type PhasedSession = ReturnType<Engine["session"]>;
type Instance = ReturnType<RoutedEngine["session"]>;

interface Operation {
  readonly description: string;
  readonly help: string;
  /** What `--note` is for; required where the log must say why. */
  readonly note: { readonly text: string; readonly required?: true };
  readonly options?: () => Readonly<Record<string, Given<unknown>>>;
  /** What the command does to a session of each kind; missing where it can't. */
  readonly phased: (session: PhasedSession, options: OperateOptions, verifiers: Verifiers) => Promise<Done>;
  readonly routed?: (session: Instance, options: OperateOptions) => Promise<Done>;
}

export type OperationName = "retry" | "resume" | "suspend" | "skip" | "override" | "sync" | "assign" | "delete";

const phaseOption = () =>
  parsed("--phase <n>", "the phase that is meant: refused if the session is in another one", wholeNumber(0));
const serversProject = () => ({
  project: projectOption("the server's project folder: plans, and the baseline of the phase that begins"),
  pack: packOption(),
});

const OPERATIONS: Readonly<Record<OperationName, Operation>> = {
  retry: {
    description: "Grants more attempts to sessions that have failed or used them up.",
    help: `
A phased session gets the whole number of attempts at its phase again, also after the limit that binds its agent. The
next submission is merged over the last one, unless --reset is given. A routed instance that has failed runs again; its
server asks the decider with the next call.`,
    note: { text: "why, or what has changed; the history shows it" },
    options: () => ({
      phase: phaseOption(),
      reset: flag("--reset", "forget the last evidence instead of merging the next over it"),
      ...serversProject(),
    }),
    phased: async (session, { by, note, phase, reset }) => {
      const { head } = await session.state();
      const request = { resetEvidence: reset === true, by, note };
      const { phase: view } = await session.retryPhase(phase ?? head.phase, request);
      const text = `phase ${view.currentPhase} may be tried again`;
      return { json: { status: view.status, phase: view.currentPhase }, text };
    },
    routed: async (session, options) => {
      const option = options.phase === undefined ? options.reset && "--reset" : "--phase";
      if (option === undefined) return release(session, "failed", options);
      const hint = "Leave it out: an instance is tried again at its step, and nothing is merged.";
      throw usage(`${option} is for phased sessions: ${session.id} is an instance`, hint);
    },
  },
  resume: {
    description: "Resumes sessions that are paused or suspended.",
    help: `
A routed instance runs again at its step; its server asks the decider with the next call.`,
    note: { text: "why; the history shows it" },
    options: () => ({ ...serversProject() }),
    phased: async (session, { by, note }) => {
      const { phase: view, pausedSeconds } = await session.resume({ by, note });
      const text = `active in phase ${view.currentPhase}, after ${durationText(pausedSeconds)}`;
      return { json: { status: view.status, phase: view.currentPhase, pausedSeconds }, text };
    },
    routed: (session, options) => release(session, "paused", options),
  },
  suspend: {
    description: "Pauses sessions until they are resumed.",
    help: `
A phased session is paused, a routed instance suspended: the same for different kinds of workflows.`,
    note: { text: "why, or what whoever resumes should know" },
    phased: async (session, { by, note }) => {
      const { phase, children } = await session.pause({ by, note });
      const left = leftBehind(children, "they can go on, and count once this session is resumed");
      return {
        json: { status: "paused", phase, ...left.json },
        text: `paused in phase ${phase}`,
        warnings: left.warnings,
      };
    },
    routed: async (session, { by, note }) => {
      const { status, currentStep: step } = await session.suspend({ by, note });
      return { json: { status: STATUS_WORDS[status], step }, text: `suspended at ${printable(step ?? "the start")}` };
    },
  },
  skip: {
    description: "Skips the current phase of sessions, where the workflow allows it.",
    help: `
Give --phase in scripts: without it, a second run would skip the next phase.`,
    note: { text: "why; required", required: true },
    options: () => ({ phase: phaseOption(), ...serversProject() }),
    phased: (...given) => movePast("skipPhase", "skipped", ...given),
  },
  override: {
    description: "Passes the current gate of sessions without evidence, where the gate allows it.",
    help: `
Give --phase in scripts: without it, a second run would override the next gate.`,
    note: { text: "why; required", required: true },
    options: () => ({ phase: phaseOption(), ...serversProject() }),
    phased: (...given) => movePast("overrideGate", "passed without evidence", ...given),
  },
  sync: {
    description: "Adopts the edited plan of sessions, also one that asks for less.",
    help: `
An agent may not adopt a plan that asks for less than the one that its session began with: only the host may.`,
    note: { text: "why; the history shows it" },
    options: () => ({
      ...serversProject(),
      workflows: workflowsOption("the server's folders of phased workflows"),
      preview: flag("--preview", "only show what would change"),
    }),
    phased: async (session, { by, note, preview: only }) => {
      const preview = only === true;
      const { changed, changes, status, currentPhase } = await session.syncPlan({ preview, by, note });
      const { count, counts, takenAway } = changes;
      const less = takenAway.length === 0 ? "" : `, ${takenAway.length} of them ask for less`;
      const found = changed ? `${counted(count, "change")} of the plan${less}` : "the plan asks for the same";
      return {
        json: { status, phase: currentPhase, preview, changed, changes: counts, takenAway: takenAway.length },
        text: preview ? `${found}; nothing was changed` : found,
      };
    },
  },
  assign: {
    description: "Hands sessions over to another owner.",
    help: `
On a server that several people and agents share, agents see their own sessions alone.`,
    note: { text: "why; the log keeps it" },
    options: () => ({
      to: required(text("--to <name>", "the new owner: the name of a token, or of a user")),
      team: text("--team <name>", "the new owner's team"),
    }),
    phased: assign,
    routed: assign,
  },
  delete: {
    description: "Deletes sessions; their ids are never used again.",
    help: `
The log of a deleted session is removed. Back the state up first if you may need it: phasegate backup.`,
    note: { text: "why: kept with the id, as far as the state keeps it" },
    phased: remove,
    routed: async (session, { by, note }) => {
      await session.delete({ by, note });
      return { json: { status: "deleted" }, text: "deleted" };
    },
  },
};

/** Returns what is said of children that a command leaves. */
export function leftBehind(
  children: readonly OpenChild[] | undefined,
  becomes = "what is left counts for nothing any more: `phasegate delete` ends it",
): { readonly json: object; readonly warnings: readonly string[] } {
  if (children === undefined) return { json: {}, warnings: [] };
  const named = children.map(({ sessionId, status }) => `${sessionId} (${status})`).join(", ");
  const count = children.length === 1 ? "1 child is" : `${children.length} children are`;
  return { json: { childrenLeft: children }, warnings: [`phasegate: ${count} left: ${printable(named)}; ${becomes}`] };
}

async function assign(session: PhasedSession | Instance, { to = "", team, by, note }: OperateOptions): Promise<Done> {
  await session.assign({ name: to, team }, { by, note });
  return { json: { owner: to, team }, text: `belongs to ${printable(to)} now` };
}

async function remove(session: PhasedSession, { by, note }: OperateOptions): Promise<Done> {
  const left = leftBehind((await session.delete({ by, note })).children);
  return { json: { status: "deleted", ...left.json }, text: "deleted", warnings: left.warnings };
}

async function release(session: Instance, from: "failed" | "paused", { by, note }: OperateOptions): Promise<Done> {
  const { status, currentStep: step } = await session.release({ from, by, note });
  return { json: { status: STATUS_WORDS[status], step }, text: `runs again at ${printable(step ?? "the start")}` };
}

async function movePast(
  operation: "skipPhase" | "overrideGate",
  how: string,
  ...[session, { by, note = "", phase: meant }, verifiers]: Parameters<Operation["phased"]>
): Promise<Done> {
  const { head, structure } = await session.state();
  const result = await session[operation](meant ?? head.phase, { by, note });
  const { phase, nextPhase, skipped: also = [] } = result;
  const left = leftBehind(result.children);
  const next = nextPhase === null ? "the workflow is complete" : `phase ${nextPhase.number} is next`;
  const skipped = also.length === 0 ? undefined : also.map((one) => one.phase);
  const status = nextPhase === null ? "completed" : "active";
  return {
    json: { status, phase: nextPhase?.number ?? phase, passed: phase, skipped, ...left.json },
    text: `phase ${phase} ${how}${skipped ? `, and rules skipped ${skipped.join(", ")}` : ""}; ${next}`,
    warnings: [...left.warnings, ...unrecorded(result, structure, verifiers)],
  };
}

export function operateCommand(name: OperationName): CreateCommand {
  const { description, help, note, options = () => ({}), routed } = OPERATIONS[name];
  const noteOption = text("--note <text>", note.text);
  return command({
    name,
    description: `${description}${routed ? "" : " For phased sessions."}`,
    arguments: [sessionsArgument("<session...>")],
    options: {
      state: required(stateOption()),
      by: byOption(),
      note: note.required ? required(noteOption) : noteOption,
      ...options(),
      ...trustOptions(),
      json: jsonOption(),
    },
    help: `${help}\nThe log records the command as the host's. If it is refused for one session, it is still carried out\non the others; an end of an id that several sessions have, or none, refuses it for all.`,
    run: (given, terminal, sessionIds) => operate(name, sessionIds, given, terminal),
  });
}

export function byOption(): Given<string> {
  return required(text("--by <name>", "your name, or the name of your program: it is recorded"));
}

async function operate(
  name: OperationName,
  sessionIds: readonly string[],
  options: OperateOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  // Not left to commander: they may come from the project of the current folder.
  for (const needed of name === "sync" ? (["project", "workflows"] as const) : []) {
    if (options[needed] === undefined)
      throw usage(`--${needed} is missing`, "Give the value that `phasegate serve` has.");
  }
  return withPacks(options, ({ workflows, verifiers }) =>
    operateOn(name, sessionIds, { ...options, workflows }, verifiers, terminal),
  );
}

async function operateOn(
  name: OperationName,
  sessionIds: readonly string[],
  options: OperateOptions,
  ofPacks: Verifiers,
  terminal: Terminal,
): Promise<ExitCode> {
  const { project } = options;
  const verifiers = { ...(await openVerifiers({ project }, {})), ...ofPacks };
  const setup = { ...(await readTrust(options)), verifiers, ...(await sourcesOf(options)) };
  return onEach(name, sessionIds, { options, setup }, terminal, (opened, sessionId) =>
    perform(name, opened, sessionId, options, verifiers),
  );
}

/** What all commands of an operator have. */
type Operator = Pick<OperateOptions, "state" | "by" | "json"> & TrustOptions;

/**
 * Does something to sessions, and prints what was done: a refusal of one does not keep it from the others. Ids that are not
 * given are those that a function finds. Of those that are given all are resolved before anything is done.
 */
export async function onEach(
  name: string,
  sessionIds: readonly string[] | ((storage: StorageAdapter) => Promise<readonly string[]>),
  { options, setup }: { readonly options: Operator; readonly setup: Setup },
  terminal: Terminal,
  act: (opened: OpenedSession, sessionId: string) => Promise<Done>,
): Promise<ExitCode> {
  const { json } = options;
  const done: object[] = [];
  const refused: ReturnType<typeof refusalOf>[] = [];
  await withState(options.state, async (storage) => {
    const isFound = typeof sessionIds === "function";
    const ids = isFound ? await sessionIds(storage) : await sessionsMeant(storage, sessionIds);
    for (const sessionId of ids) {
      try {
        const opened = await sessionIn(storage, parseSessionId(sessionId), setup);
        const { json: about, text, warnings = [] } = await act(opened, sessionId);
        done.push({ sessionId, ...about });
        if (!json) print(terminal, `${sessionId}: ${text}`);
        for (const line of warnings) terminal.stderr.write(`${line}\n`);
      } catch (error) {
        if (!isPhasegateError(error) && !(error instanceof CommandFailure)) throw error;
        refused.push(refusalOf(sessionId, error, options));
      }
    }
  });
  const [first] = refused;
  if (json) {
    const lines = refused.map(({ error: _, ...one }) => one);
    printJson(terminal, { command: name, by: options.by, done, refused: lines });
  } else if (first !== undefined && sessionIds.length === 1 && typeof sessionIds !== "function") {
    throw new CommandFailure(first.message, exitCodeOf(first.error), first.remedy, { cause: first.error });
  } else {
    for (const { sessionId, message, remedy = "" } of refused) {
      const line = `phasegate: ${sessionId}: ${message}. ${remedy}`.trimEnd();
      terminal.stderr.write(`${withoutPasswords(printable(line))}\n`);
    }
  }
  // The gravest one: a disk that fails is not a refusal.
  const codes = new Set(refused.map(({ error }) => exitCodeOf(error)));
  return ([EXIT.environment, EXIT.usage, EXIT.problems] as const).find((code) => codes.has(code)) ?? EXIT.ok;
}

export async function sourcesOf({
  workflows,
  project,
}: Pick<OperateOptions, "workflows" | "project">): Promise<Partial<EngineOptions>> {
  const plans = project && new FilePlans({ root: await requireFolder(project, "the project") });
  const roots = workflows && (await Promise.all(workflows.map((path) => requireFolder(path, "the workflows folder"))));
  return { ...(plans && { plans }), ...(roots && { content: contentIn(roots) }) };
}

function perform(
  name: OperationName,
  opened: OpenedSession,
  id: string,
  options: OperateOptions,
  verifiers: Verifiers,
): Promise<Done> {
  const { phased, routed } = OPERATIONS[name];
  if (opened.kind === "phased") return phased(opened.engine.session(id), options, verifiers);
  if (opened.kind === "routed" && routed !== undefined) return routed(opened.engine.session(id), options);
  const [kind, hint] =
    opened.kind === "routed"
      ? ["an instance of a routed workflow", "Use retry, suspend, resume, assign or delete."]
      : ["a recorded session", "Only its workspace can change it."];
  throw new CommandFailure(`${name} is not possible: ${id} is ${kind}`, EXIT.problems, hint);
}

/** The commands by the names of the engine's operations. */
const COMMANDS: ReadonlyMap<string, string> = new Map([
  ...["retry", "suspend", "resume", "approve", "deny", "waive", "assign", "delete"].map(
    (name) => [name, name] as const,
  ),
  ["retryPhase", "retry"],
  ["pause", "suspend"],
  ["skipPhase", "skip"],
  ["overrideGate", "override"],
  ["syncPlan", "sync"],
  ["denyWaiver", "deny"],
]);

/** Returns a refusal with commands in place of the engine's operations, which an operator does not know. */
function refusalOf(sessionId: string, error: AnyPhasegateError | CommandFailure, options: TrustOptions) {
  if (error instanceof CommandFailure) {
    const { message, hint: remedy } = error;
    const code = error.exitCode === EXIT.usage ? "INVALID_INPUT" : "UNSUPPORTED";
    return { sessionId, code, message, remedy, url: undefined, error };
  }
  const operation = /^\w+(?= is not possible)|(?<=does not allow )\w+(?= in phase \d+$)/;
  const message = error.message.replace(operation, (name) => COMMANDS.get(name) ?? name);
  return { sessionId, code: error.code, message, remedy: remedyOf(error, options), url: error.url, error };
}

function remedyOf(error: AnyPhasegateError, { approvers, approver }: TrustOptions): string {
  if (isPhasegateError(error, "APPROVAL_REFUSED") && approvers === undefined && approver === undefined) {
    return "Give the approvers that the server has: --approvers FILE.";
  }
  if (!isPhasegateError(error, "INVALID_TRANSITION")) return error.remedy;
  const { status, allowed } = error.details;
  // An agent may ask for a running instance by resume; the command has nothing to do there.
  const operations = allowed.filter((operation) => status !== "active" || operation !== "resume");
  const commands = [...new Set(operations.flatMap((operation) => COMMANDS.get(operation) ?? []))];
  if (status === "completed" || commands.length === 0) return error.remedy;
  const hasPhase = allowed.includes("completePhase") || allowed.includes("retryPhase");
  const more = hasPhase ? "; skip and override, if the workflow allows them" : "";
  return `Possible now: ${commands.map((name) => `phasegate ${name}`).join(", ")}${more}.`;
}

const CLEANUP_HELP = `
Deletes phased sessions that have had no commit for --older-than; those of routed workflows and workspaces are kept. Each
deletion is recorded with your name. Back the state up first if you may need the logs: phasegate backup.

Instances of routed workflows are deleted by their ids:
  phasegate delete --by ann $(phasegate sessions --workflow DEPLOY --status completed --older-than 30d --ids)`;

export const cleanupCommand = command({
  name: "cleanup",
  description: "Deletes phased sessions without a recent commit.",
  options: {
    state: required(stateOption()),
    olderThan: required(parsed("--older-than <age>", "sessions without a commit for this long: 12h, 7d, 4w", age)),
    status: choices("--status <status...>", "only sessions of these statuses; all if not given", LIVING),
    preview: flag("--preview", "only show which sessions would be deleted"),
    by: byOption(),
    note: text("--note <text>", "why; `stale` if not given"),
    ...trustOptions(),
    json: jsonOption(),
  },
  help: CLEANUP_HELP,
  async run({ state, olderThan, status, preview: only, by, note, json, ...trust }, terminal) {
    const kept: string[] = [];
    const preview = only === true;
    const removed = await using((await openAll(state, await readTrust(trust))).engine, async (engine) => {
      engine.on("security", ({ message }) => void kept.push(message));
      engine.on("internalError", ({ error }) => void kept.push(messageOf(error)));
      return (await engine.cleanup({ olderThan, preview, by, status, note })).removed;
    });
    if (json) printJson(terminal, { preview, count: removed.length, removed, kept });
    else {
      for (const id of removed) print(terminal, id);
      print(terminal, `${counted(removed.length, "session")} ${preview ? "would be deleted" : "deleted"}`);
      for (const message of kept) terminal.stderr.write(`${printable(`phasegate: kept: ${message}`)}\n`);
    }
    return kept.length === 0 ? EXIT.ok : EXIT.problems;
  },
});

/** The time between two cleanups. Ages are given in hours and days. */
const CLEANUP_EVERY_MS = 60 * 60 * 1000;
const CLEANUP_ENDS_MS = 5000;

/** Deletes sessions as the engine's retention says, now and every hour. Returns what ends it. */
export function cleanUpRegularly(engine: Engine, log: Logger): () => Promise<void> {
  const cleanUp = async () => {
    try {
      const { removed } = await engine.cleanup({ by: "phasegate serve" });
      log.info({ removed: removed.length }, "cleanup");
    } catch (err) {
      log.error({ err }, "cleanup");
    }
  };
  let running = cleanUp();
  const timer = setInterval(() => {
    // One at a time: the first one on a large store may take longer than an hour.
    running = running.then(cleanUp);
  }, CLEANUP_EVERY_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    // What is left is deleted by the next server: nobody waits for a large store to be cleaned up.
    await Promise.race([running, delay(CLEANUP_ENDS_MS, undefined, { ref: false })]);
  };
}
