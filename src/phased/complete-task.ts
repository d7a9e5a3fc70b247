/**
 * Notes of tasks: what is done, given up or left out in the current phase, for whoever continues the work. A plan's gate takes
 * what is done as claimed.
 */
import { PhasegateError } from "../errors.js";
import { type SessionId, shown } from "../workflow/names.js";
import type { PhaseDefinition } from "../workflow/structure.js";
import { notAccepted } from "./approval/ledger.js";
import { phaseNow } from "./approval/requests.js";
import { executeCommand, loadPlanned, loadSession, requirePhase } from "./context.js";
import type { EngineContext } from "./engine-context.js";
import type { Keyed } from "./state/commands.js";
import type { SessionHead } from "./state/head.js";
import type { PhasedSession } from "./state/machine.js";
import { inRanges } from "./state/ranges.js";
import type { PhaseTask, TaskNote } from "./state/task-notes.js";
import { factsOf, phaseTasks, type SessionFacts } from "./views.js";

/** Notes a task as done or given up. */
export interface TaskRequest extends Keyed, TaskNote {}

/** A task that is noted as done or given up. */
export interface TaskResult extends SessionFacts {
  /** The task's phase, without what is waived. */
  readonly phase: PhaseDefinition;
  /** The task's number; missing if the call only left tasks out. */
  readonly task?: number;
  /** The phase's tasks, as they stand now. */
  readonly tasks: readonly PhaseTask[];
  /** True if it was noted before, by this call or another one: then nothing was written. */
  readonly replayed: boolean;
}

/**
 * Notes a task of the current phase as done or given up, and optional ones as left out, in one commit. If that is noted
 * already, with the same note or without a new one, nothing is written. A task that may not be read yet can't be done.
 */
export async function completeTask(
  context: EngineContext,
  id: SessionId,
  request: TaskRequest & { readonly phase: number; readonly task?: number | undefined },
): Promise<TaskResult> {
  const { phase, task, note, outcome = "done", skipped = [], idempotencyKey } = request;
  if (outcome !== "done" && outcome !== "given_up") throw wrongOutcome(outcome);
  const loaded = await loadSession(context, id);
  const { session, structure, unapproved } = loaded;
  if (unapproved !== undefined) throw notAccepted(unapproved);
  const current = structure.phases[session.head.position];
  const found = current?.number === phase ? current.tasks.find(({ number }) => number === task) : undefined;
  if (current !== undefined && found?.plan !== undefined)
    await (await loadPlanned()).viewPlannedTask(context, loaded, await phaseNow(context, loaded, current), found);
  const said = { note, ...(outcome === "done" ? {} : { outcome }) };
  const command = { type: "completeTask", phase, task, skipped, ...said } as const;
  const isNew = ({ head }: PhasedSession) =>
    head.phase !== phase ||
    head.status !== "active" ||
    (task === undefined && skipped.length === 0) ||
    (task !== undefined && !isNoted(head, task, { note, outcome })) ||
    skipped.some((number) => !inRanges(head.tasks?.givenUp, number));
  const executed = await executeCommand(context, id, command, idempotencyKey, isNew);
  const now = await loadSession(context, id);
  const noted = await phaseNow(context, now, requirePhase(now.structure, phase));
  return {
    ...factsOf(context, now.session),
    phase: noted,
    task,
    tasks: await phaseTasks(context, now, noted),
    replayed: executed?.replayed ?? true,
  };
}

/** Returns the error for an outcome that there isn't: types don't reach plain JavaScript. */
function wrongOutcome(outcome: unknown): PhasegateError<"INVALID_INPUT"> {
  const expected = "done or given_up";
  return new PhasegateError("INVALID_INPUT", `'outcome' must be ${expected}, not ${shown(outcome)}`, {
    remedy: "Give up a task that can't be done, with a note that says why.",
    details: { field: "outcome", expected },
  });
}

/** Returns true if a task is noted like this, and its note is the last one or missing. */
function isNoted(
  { tasks }: SessionHead,
  task: number,
  { note, outcome }: Pick<TaskNote, "outcome"> & { readonly note: string | undefined },
): boolean {
  if (!inRanges(outcome === "given_up" ? tasks?.givenUp : tasks?.done, task)) return false;
  return note === undefined || (tasks?.last?.task === task && tasks.last.note === note);
}
