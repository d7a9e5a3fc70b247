/** What each command of an operator does to a session: the table of `retry`, `resume`, `suspend`, `skip` and so on. */
import type { MoveResult } from "../phased/commands.js";
import type { EngineOptions } from "../phased/options.js";
import { type Defined, defined } from "../workflow/json.js";
import { flag, type Given, parsed, required, text, wholeNumber } from "./command.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { workflowsOption } from "./options.js";
import type { OpenedSession } from "./state.js";
import { counted, durationText, printable } from "./terminal.js";
import { projectOption, type TrustOptions } from "./trust.js";
import { unrecorded } from "./waiting.js";

/** The options of the commands on sessions; each command has some of those that may be missing. */
export type OperateOptions = TrustOptions &
  Defined<{
    readonly state: string;
    readonly by: string;
    readonly note: string | undefined;
    readonly phase: number | undefined;
    readonly reset: true | undefined;
    readonly preview: true | undefined;
    readonly to: string | undefined;
    readonly team: string | undefined;
    readonly project: string | undefined;
    readonly workflows: readonly string[] | undefined;
    readonly json: true | undefined;
  }>;

/** What was done to a session: what `--json` prints of it, and the rest of a sentence that begins with its id. */
export interface Done {
  readonly json: object;
  readonly text: string;
  readonly warnings?: readonly string[];
}

interface Operation {
  readonly summary: string;
  readonly help: string;
  /** What `--note` is for; required where the log must say why. */
  readonly note: { readonly text: string; readonly required?: true };
  readonly options?: () => Readonly<Record<string, Given<unknown>>>;
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

export type OperationName = "retry" | "resume" | "suspend" | "skip" | "override" | "sync" | "assign" | "delete";

const phaseOption = () =>
  parsed("--phase <n>", "the phase that is meant: refused if the session is in another one", wholeNumber(0));
const serversProject = () =>
  projectOption("the server's project folder: plans, and the baseline of the phase that begins");

export const OPERATIONS: Readonly<Record<OperationName, Operation>> = {
  retry: {
    summary: "grant more attempts to sessions that have failed or used them up",
    help: `
A phased session gets the whole number of attempts at its phase again, also after the limit that binds its agent. The
next submission is merged over the last one, unless --reset is given. A routed instance that has failed runs again; its
server asks the decider with the next call.`,
    note: { text: "why, or what has changed; the history shows it" },
    options: () => ({
      phase: phaseOption(),
      reset: flag("--reset", "forget the last evidence instead of merging the next over it"),
      project: serversProject(),
    }),
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
    options: () => ({ project: serversProject() }),
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
      const { status, currentStep: step } = await engine.suspend(id, reasonedBy({ by, note }));
      return { json: { status, step }, text: `suspended at ${printable(step ?? "the start")}` };
    },
  },
  skip: {
    summary: "skip the current phase of sessions, where the workflow allows it",
    help: `
Give --phase in scripts: without it, a second run would skip the next phase.`,
    note: { text: "why; required", required: true },
    options: () => ({ phase: phaseOption(), project: serversProject() }),
    phased: (...given) => movePast("skipPhase", "skipped", ...given),
  },
  override: {
    summary: "pass the current gate of sessions without evidence, where the gate allows it",
    help: `
Give --phase in scripts: without it, a second run would override the next gate.`,
    note: { text: "why; required", required: true },
    options: () => ({ phase: phaseOption(), project: serversProject() }),
    phased: (...given) => movePast("overrideGate", "passed without evidence", ...given),
  },
  sync: {
    summary: "adopt the edited plan of sessions, also one that asks for less",
    help: `
An agent may not adopt a plan that asks for less than the one that its session began with: only the host may.`,
    note: { text: "why; the history shows it" },
    options: () => ({
      project: serversProject(),
      workflows: workflowsOption("the server's folders of phased workflows"),
      preview: flag("--preview", "only show what would change"),
    }),
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
  assign: {
    summary: "hand sessions over to another owner",
    help: `
On a server that several people and agents share, agents see their own sessions alone.`,
    note: { text: "why; the log keeps it" },
    options: () => ({
      to: required(text("--to <name>", "the new owner: the name of a token, or of a user")),
      team: text("--team <name>", "the new owner's team"),
    }),
    phased: (engine, id, options) => assigned(engine, id, options),
    routed: (engine, id, options) => assigned(engine, id, options),
  },
  delete: {
    summary: "delete sessions; their ids are never used again",
    help: `
The log of a deleted session is removed. Back the state up first if you may need it: phasegate backup.`,
    note: { text: "why: kept with the id, as far as the state keeps it" },
    phased: async (engine, id, options) => {
      await engine.deleteSession(id, reasonedBy(options));
      return { json: { status: "deleted" }, text: "deleted" };
    },
    routed: async (engine, id, options) => {
      await engine.delete(id, reasonedBy(options));
      return { json: { status: "deleted" }, text: "deleted" };
    },
  },
};

async function assigned(
  engine: PhasedEngine | InstanceEngine,
  id: string,
  { to = "", team, by, note }: OperateOptions,
): Promise<Done> {
  await engine.assign(id, defined({ name: to, team }), defined({ by, note }));
  return { json: { owner: to, team }, text: `belongs to ${printable(to)} now` };
}

function saidBy(operator: string, note: string | undefined) {
  return defined({ operator, note });
}

function reasonedBy({ by, note }: { readonly by: string; readonly note?: string | undefined }) {
  return defined({ operator: by, reason: note });
}

async function released(
  engine: InstanceEngine,
  id: string,
  from: "FAILED" | "SUSPENDED",
  by: string,
  note: string | undefined,
): Promise<Done> {
  const { status, currentStep: step } = await engine.release(id, { from, ...saidBy(by, note) });
  return { json: { status, step }, text: `runs again at ${printable(step ?? "the start")}` };
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
    skipped: skipped.length === 0 ? undefined : skipped.map((one) => one.phase),
  };
  return { json, text: `phase ${phase} ${how}${also}; ${next}`, warnings };
}
