/**
 * Gives the steps of a skill one by one, since a model that has all steps skips some. The entry file of this folder;
 * what is decided where:
 * - next-step.ts: which step may be next; a gate between two steps is never skipped; 12 failures of a gate close it; how a
 *   step and its gate are read, and what a connection remembers
 * - step-index.ts: which files are steps, in which order, and where a step leads
 */
import { PhasegateError } from "../../errors.js";
import { checkEvidenceSafety } from "../../gate/evidence.js";
import { requiredFormat, withoutExamples } from "../../gate/format.js";
import { evidenceForm } from "../../gate/forms.js";
import { type AttemptLimits, attemptsLeft, judge } from "../../gate/judge.js";
import type { Problem } from "../../gate/verdict.js";
import { formatDiagnostic, hasErrors } from "../../workflow/diagnostic.js";
import { anyObject, isMissing, readBy, spotIn } from "../../workflow/file-schema.js";
import { readStepGate } from "../../workflow/files/choose-gate.js";
import { isJsonObject, type JsonObject } from "../../workflow/json.js";
import { orNearest, shown } from "../../workflow/names.js";
import { createReport } from "../../workflow/report.js";
import type { FieldGate } from "../../workflow/structure.js";
import { refuseMisspelt, splitFrontMatter } from "../../workflow/yaml.js";
import { findWorkflow } from "../preload/find.js";
import { definitionInvalid } from "../preload/load-workflow.js";
import { folderOf, inFolder } from "../preload/loading.js";
import { type OpenedSkill, openSkill, unrenderedMarks } from "../preload/skills.js";
import { showLocation } from "../roots/paths.js";
import type { Connection } from "../session/keeper.js";
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
    const { file } = await findWorkflow(connection.roots, request.workflow);
    const opened = await openSkill(connection.roots, file);
    const skill = opened.at(-1) ?? opened[0];
    if (skill.index.length === 0) throw noSteps(skill);
    const at = await stepAt(connection, skill.name);
    const current = at === undefined ? undefined : entryOf(skill.index, at, ".");
    if (current === undefined) return begin(connection, skill, request.step);
    return leave(connection, skill, current, request);
  });
}

async function begin(connection: Connection, skill: OpenedSkill, wanted: string | undefined): Promise<NextStep> {
  const firsts = firstSteps(skill.index, skill.text);
  const entry = wanted === undefined && firsts.length > 1 ? undefined : chosen(firsts, wanted);
  return { status: "step", step: await giveStep(connection, skill, entry ?? refuseChoice(wanted, firsts)) };
}

async function leave(
  connection: Connection,
  skill: OpenedSkill,
  current: StepEntry,
  { evidence, step: wanted }: NextStepRequest,
): Promise<NextStep> {
  const { index } = skill;
  const left = await readEntry(connection, skill, current);
  const { follows, choices } = stepsAfter(index, current, left.text, left.nextStepFile);
  const gates = await gatesBefore(connection, skill, current, choices);
  const ends = follows === undefined && (wanted === undefined || wanted.trim().toLowerCase() === DONE);
  const target = ends ? undefined : (chosen([...choices, ...gates], wanted) ?? refuseChoice(wanted, choices));
  const gate =
    target === undefined ? undefined : gates.find((one) => stepsBetween(index, current, target).includes(one));
  if (target !== undefined && gate !== undefined && wanted !== undefined) throw notPast(target, gate);
  const refusal = left.gate === undefined ? undefined : await attempt(connection, skill, current, left.gate, evidence);
  if (refusal !== undefined) return { status: "refused", at: current.step, refusal };
  if (target === undefined) return { status: "done", after: current.step };
  return { status: "step", step: await giveStep(connection, skill, gate ?? target) };
}

/** Checks evidence against the gate of the current step, and counts failures. */
async function attempt(
  connection: Connection,
  skill: OpenedSkill,
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
  connection: Connection,
  skill: OpenedSkill,
  current: StepEntry,
  next: readonly StepEntry[],
): Promise<readonly StepEntry[]> {
  const between = [...new Set(next.flatMap((entry) => stepsBetween(skill.index, current, entry)))];
  const read = await Promise.all(between.map((entry) => readEntry(connection, skill, entry)));
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

/** A step of a skill. */
export interface GivenStep {
  /** The path of its file in the skill's folder, without `.md`: `steps/step-02-select-stack`. */
  readonly step: string;
  /** Its title, from the name of its file. */
  readonly title: string;
  /** Its position among all steps, from 1. */
  readonly number: number;
  /** The number of steps. */
  readonly of: number;
  /** Its file, as `read_file` accepts it. */
  readonly path: string;
  /** Its whole text. */
  readonly content: string;
  /** The requirements of its gate for the next step; missing without a gate. */
  readonly gate?: Omit<StepRefusal, "problems">;
  /** The next steps to choose from, if there are several; the first is the default, `done` if the skill may end. */
  readonly choices?: readonly string[];
  /** What is wrong with its text; missing if nothing is. */
  readonly warnings?: readonly string[];
}

/** The refusal of a step's gate. */
export interface StepRefusal {
  /** All problems of the evidence. */
  readonly problems: readonly Problem[];
  /** The evidence that the gate requires, as JSON Schema. */
  readonly required: JsonObject;
  /** Evidence of the required form; missing if the gate does not reveal it. */
  readonly example?: JsonObject;
}

/** The choice after the last step that ends the skill. */
export const DONE = "done";

/**
 * Returns the current step of a session, and gives the first one if there is none; undefined if there are several first
 * steps.
 */
export async function currentStep(connection: Connection, skill: OpenedSkill): Promise<GivenStep | undefined> {
  const { index, text } = skill;
  const at = await stepAt(connection, skill.name);
  const [only, ...more] = firstSteps(index, text);
  const entry = at === undefined ? (more.length === 0 ? only : undefined) : entryOf(index, at, ".");
  if (entry === undefined) return undefined;
  if (at === undefined) return giveStep(connection, skill, entry);
  return shownStep(skill, entry, await readEntry(connection, skill, entry));
}

/** Gives a step, and records that it is the current one. */
async function giveStep(connection: Connection, skill: OpenedSkill, entry: StepEntry): Promise<GivenStep> {
  const step = shownStep(skill, entry, await readEntry(connection, skill, entry));
  if (connection.sessionId === undefined) memoryOf(connection).steps.set(skill.name, entry.step);
  const { step: name, number, of } = step;
  await connection.record({ type: "step", workflow: skill.name, step: name, number, of });
  return step;
}

/** Reads a step's file. */
async function readEntry({ roots }: Connection, skill: OpenedSkill, { step }: StepEntry): Promise<ReadStep> {
  const location = inFolder(folderOf(skill.file), `${step}.md`);
  const { text } = await roots.read(location);
  return readStep(skill.name, showLocation(location), text);
}

function shownStep(skill: OpenedSkill, entry: StepEntry, { text, gate, nextStepFile }: ReadStep): GivenStep {
  const path = showLocation(inFolder(folderOf(skill.file), `${entry.step}.md`));
  const after = stepsAfter(skill.index, entry, text, nextStepFile);
  const steps = after.choices.map(({ step }) => step);
  const choices = after.follows === undefined && steps.length > 0 ? [DONE, ...steps] : steps;
  const warnings = unrenderedMarks(path, text);
  return {
    step: entry.step,
    title: entry.title,
    number: skill.index.indexOf(entry) + 1,
    of: skill.index.length,
    path,
    content: text,
    ...(gate === undefined ? {} : { gate: asked(gate) }),
    ...(choices.length > 1 ? { choices } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/** The state of a connection: what it was given so far. */
interface ConnectionMemory {
  /** The revision of each file that it has, by path. */
  readonly given: Map<string, string>;
  /** The last step of each skill, while there is no session. */
  readonly steps: Map<string, string>;
  /** Failures of gates by skill and step. They survive a new session, so that it is not a way to continue guessing. */
  readonly failures: Map<string, number>;
  /** Runs one task after the other: two concurrent calls must not both leave the same step. */
  inTurn<T>(task: () => Promise<T>): Promise<T>;
}

const memories = new WeakMap<Connection, ConnectionMemory>();

/** Returns the memory of a connection. It is released with the connection. */
export function memoryOf(connection: Connection): ConnectionMemory {
  const known = memories.get(connection) ?? newMemory();
  memories.set(connection, known);
  return known;
}

/**
 * Returns the last step of a skill in the connection's session; undefined before the first. It is read from the
 * manifest, so that a reopened session continues at its step.
 */
async function stepAt(connection: Connection, skill: string): Promise<string | undefined> {
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
    inTurn(task) {
      const mine = last.then(task);
      // The next task runs even if this one fails.
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}

/** The circumstances of an attempt, which rules can read. */
interface StepFacts {
  readonly session: string;
  readonly skill: string;
  /** The step's position in the index, from 1. */
  readonly number: number;
  readonly attempt: number;
}

/** Limits of evidence. */
const EVIDENCE = { maxBytes: 1024 * 1024, maxDepth: 64 };

/**
 * Checks evidence against a step's gate. Returns undefined if it passes. Throws `EVIDENCE_UNSAFE` and
 * `EVIDENCE_TOO_LARGE` for evidence that is not plain, bounded JSON.
 */
async function judgeStep(gate: FieldGate, given: unknown, facts: StepFacts): Promise<StepRefusal | undefined> {
  const { evidence } = checkEvidenceSafety(given ?? {}, EVIDENCE);
  const { session: id, skill, number, attempt } = facts;
  const surroundings = { session: { id, workflowType: skill, target: "", phase: number, attempt } };
  const { verdict } = await judge(gate, evidence, { surroundings: () => surroundings });
  if (verdict.passed) return undefined;
  return { problems: withoutExamples(verdict.problems), ...asked(gate) };
}

/** Returns what a gate requires, as far as it reveals it. */
function asked(gate: FieldGate): Omit<StepRefusal, "problems"> {
  const example = evidenceForm(gate);
  return { required: requiredFormat(gate), example };
}

/** A step as its file describes it. */
interface ReadStep {
  readonly text: string;
  /** The gate that must be passed before the next step is given. */
  readonly gate?: FieldGate;
  /** The next step according to its front matter. */
  readonly nextStepFile?: string;
}

/**
 * Reads a step's front matter. Its `gate:` has the content of a gate file. Throws `DEFINITION_INVALID` if a gate may be
 * meant but cannot be read, and if it requires verifiers or an approval: a gate that is not understood must not be
 * skipped.
 */
export async function readStep(skill: string, file: string, text: string): Promise<ReadStep> {
  const report = createReport();
  const { source, body } = await splitFrontMatter(file, text, report);
  if (source === undefined) {
    const front = text.slice(0, text.length - body.trimStart().length);
    if (hasErrors(report.sorted()) && /^[^\S\r\n\u2028\u2029]*["']?gates?\b/im.test(front)) {
      throw definitionInvalid(skill, errorLines(report));
    }
    return { text };
  }
  if (!isJsonObject(source.value)) return { text };
  const spot = spotIn(source, report);
  // `date` is one letter away from `gate`, but it is not a typo.
  const { date, ...entries } = source.value;
  refuseMisspelt(entries, ["gate"], spot);
  const given = isMissing(entries.gate) ? undefined : readBy(anyObject, entries.gate, spot.at("gate"));
  const gate = given === undefined ? undefined : await readStepGate(given, spot.at("gate"));
  if (hasErrors(report.sorted())) throw definitionInvalid(skill, errorLines(report));
  if (gate !== undefined) refuseUnrun(skill, file, gate);
  return { text, gate, ...next(entries) };
}

function next({ nextStepFile }: JsonObject): { readonly nextStepFile?: string } {
  return typeof nextStepFile === "string" ? { nextStepFile } : {};
}

/** Refuses the parts of a gate that steps do not support. */
function refuseUnrun(skill: string, file: string, { verify, approval }: FieldGate): void {
  if (verify === undefined && approval === undefined) return;
  const what = verify === undefined ? "an approval" : "verifiers";
  throw definitionInvalid(skill, [`${file}: error: the gate requires ${what}, which steps of skills do not support`]);
}

function errorLines(report: ReturnType<typeof createReport>): string[] {
  return report
    .sorted()
    .filter(({ severity }) => severity === "error")
    .map(formatDiagnostic);
}
