/**
 * `phasegate retry`, `resume`, `suspend`, `skip`, `override`, `sync` and `delete`: what the host alone may do with
 * sessions, from the terminal. Each names who did it, which the log records.
 */
import { Command, Option } from "commander";
import { FilePlans } from "../content/file-plans.js";
import { FileContent } from "../content/files.js";
import { type AnyPhasegateError, isPhasegateError } from "../errors.js";
import type { MoveResult } from "../phased/commands.js";
import type { EngineOptions } from "../phased/options.js";
import { CommandFailure, EXIT, type ExitCode, exitCodeOf, type SetExitCode } from "./exit-codes.js";
import { jsonOption, logLevelOption, notEmpty, repeated, requireFolder, stateOption, wholeNumber } from "./options.js";
import { type OpenedSession, openState, sessionIn } from "./state.js";
import { counted, durationText, print, printable, printJson, type Terminal, withoutPasswords } from "./terminal.js";
import { openVerifiers, readTrust, type TrustOptions, trustOptions } from "./trust.js";
import { unrecorded } from "./waiting.js";

interface OperateOptions extends TrustOptions {
  readonly state: string;
  readonly by: string;
  readonly note?: string;
  readonly phase?: number;
  readonly reset?: true;
  readonly preview?: true;
  readonly project?: string;
  readonly workflows?: readonly string[];
  readonly json?: true;
}

/** What was done to a session: what `--json` prints of it, and the rest of a sentence that begins with its id. */
interface Done {
  readonly json: object;
  readonly text: string;
  /** Lines for stderr. */
  readonly warnings?: readonly string[];
}

/** One of the commands on sessions. */
interface Operation {
  readonly summary: string;
  readonly help: string;
  /** What `--note` is for; required where the log must say why. */
  readonly note: { readonly text: string; readonly required?: true };
  readonly options?: () => readonly Option[];
  /** What the command does to a session of each kind; missing where it can't. */
  readonly phased: (
    engine: PhasedEngine,
    id: string,
    options: OperateOptions,
    verifiers: NonNullable<EngineOptions["verifiers"]>,
  ) => Promise<Done>;
  readonly routed?: (engine: InstanceEngine, id: string, options: OperateOptions) => Promise<Done>;
}

type PhasedEngine = Extract<OpenedSession, { kind: "phased" }>["engine"];
type InstanceEngine = Extract<OpenedSession, { kind: "routed" }>["engine"];

/** The names of the commands on sessions. */
type OperationName = "retry" | "resume" | "suspend" | "skip" | "override" | "sync" | "delete";

const phaseOption = () =>
  new Option("--phase <n>", "the phase that is meant: refused if the session is in another one").argParser(
    wholeNumber(0),
  );
const projectOption = () =>
  new Option("--project <dir>", "the server's project folder: plans, and the baseline of the phase that begins")
    .env("PHASEGATE_PROJECT")
    .argParser(notEmpty);

const OPERATIONS: Readonly<Record<OperationName, Operation>> = {
  retry: {
    summary: "grant more attempts to sessions that have failed or used them up",
    help: `
A phased session gets the whole number of attempts at its phase again, also after the limit that binds its agent. The
next submission is merged over the last one, unless --reset is given. A routed instance that has failed runs again; its
server asks the decider with the next call.`,
    note: { text: "why, or what has changed; the history shows it" },
    options: () => [
      phaseOption(),
      new Option("--reset", "forget the last evidence instead of merging the next over it"),
      projectOption(),
    ],
    phased: async (engine, id, { by, note, phase, reset }) => {
      const { head } = await engine.getState(id);
      const request = { phase: phase ?? head.phase, resetEvidence: reset === true, ...saidBy(by, note) };
      const { phase: view } = await engine.retryPhase(id, request);
      const text = `phase ${view.currentPhase} may be tried again`;
      return { json: { status: view.status, phase: view.currentPhase }, text };
    },
    routed: async (engine, id, { by, note, phase, reset }) => {
      if (phase !== undefined || reset) {
        const hint = "Leave it out: an instance is tried again at its step, and nothing is merged.";
        const option = phase === undefined ? "--reset" : "--phase";
        throw new CommandFailure(`${option} is for phased sessions: ${id} is an instance`, EXIT.usage, hint);
      }
      return released(engine, id, "FAILED", by, note);
    },
  },
  resume: {
    summary: "resume sessions that are paused or suspended",
    help: `
A routed instance runs again at its step; its server asks the decider with the next call.`,
    note: { text: "why; the history shows it" },
    options: () => [projectOption()],
    phased: async (engine, id, { by, note }) => {
      const { phase: view, pausedSeconds } = await engine.resume(id, saidBy(by, note));
      const text = `active in phase ${view.currentPhase}, after ${durationText(pausedSeconds)}`;
      return { json: { status: view.status, phase: view.currentPhase, pausedSeconds }, text };
    },
    routed: async (engine, id, { by, note }) => released(engine, id, "SUSPENDED", by, note),
  },
  suspend: {
    summary: "pause sessions until they are resumed",
    help: `
A phased session is paused, a routed instance suspended: the same for different kinds of workflows.`,
    note: { text: "why, or what whoever resumes should know" },
    phased: async (engine, id, { by, note }) => {
      const { phase } = await engine.pause(id, saidBy(by, note));
      return { json: { status: "paused", phase }, text: `paused in phase ${phase}` };
    },
    routed: async (engine, id, { by, note }) => {
      const said = { operator: by, ...(note === undefined ? {} : { reason: note }) };
      const { status, currentStep } = await engine.suspend(id, said);
      const step = currentStep === undefined ? {} : { step: currentStep };
      return { json: { status, ...step }, text: `suspended at ${printable(currentStep ?? "the start")}` };
    },
  },
  skip: {
    summary: "skip the current phase of sessions, where the workflow allows it",
    help: `
Give --phase in scripts: without it, a second run would skip the next phase.`,
    note: { text: "why; required", required: true },
    options: () => [phaseOption(), projectOption()],
    phased: (...given) => movePast("skipPhase", "skipped", ...given),
  },
  override: {
    summary: "pass the current gate of sessions without evidence, where the gate allows it",
    help: `
Give --phase in scripts: without it, a second run would override the next gate.`,
    note: { text: "why; required", required: true },
    options: () => [phaseOption(), projectOption()],
    phased: (...given) => movePast("overrideGate", "passed without evidence", ...given),
  },
  sync: {
    summary: "adopt the edited plan of sessions, also one that asks for less",
    help: `
An agent may not adopt a plan that asks for less than the one that its session began with: only the host may.`,
    note: { text: "why; the history shows it" },
    options: () => [
      projectOption(),
      new Option("--workflows <dir...>", "the server's folders of phased workflows")
        .env("PHASEGATE_WORKFLOWS")
        .argParser(repeated),
      new Option("--preview", "only show what would change"),
    ],
    phased: async (engine, id, { by, note, preview }) => {
      const { changed, changes, status, currentPhase } = await engine.syncPlan(id, {
        preview: preview === true,
        ...saidBy(by, note),
      });
      const { count, counts, takenAway } = changes;
      const json = {
        status,
        phase: currentPhase,
        preview: preview === true,
        changed,
        changes: counts,
        takenAway: takenAway.length,
      };
      const less = takenAway.length === 0 ? "" : `, ${takenAway.length} of them ask for less`;
      const found = changed ? `${counted(count, "change")} of the plan${less}` : "the plan asks for the same";
      return { json, text: preview ? `${found}; nothing was changed` : found };
    },
  },
  delete: {
    summary: "delete sessions; their ids are never used again",
    help: `
The log of a deleted session is removed. Back the state up first if you may need it: phasegate backup.`,
    note: { text: "why: kept with the id, as far as the state keeps it" },
    phased: async (engine, id, options) => {
      await engine.deleteSession(id, deletionBy(options));
      return { json: { status: "deleted" }, text: "deleted" };
    },
    routed: async (engine, id, options) => {
      await engine.delete(id, deletionBy(options));
      return { json: { status: "deleted" }, text: "deleted" };
    },
  },
};

function saidBy(operator: string, note: string | undefined) {
  return { operator, ...(note === undefined ? {} : { note }) };
}

function deletionBy({ by, note }: OperateOptions) {
  return { operator: by, ...(note === undefined ? {} : { reason: note }) };
}

async function released(
  engine: InstanceEngine,
  id: string,
  from: "FAILED" | "SUSPENDED",
  by: string,
  note: string | undefined,
): Promise<Done> {
  const { status, currentStep } = await engine.release(id, { from, ...saidBy(by, note) });
  const step = currentStep === undefined ? {} : { step: currentStep };
  return { json: { status, ...step }, text: `runs again at ${printable(currentStep ?? "the start")}` };
}

async function movePast(
  operation: "skipPhase" | "overrideGate",
  how: string,
  ...[engine, id, { by, note = "", phase }, verifiers]: Parameters<Operation["phased"]>
): Promise<Done> {
  const { head, structure } = await engine.getState(id);
  const result = await engine[operation](id, { phase: phase ?? head.phase, by, reason: note });
  return moved(result, how, unrecorded(result, structure, verifiers));
}

function moved({ phase, nextPhase, skipped = [] }: MoveResult, how: string, warnings: readonly string[]): Done {
  const next = nextPhase === null ? "the workflow is complete" : `phase ${nextPhase.number} is next`;
  const also = skipped.length === 0 ? "" : `, and rules skipped ${skipped.map((one) => one.phase).join(", ")}`;
  const json = {
    status: nextPhase === null ? "completed" : "active",
    phase: nextPhase?.number ?? phase,
    passed: phase,
    ...(skipped.length === 0 ? {} : { skipped: skipped.map((one) => one.phase) }),
  };
  return { json, text: `phase ${phase} ${how}${also}; ${next}`, warnings };
}

/** Returns what creates one of the commands on sessions. */
export function operateCommand(name: OperationName): (terminal: Terminal, setExitCode: SetExitCode) => Command {
  const { summary, help, note, options = () => [], routed } = OPERATIONS[name];
  return (terminal, setExitCode) => {
    const command = new Command(name)
      .summary(summary)
      .description(`${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.${routed ? "" : " For phased sessions."}`)
      .argument("<session...>", "ids of the sessions, as `phasegate sessions` lists them")
      .addOption(stateOption().makeOptionMandatory())
      .addOption(byOption())
      .addOption(
        new Option("--note <text>", note.text).argParser(notEmpty).makeOptionMandatory(note.required === true),
      );
    for (const option of [...options(), ...trustOptions()]) command.addOption(option);
    return command
      .addOption(jsonOption())
      .addOption(logLevelOption())
      .addHelpText(
        "after",
        `${help}\nIt is recorded as done by the host. If it is refused for one of several sessions, the others are done.`,
      )
      .action(async (sessionIds: readonly string[], given: OperateOptions) => {
        setExitCode(await operate(name, sessionIds, given, terminal));
      });
  };
}

/** Returns `--by`: who does it. */
export function byOption(): Option {
  return new Option("--by <name>", "your name, or the name of your program: it is recorded")
    .argParser(notEmpty)
    .makeOptionMandatory();
}

/** A session for which a command was refused, in an operator's words. */
interface Refused {
  readonly sessionId: string;
  readonly code: string;
  readonly message: string;
  readonly remedy?: string;
  /** The address of the code's documentation, if the library refused. */
  readonly url?: string;
  readonly error: AnyPhasegateError | CommandFailure;
}

async function operate(
  name: OperationName,
  sessionIds: readonly string[],
  options: OperateOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const { project, json } = options;
  // Not left to commander: they may come from the project of the current folder.
  const missing =
    name === "sync" ? (["project", "workflows"] as const).find((one) => options[one] === undefined) : undefined;
  if (missing !== undefined) {
    throw new CommandFailure(`--${missing} is missing`, EXIT.usage, "Give the value that `phasegate serve` has.");
  }
  const verifiers = await openVerifiers(project === undefined ? {} : { project }, {});
  const setup = { ...(await readTrust(options)), verifiers, ...(await sourcesOf(options)) };
  const storage = await openState(options.state);
  const done: object[] = [];
  const refused: Refused[] = [];
  try {
    for (const sessionId of new Set(sessionIds)) {
      try {
        const opened = await sessionIn(storage, sessionId, setup);
        const { json: about, text, warnings = [] } = await perform(name, opened, sessionId, options, verifiers);
        done.push({ sessionId, ...about });
        if (!json) print(terminal, `${sessionId}: ${text}`);
        for (const line of warnings) terminal.stderr.write(`${line}\n`);
      } catch (error) {
        if (!isPhasegateError(error) && !(error instanceof CommandFailure)) throw error;
        refused.push(refusalOf(sessionId, error));
      }
    }
  } finally {
    await storage.close?.();
  }
  const [first] = refused;
  if (json) {
    const lines = refused.map(({ error: _, ...one }) => one);
    printJson(terminal, { command: name, by: options.by, done, refused: lines });
  } else if (first !== undefined && sessionIds.length === 1) {
    throw new CommandFailure(first.message, exitCodeOf(first.error), first.remedy, { cause: first.error });
  } else {
    for (const { sessionId, message, remedy = "" } of refused) {
      const line = `phasegate: ${sessionId}: ${message}. ${remedy}`.trimEnd();
      terminal.stderr.write(`${withoutPasswords(printable(line))}\n`);
    }
  }
  // The gravest one: a disk that fails is not a refusal.
  return refused.reduce<ExitCode>((code, { error }) => worse(code, exitCodeOf(error)), EXIT.ok);
}

function worse(one: ExitCode, other: ExitCode): ExitCode {
  return other > one ? other : one;
}

async function sourcesOf({ workflows, project }: OperateOptions): Promise<Partial<EngineOptions>> {
  const plans =
    project === undefined ? {} : { plans: new FilePlans({ root: await requireFolder(project, "the project") }) };
  if (workflows === undefined) return plans;
  const roots = await Promise.all(workflows.map((path) => requireFolder(path, "the workflows folder")));
  return { ...plans, content: new FileContent({ roots }) };
}

function perform(
  name: OperationName,
  opened: OpenedSession,
  id: string,
  options: OperateOptions,
  verifiers: NonNullable<EngineOptions["verifiers"]>,
): Promise<Done> {
  const { phased, routed } = OPERATIONS[name];
  if (opened.kind === "phased") return phased(opened.engine, id, options, verifiers);
  if (opened.kind === "routed" && routed !== undefined) return routed(opened.engine, id, options);
  const kind = opened.kind === "routed" ? "an instance of a routed workflow" : "a recorded session";
  const hint = opened.kind === "routed" ? "Use retry, suspend, resume or delete." : "Only its workspace can change it.";
  throw new CommandFailure(`${name} is not possible: ${id} is ${kind}`, EXIT.problems, hint);
}

/** The commands of the bin with another name than the engine's operation. */
const RENAMED: Readonly<Record<string, string | undefined>> = {
  retryPhase: "retry",
  pause: "suspend",
  skipPhase: "skip",
  overrideGate: "override",
  syncPlan: "sync",
  denyWaiver: "deny",
};
/** The commands with the same name. */
const SAME: readonly string[] = ["retry", "suspend", "resume", "approve", "deny", "waive", "delete"];

function commandOf(operation: string): string | undefined {
  if (SAME.includes(operation)) return operation;
  return Object.hasOwn(RENAMED, operation) ? RENAMED[operation] : undefined;
}

/** Returns a refusal with commands in place of the engine's operations, which an operator does not know. */
function refusalOf(sessionId: string, error: Refused["error"]): Refused {
  if (error instanceof CommandFailure) {
    const { message, hint } = error;
    const code = error.exitCode === EXIT.usage ? "INVALID_INPUT" : "UNSUPPORTED";
    return { sessionId, code, message, ...(hint === undefined ? {} : { remedy: hint }), error };
  }
  const operation = /^\w+(?= is not possible)|(?<=does not allow )\w+(?= in phase \d+$)/;
  const message = error.message.replace(operation, (name) => commandOf(name) ?? name);
  return { sessionId, code: error.code, message, remedy: remedyOf(error), url: error.url, error };
}

function remedyOf(error: AnyPhasegateError): string {
  if (!isPhasegateError(error, "INVALID_TRANSITION")) return error.remedy;
  const { status, allowed } = error.details;
  // An agent may ask for a running instance by resume; the command has nothing to do there.
  const operations = allowed.filter((operation) => status !== "RUNNING" || operation !== "resume");
  const commands = [...new Set(operations.flatMap((operation) => commandOf(operation) ?? []))];
  if (status === "completed" || status === "COMPLETED" || commands.length === 0) return error.remedy;
  const more = status === "active" || status === "failed" ? "; skip and override, if the workflow allows them" : "";
  return `Possible now: ${commands.map((name) => `phasegate ${name}`).join(", ")}${more}.`;
}
