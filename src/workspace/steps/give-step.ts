import { checkEvidenceSafety } from "../../gate/evidence.js";
import { exampleEvidence, requiredFormat } from "../../gate/format.js";
import { judge } from "../../gate/judge.js";
import type { Problem } from "../../gate/verdict.js";
import { formatDiagnostic, hasErrors } from "../../workflow/diagnostic.js";
import { readGateObject } from "../../workflow/files/choose-gate.js";
import { isJsonObject, type JsonObject } from "../../workflow/json.js";
import { ObjectReader } from "../../workflow/object-reader.js";
import { createReport } from "../../workflow/report.js";
import type { FieldGate } from "../../workflow/structure.js";
import { refuseMisspelt, splitFrontMatter } from "../../workflow/yaml.js";
import type { Connection } from "../connection.js";
import { definitionInvalid } from "../preload/load-workflow.js";
import { folderOf, inFolder, readWhole } from "../preload/parts.js";
import type { OpenedSkill, SkillPlaces } from "../preload/skills.js";
import { entryOf, firstSteps, type StepEntry, stepsAfter } from "./step-index.js";
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

/** A step's file, read. */
interface ReadStep {
  readonly text: string;
  /** What must be shown before the next step is given. */
  readonly gate?: FieldGate;
  /** What its front matter says that follows. */
  readonly nextStepFile?: string;
}

/**
 * Reads a step's front matter. Its `gate:` is what a gate file holds. Throws `DEFINITION_INVALID` where a gate may be meant
 * and can't be read, and for one that asks for verifiers or a person: a gate never opens because nobody understood it.
 */
export async function readStep(skill: string, file: string, text: string): Promise<ReadStep> {
  const report = createReport();
  const { source, body } = await splitFrontMatter(file, text, report);
  if (source === undefined) {
    const front = text.slice(0, text.length - body.trimStart().length);
    if (hasErrors(report.sorted()) && /^[^\S\r\n\u2028\u2029]*["']?gates?\b/im.test(front))
      throw definitionInvalid(skill, lines(report));
    return { text };
  }
  if (!isJsonObject(source.value)) return { text };
  const reader = new ObjectReader(source, source.value, [], report);
  // `date` is as near to `gate` as a slip of the finger, and a word of its own.
  const { date, ...entries } = source.value;
  refuseMisspelt(entries, ["gate"], reader, report);
  const given = reader.object("gate");
  const gate = given === undefined ? undefined : await readGateObject(given, report);
  if (hasErrors(report.sorted())) throw definitionInvalid(skill, lines(report));
  if (gate !== undefined) refuseUnrun(skill, file, gate);
  return { text, ...(gate === undefined ? {} : { gate }), ...next(entries) };
}

function next({ nextStepFile }: JsonObject): { readonly nextStepFile?: string } {
  return typeof nextStepFile === "string" ? { nextStepFile } : {};
}

function refuseUnrun(skill: string, file: string, { verify, approval }: FieldGate): void {
  if (verify === undefined && approval === undefined) return;
  const what = verify === undefined ? "a person's approval" : "verifiers";
  throw definitionInvalid(skill, [`${file}: error: the gate asks for ${what}, which no step of a skill can have`]);
}

function lines(report: ReturnType<typeof createReport>): string[] {
  return report
    .sorted()
    .filter(({ severity }) => severity === "error")
    .map(formatDiagnostic);
}

/** What one connection was given. */
interface ConnectionMemory {
  /** The revision of each file that was given, by its path. */
  readonly given: Map<string, string>;
  /** The step of each skill that was given last, as long as there is no session. */
  readonly steps: Map<string, string>;
  /** How often a step's gate was not passed, by skill and step: a new session is no way to guess on. */
  readonly failures: Map<string, number>;
  /** Does one thing after the other: two calls at once must not both leave the same step. */
  inTurn<T>(step: () => Promise<T>): Promise<T>;
}

const memories = new WeakMap<Connection, ConnectionMemory>();

/** The memory of a connection, for as long as there is the connection. */
export function memoryOf(connection: Connection): ConnectionMemory {
  const known = memories.get(connection) ?? newMemory();
  memories.set(connection, known);
  return known;
}

/**
 * The step of a skill that the connection's session was given last; undefined before the first. It stands in the manifest:
 * whoever goes on with a session goes on with its step.
 */
export async function stepAt(connection: Connection, skill: string): Promise<string | undefined> {
  const { sessionId, sessions } = connection;
  if (sessionId === undefined) return memoryOf(connection).steps.get(skill);
  const { steps = {} } = await sessions.manifest(sessionId);
  return Object.hasOwn(steps, skill) ? steps[skill] : undefined;
}

function newMemory(): ConnectionMemory {
  let last: Promise<unknown> = Promise.resolve();
  return {
    given: new Map(),
    steps: new Map(),
    failures: new Map(),
    inTurn(step) {
      const mine = last.then(step);
      // Whoever comes next is told of its own faults alone.
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}

/** A gate that was not passed: all that is wrong, and what is asked for. */
export interface StepRefusal {
  readonly problems: readonly Problem[];
  /** What the gate asks for, as JSON Schema. */
  readonly required: JsonObject;
  /** Evidence that it would take, as far as it tells. */
  readonly example?: JsonObject;
}

/** Where the evidence is handed in. */
interface StepFacts {
  readonly session: string;
  readonly skill: string;
  /** The step's place in the index, from 1. */
  readonly number: number;
  readonly attempt: number;
}

/** How large evidence may be: as much as an agent writes into one call. */
const EVIDENCE = { maxBytes: 1024 * 1024, maxDepth: 64 };

/**
 * Takes evidence to a step's gate: undefined if it passes. Throws `EVIDENCE_UNSAFE` and `EVIDENCE_TOO_LARGE` for what is no
 * plain, bounded JSON.
 */
export async function judgeStep(gate: FieldGate, given: unknown, facts: StepFacts): Promise<StepRefusal | undefined> {
  const { evidence } = checkEvidenceSafety(given ?? {}, EVIDENCE);
  const { session: id, skill, number, attempt } = facts;
  const surroundings = { session: { id, workflowType: skill, target: "", phase: number, attempt } };
  const { verdict } = await judge(gate, evidence, { surroundings: () => surroundings });
  if (verdict.passed) return undefined;
  return { problems: verdict.problems, ...asked(gate) };
}

/** What a gate asks for, as much of it as it shows. */
function asked(gate: FieldGate): Omit<StepRefusal, "problems"> {
  const example = exampleEvidence(gate);
  return { required: requiredFormat(gate), ...(example === undefined ? {} : { example }) };
}
