/**
 * Gives the steps of a skill one by one, since a model that has all steps skips some. The entry file of this folder;
 * what is decided where:
 * - next-step.ts: which step may be next; a gate between two steps is never skipped; 12 failures of a gate close it
 * - give-step.ts: how a step and its gate are read, and what a connection remembers
 * - step-index.ts: which files are steps, in which order, and where a step leads
 */
import { PhasegateError } from "../../errors.js";
import { type AttemptLimits, attemptsLeft } from "../../gate/judge.js";
import { orNearest, shown } from "../../workflow/names.js";
import type { FieldGate } from "../../workflow/structure.js";
import { findWorkflow } from "../preload/find.js";
import { type OpenedSkill, openSkill, skillPlaces } from "../preload/skills.js";
import type { Connection } from "../session/keeper.js";
import {
  DONE,
  type GivenStep,
  giveStep,
  judgeStep,
  memoryOf,
  readEntry,
  type SteppedSkill,
  type StepRefusal,
  stepAt,
} from "./give-step.js";
import { entryOf, firstSteps, type StepEntry, stepsAfter, stepsBetween } from "./step-index.js";

/** After this many failures of a gate a person must help. Passing resets the count: in a row is in total here. */
const LIMITS: AttemptLimits = { maxAttempts: 12, maxAttemptsTotal: 12 };

/** The request of `nextStep`. */
interface NextStepRequest {
  /** The skill's name, or the path of its folder. */
  readonly workflow: string;
  /** The evidence for the gate of the current step. */
  readonly evidence?: unknown;
  /** The next step, if there are several. */
  readonly step?: string;
}

/** The result of `nextStep`: a step, the end, or the refusal of the current step's gate. */
type NextStep =
  | { readonly status: "step"; readonly step: GivenStep }
  | { readonly status: "done"; readonly after: string }
  | { readonly status: "refused"; readonly at: string; readonly refusal: StepRefusal };

/**
 * Gives the next step of a skill in the connection's session, or the first one. The gate of the current step must be
 * passed. Throws `WORKFLOW_NOT_FOUND`, `INVALID_INPUT` for a skill without steps and for a step that cannot be next,
 * `DEFINITION_INVALID`, `ATTEMPTS_EXHAUSTED`, `EVIDENCE_UNSAFE` and `EVIDENCE_TOO_LARGE`.
 */
export function nextStep(connection: Connection, request: NextStepRequest): Promise<NextStep> {
  return memoryOf(connection).inTurn(async () => {
    const places = skillPlaces(connection);
    const { file } = await findWorkflow(places.source, request.workflow, places.roots);
    const opened = await openSkill(places, file);
    const stepped = { places, skill: opened.at(-1) ?? opened[0] };
    if (stepped.skill.index.length === 0) throw noSteps(stepped.skill);
    const at = await stepAt(connection, stepped.skill.name);
    const current = at === undefined ? undefined : entryOf(stepped.skill.index, at, ".");
    if (current === undefined) return begin(connection, stepped, request.step);
    return leave(connection, stepped, current, request);
  });
}

async function begin(connection: Connection, stepped: SteppedSkill, wanted: string | undefined): Promise<NextStep> {
  const firsts = firstSteps(stepped.skill.index, stepped.skill.text);
  const entry = wanted === undefined && firsts.length > 1 ? undefined : chosen(firsts, wanted);
  return { status: "step", step: await giveStep(connection, stepped, entry ?? refuseChoice(wanted, firsts)) };
}

async function leave(
  connection: Connection,
  stepped: SteppedSkill,
  current: StepEntry,
  { evidence, step: wanted }: NextStepRequest,
): Promise<NextStep> {
  const { index } = stepped.skill;
  const left = await readEntry(stepped, current);
  const { follows, choices } = stepsAfter(index, current, left.text, left.nextStepFile);
  const gates = await gatesBefore(stepped, current, choices);
  const ends = follows === undefined && (wanted === undefined || wanted.trim().toLowerCase() === DONE);
  const target = ends ? undefined : (chosen([...choices, ...gates], wanted) ?? refuseChoice(wanted, choices));
  const gate =
    target === undefined ? undefined : gates.find((one) => stepsBetween(index, current, target).includes(one));
  if (target !== undefined && gate !== undefined && wanted !== undefined) throw notPast(target, gate);
  const refusal =
    left.gate === undefined ? undefined : await attempt(connection, stepped, current, left.gate, evidence);
  if (refusal !== undefined) return { status: "refused", at: current.step, refusal };
  if (target === undefined) return { status: "done", after: current.step };
  return { status: "step", step: await giveStep(connection, stepped, gate ?? target) };
}

/** Checks evidence against the gate of the current step, and counts failures. */
async function attempt(
  connection: Connection,
  { skill }: SteppedSkill,
  current: StepEntry,
  gate: FieldGate,
  evidence: unknown,
): Promise<StepRefusal | undefined> {
  const { failures } = memoryOf(connection);
  const key = `${skill.name}\n${current.step}`;
  const number = skill.index.indexOf(current) + 1;
  const before = failures.get(key) ?? 0;
  if (attemptsLeft({ inARow: before, inTotal: before }, LIMITS) === 0) throw exhausted(current, number, before);
  const facts = { session: connection.sessionId ?? "", skill: skill.name, number, attempt: before + 1 };
  const refusal = await judgeStep(gate, evidence, facts);
  failures.set(key, refusal === undefined ? 0 : before + 1);
  return refusal;
}

/** Returns the steps with gates between a step and the steps that it leads to. They cannot be skipped. */
async function gatesBefore(
  stepped: SteppedSkill,
  current: StepEntry,
  next: readonly StepEntry[],
): Promise<readonly StepEntry[]> {
  const between = [...new Set(next.flatMap((entry) => stepsBetween(stepped.skill.index, current, entry)))];
  const read = await Promise.all(between.map((entry) => readEntry(stepped, entry)));
  return between.filter((_, index) => read[index]?.gate !== undefined);
}

function chosen(entries: readonly StepEntry[], wanted: string | undefined): StepEntry | undefined {
  return wanted === undefined ? entries[0] : entryOf(entries, wanted, ".");
}

/** Throws for a step that cannot be next, and for a missing choice. */
function refuseChoice(wanted: string | undefined, entries: readonly StepEntry[]): never {
  const names = entries.map(({ step }) => step);
  const problem =
    wanted === undefined
      ? "there are several steps to choose from"
      : `${shown(wanted)} can't be the next step${orNearest(wanted, names)}`;
  throw new PhasegateError("INVALID_INPUT", problem, {
    remedy:
      names.length === 0
        ? "Call next_step without a step: this was the last one."
        : `Give one of ${names.join(", ")} as step.`,
    details: { field: "step", expected: names.join(", ") },
  });
}

/** Builds the error for a skill without steps in files. */
function noSteps({ name }: OpenedSkill): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${shown(name)} has no steps in separate files`, {
    remedy: "Follow its text, which preload_workflow returns completely.",
    details: { field: "workflow", expected: "a skill with step files" },
  });
}

/** Builds the error for a step after another one's gate. */
function notPast(target: StepEntry, between: StepEntry): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError(
    "INVALID_INPUT",
    `${target.step} can't be the next step: ${between.step} before it has a gate`,
    {
      remedy: `Do ${between.step} first: call next_step with it as step.`,
      details: { field: "step", expected: between.step },
    },
  );
}

/** Builds the error for a gate with too many failures. */
function exhausted({ step }: StepEntry, number: number, attempts: number): PhasegateError<"ATTEMPTS_EXHAUSTED"> {
  return new PhasegateError("ATTEMPTS_EXHAUSTED", `the gate of ${step} failed ${attempts} times`, {
    remedy: "Stop guessing. Ask the user for what the gate requires.",
    details: { phase: number, attempts, limit: LIMITS.maxAttemptsTotal },
  });
}
