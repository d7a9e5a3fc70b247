import type { Connection } from "../connection.js";
import { folderOf, inFolder } from "../preload/load-context.js";
import type { OpenedSkill, SkillPlaces } from "../preload/open-skill.js";
import { readWhole } from "../preload/source.js";
import { asked, type StepRefusal } from "./judge-step.js";
import { type ReadStep, readStep } from "./read-step.js";
import { entryOf, firstSteps, type StepEntry, stepsAfter } from "./step-index.js";
import { memoryOf, stepAt } from "./step-memory.js";

/** A step, whole. */
export interface GivenStep {
  readonly step: string;
  readonly title: string;
  /** Its place among all steps, from 1. */
  readonly number: number;
  readonly of: number;
  readonly path: string;
  readonly content: string;
  /** What its gate asks for before the next one is given. */
  readonly gate?: Omit<StepRefusal, "problems">;
  /** The steps that may be asked for by name, where there are several. */
  readonly choices?: readonly string[];
}

/** A skill with steps, and where it lies. */
export interface SteppedSkill {
  readonly places: SkillPlaces;
  readonly skill: OpenedSkill;
}

/** The step that a session is at, or its first; undefined where there are several first ones. */
export async function currentStep(connection: Connection, stepped: SteppedSkill): Promise<GivenStep | undefined> {
  const { index, text } = stepped.skill;
  const at = await stepAt(connection, stepped.skill.name);
  const [only, ...more] = firstSteps(index, text);
  const entry = at === undefined ? (more.length === 0 ? only : undefined) : entryOf(index, at, ".");
  if (entry === undefined) return undefined;
  if (at === undefined) return giveStep(connection, stepped, entry);
  return shownStep(stepped, entry, await readEntry(stepped, entry));
}

/** Gives a step, and notes that it was. */
export async function giveStep(connection: Connection, stepped: SteppedSkill, entry: StepEntry): Promise<GivenStep> {
  const step = shownStep(stepped, entry, await readEntry(stepped, entry));
  if (connection.sessionId === undefined) memoryOf(connection).steps.set(stepped.skill.name, entry.step);
  const { step: name, number, of } = step;
  await connection.record({ type: "step", workflow: stepped.skill.name, step: name, number, of });
  return step;
}

/** Reads a step's file. */
export async function readEntry({ places, skill }: SteppedSkill, { step }: StepEntry): Promise<ReadStep> {
  const location = inFolder(folderOf(skill.file), `${step}.md`);
  const { text } = await readWhole(places.source, location);
  return readStep(skill.name, places.source.show(location), text);
}

function shownStep(
  { places, skill }: SteppedSkill,
  entry: StepEntry,
  { text, gate, nextStepFile }: ReadStep,
): GivenStep {
  const choices = stepsAfter(skill.index, entry, text, nextStepFile).map(({ step }) => step);
  return {
    step: entry.step,
    title: entry.title,
    number: skill.index.indexOf(entry) + 1,
    of: skill.index.length,
    path: places.source.show(inFolder(folderOf(skill.file), `${entry.step}.md`)),
    content: text,
    ...(gate === undefined ? {} : { gate: asked(gate) }),
    ...(choices.length > 1 ? { choices } : {}),
  };
}
