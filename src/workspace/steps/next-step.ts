/** The steps of a skill, one by one: whoever loads ahead follows none of them whole. */

import { PhasegateError } from "../../errors.js";
import { nearest, shown } from "../../workflow/names.js";
import type { FieldGate } from "../../workflow/structure.js";
import type { Connection } from "../connection.js";
import { findWorkflow } from "../preload/find.js";
import { type OpenedSkill, openSkill, skillPlaces } from "../preload/skills.js";
import {
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

/** How often a gate may be failed before a person must help. */
const FAILURES_MAX = 12;

/** What is asked of `nextStep`. */
interface NextStepRequest {
  /** The skill's name, or the path of its folder. */
  readonly workflow: string;
  /** What the gate of the step that is left asks for. */
  readonly evidence?: unknown;
  /** Which step, where the one that is left names several. */
  readonly step?: string;
}

/** What `nextStep` gives: a step, the end, or what the gate of the step that was to be left says. */
type NextStep =
  | { readonly status: "step"; readonly step: GivenStep }
  | { readonly status: "done"; readonly after: string }
  | { readonly status: "refused"; readonly at: string; readonly refusal: StepRefusal };

/**
 * Gives a skill's next step in the connection's session: the first if none was given yet. The gate of the step that is left
 * must be passed. Throws `WORKFLOW_NOT_FOUND`, `INVALID_INPUT` for a skill without steps or a step that can't be next,
 * `DEFINITION_INVALID`, `ATTEMPTS_EXHAUSTED`, and what unsafe evidence throws.
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
  const next = stepsAfter(index, current, left.text, left.nextStepFile);
  const gates = await gatesBefore(stepped, current, next);
  const ends = next.length === 0 && wanted === undefined;
  const target = ends ? undefined : (chosen([...next, ...gates], wanted) ?? refuseChoice(wanted, next));
  const gate =
    target === undefined ? undefined : gates.find((one) => stepsBetween(index, current, target).includes(one));
  if (target !== undefined && gate !== undefined && wanted !== undefined) throw notPast(target, gate);
  const refusal = left.gate === undefined ? undefined : await judge(connection, stepped, current, left.gate, evidence);
  if (refusal !== undefined) return { status: "refused", at: current.step, refusal };
  if (target === undefined) return { status: "done", after: current.step };
  return { status: "step", step: await giveStep(connection, stepped, gate ?? target) };
}

/** Takes evidence to the gate of the step that is left, and counts how often that was in vain. */
async function judge(
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
  if (before >= FAILURES_MAX) throw exhausted(current, number, FAILURES_MAX);
  const facts = { session: connection.sessionId ?? "", skill: skill.name, number, attempt: before + 1 };
  const refusal = await judgeStep(gate, evidence, facts);
  failures.set(key, refusal === undefined ? 0 : before + 1);
  return refusal;
}

/** The steps with gates that lie before those that a step leads to: nobody gets past them. */
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

/** A step that can't be next, or none where there are several. */
function refuseChoice(wanted: string | undefined, entries: readonly StepEntry[]): never {
  const names = entries.map(({ step }) => step);
  const near = wanted === undefined ? undefined : nearest(wanted, names);
  const problem = wanted === undefined ? "there are several steps to choose from" : `${shown(wanted)} can't be next`;
  throw new PhasegateError("INVALID_INPUT", near === undefined ? problem : `${problem}; did you mean ${near}?`, {
    remedy:
      names.length === 0
        ? "Call next_step without a step: this was the last one."
        : `Give one of ${names.join(", ")} as step.`,
    details: { field: "step", expected: names.join(", ") },
  });
}

/** A skill that is one text. */
function noSteps({ name }: OpenedSkill): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${shown(name)} has no steps in files of their own`, {
    remedy: "Follow its text, which preload_workflow gives whole.",
    details: { field: "workflow", expected: "a skill with step files" },
  });
}

/** A step behind another one's gate. */
function notPast(target: StepEntry, between: StepEntry): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${target.step} can't be next: ${between.step} before it has a gate`, {
    remedy: `Go through ${between.step}: call next_step with that as step.`,
    details: { field: "step", expected: between.step },
  });
}

/** A gate that somebody guesses at. */
function exhausted({ step }: StepEntry, number: number, limit: number): PhasegateError<"ATTEMPTS_EXHAUSTED"> {
  return new PhasegateError("ATTEMPTS_EXHAUSTED", `the gate of ${step} was failed ${limit} times`, {
    remedy: "Stop guessing. Ask the user for what the gate asks for.",
    details: { phase: number, attempts: limit, limit },
  });
}
