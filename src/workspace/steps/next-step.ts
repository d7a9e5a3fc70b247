/**
 * Gives the steps of a skill one by one, since a model that has all steps skips some. The entry file of this folder;
 * what is decided where:
 * - next-step.ts: which step may be next; a gate between two steps is never skipped; 12 failures of a gate close it; how a
 *   step and its gate are read
 * - step-index.ts: which files are steps, in which order, and where a step leads
 */
import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import { checkEvidenceSafety } from "../../gate/evidence.js";
import { requiredFormat, withoutExamples } from "../../gate/format.js";
import { evidenceForm } from "../../gate/forms.js";
import { type AttemptLimits, attemptsLeft, judge } from "../../gate/judge.js";
import { formatDiagnostic, hasErrors } from "../../workflow/diagnostic.js";
import { anyObject, isMissing, readBy, spotIn } from "../../workflow/file-schema.js";
import { readStepGate } from "../../workflow/files/choose-gate.js";
import { isJsonObject, type JsonObject } from "../../workflow/json.js";
import { orNearest, shown } from "../../workflow/names.js";
import { createReport, type Report } from "../../workflow/report.js";
import type { FieldGate } from "../../workflow/structure.js";
import { refuseMisspelt, splitFrontMatter } from "../../workflow/yaml.js";
import { findWorkflow } from "../preload/find.js";
import { definitionInvalid } from "../preload/load-workflow.js";
import { folderOf, inFolder } from "../preload/loading.js";
import { type OpenedSkill, openSkill } from "../preload/skills.js";
import { unrenderedMarks } from "../preload/tags.js";
import { showLocation } from "../roots/paths.js";
import type { Connection } from "../session/connection.js";
import { defineTool, type ToolSuccess } from "../tools/tool.js";
import { entryOf, firstSteps, type StepEntry, stepsAfter, stepsBetween } from "./step-index.js";

/** After this many failures of a gate a person must help. Passing resets the count: in a row is in total here. */
const LIMITS: AttemptLimits = { maxAttempts: 12, maxAttemptsTotal: 12 };
const EVIDENCE = { maxBytes: 1024 * 1024, maxDepth: 64 };

/** The answer of `next_step`: the next step of a skill, if there is one. */
export interface StepAnswered extends ToolSuccess, Partial<GivenStep> {
  /** True if there is no further step. */
  readonly done: boolean;
  /** Instructions for the model. */
  readonly message: string;
}

const input = z.strictObject({
  workflow: z.string().describe("The skill, as preload_workflow was called"),
  evidence: z.record(z.string(), z.unknown()).optional().describe("What the gate of the current step asks for"),
  step: z.string().optional().describe("Which one, where there are several to choose from"),
});

export const nextStepTool = defineTool({
  name: "next_step",
  title: "Next step",
  description:
    "Gives the next step of a skill, once the current one is done. If that one has a gate, submit the evidence it asks for.",
  readOnly: false,
  input,
  run: nextStep,
});

type NextStepRequest = z.output<typeof input>;

/**
 * Throws `WORKFLOW_NOT_FOUND`, `INVALID_INPUT` for a skill without steps, for a step that cannot be next and for a gate
 * that is not passed, `DEFINITION_INVALID`, `ATTEMPTS_EXHAUSTED`, `EVIDENCE_UNSAFE` and `EVIDENCE_TOO_LARGE`.
 */
function nextStep(request: NextStepRequest, connection: Connection): Promise<StepAnswered> {
  return connection.inTurn(async () => {
    const { file } = await findWorkflow(connection.roots, request.workflow);
    const opened = await openSkill(connection.roots, file);
    const skill = opened.at(-1) ?? opened[0];
    if (skill.index.length === 0) {
      throw new PhasegateError("INVALID_INPUT", `${shown(skill.name)} has no steps in separate files`, {
        remedy: "Follow its text, which preload_workflow returns completely.",
        details: { field: "workflow", expected: "a skill with step files" },
      });
    }
    const at = await stepAt(connection, skill.name);
    const current = at === undefined ? undefined : entryOf(skill.index, at, ".");
    const next =
      current === undefined ? firstStep(skill, request.step) : await stepAfter(connection, skill, current, request);
    if (next === undefined) {
      return { success: true, done: true, message: `${current?.step} was the last step: the workflow is done.` };
    }
    const step = await giveStep(connection, skill, next);
    return { success: true, done: false, ...step, message: messageFor(step) };
  });
}

function messageFor({ number, of, gate, choices }: GivenStep): string {
  const evidence = gate === undefined ? "" : " with the evidence that its gate asks for";
  const [first = "", ...others] = choices ?? [];
  const back = ` It ends the skill; to go back, give ${others.join(" or ")} as step.`;
  const on = ` It may lead to ${choices?.join(" or ")}: give one as step.`;
  const choice = choices === undefined ? "" : first === DONE ? back : on;
  return `Step ${number} of ${of}. Do it whole, then call next_step${evidence}.${choice}`;
}

function firstStep(skill: OpenedSkill, wanted: string | undefined): StepEntry {
  const firsts = firstSteps(skill.index, skill.text);
  const entry = wanted === undefined && firsts.length > 1 ? undefined : chosen(firsts, wanted);
  return entry ?? refuseChoice(wanted, firsts);
}

/** Returns the step after the current one, whose gate must be passed; undefined at the end. */
async function stepAfter(
  connection: Connection,
  skill: OpenedSkill,
  current: StepEntry,
  { evidence, step: wanted }: NextStepRequest,
): Promise<StepEntry | undefined> {
  const { index } = skill;
  const left = await readEntry(connection, skill, current);
  const { follows, choices } = stepsAfter(index, current, left.text, left.nextStepFile);
  // Steps with gates between this one and those that it leads to can't be skipped.
  const between = [...new Set(choices.flatMap((entry) => stepsBetween(index, current, entry)))];
  const read = await Promise.all(between.map((entry) => readEntry(connection, skill, entry)));
  const gates = between.filter((_, at) => read[at]?.gate !== undefined);
  const ends = follows === undefined && (wanted === undefined || wanted.trim().toLowerCase() === DONE);
  const target = ends ? undefined : (chosen([...choices, ...gates], wanted) ?? refuseChoice(wanted, choices));
  const gate = target && gates.find((one) => stepsBetween(index, current, target).includes(one));
  if (target !== undefined && gate !== undefined && wanted !== undefined) {
    const message = `${target.step} can't be the next step: ${gate.step} before it has a gate`;
    throw new PhasegateError("INVALID_INPUT", message, {
      remedy: `Do ${gate.step} first: call next_step with it as step.`,
      details: { field: "step", expected: gate.step },
    });
  }
  if (left.gate !== undefined) await passGate(connection, skill, current, left.gate, evidence);
  return gate ?? target;
}

/** Counts failures. Throws unless the gate is passed, after too many failures, and for evidence that is unsafe. */
async function passGate(
  { failures, sessionId = "" }: Connection,
  skill: OpenedSkill,
  current: StepEntry,
  gate: FieldGate,
  given: unknown,
): Promise<void> {
  const key = `${skill.name}\n${current.step}`;
  const phase = skill.index.indexOf(current) + 1;
  const before = failures.get(key) ?? 0;
  if (attemptsLeft({ inARow: before, inTotal: before }, LIMITS) === 0) {
    throw new PhasegateError("ATTEMPTS_EXHAUSTED", `the gate of ${current.step} failed ${before} times`, {
      remedy: "Stop guessing. Ask the user for what the gate requires.",
      details: { phase, attempts: before, limit: LIMITS.maxAttemptsTotal },
    });
  }
  const { evidence } = checkEvidenceSafety(given ?? {}, EVIDENCE);
  const session = { id: sessionId, workflowType: skill.name, target: "", phase, attempt: before + 1 };
  const { verdict } = await judge(gate, evidence, { surroundings: () => ({ session }) });
  failures.set(key, verdict.passed ? 0 : before + 1);
  if (verdict.passed) return;
  const found = withoutExamples(verdict.problems).map(({ message }) => message);
  const example = evidenceForm(gate);
  const such = example === undefined ? "" : ` such as ${JSON.stringify(example)}`;
  throw new PhasegateError("INVALID_INPUT", `the gate of ${current.step} is not passed: ${found.join("; ")}`, {
    remedy: `Do what is missing, then call next_step with evidence${such}.`,
    details: { field: "evidence" },
  });
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
  readonly gate?: StepGate;
  /** The next steps to choose from, if there are several; the first is the default, `done` if the skill may end. */
  readonly choices?: readonly string[];
  /** What is wrong with its text; missing if nothing is. */
  readonly warnings?: readonly string[];
}

/** What a step's gate requires. */
export interface StepGate {
  /** The evidence that the gate requires, as JSON Schema. */
  readonly required: JsonObject;
  /** Evidence of the required form; missing if the gate does not reveal it. */
  readonly example?: JsonObject;
}

/** The choice after the last step that ends the skill. */
const DONE = "done";

/** Gives the first step if there is no current one; undefined if there are several first steps. */
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
  if (connection.sessionId === undefined) connection.steps.set(skill.name, entry.step);
  const { step: name, number, of } = step;
  await connection.record({ type: "step", workflow: skill.name, step: name, number, of });
  return step;
}

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
    gate: gate && { required: requiredFormat(gate), example: evidenceForm(gate) },
    choices: choices.length > 1 ? choices : undefined,
    warnings: warnings.length > 0 ? warnings : undefined,
  };
}

/** Reads the manifest, so that a reopened session continues at its step. */
async function stepAt(connection: Connection, skill: string): Promise<string | undefined> {
  const { sessionId, sessions } = connection;
  if (sessionId === undefined) return connection.steps.get(skill);
  const { steps = {} } = await sessions.manifest(sessionId);
  return Object.hasOwn(steps, skill) ? steps[skill] : undefined;
}

interface ReadStep {
  readonly text: string;
  /** The gate that must be passed before the next step is given. */
  readonly gate?: FieldGate;
  /** The next step according to its front matter. */
  readonly nextStepFile?: string;
}

/** Throws `DEFINITION_INVALID` for a gate that can't be read or run: it must not be skipped. */
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
  return { text, gate, nextStepFile: typeof entries.nextStepFile === "string" ? entries.nextStepFile : undefined };
}

function refuseUnrun(skill: string, file: string, { verify, approval }: FieldGate): void {
  if (verify === undefined && approval === undefined) return;
  const what = verify === undefined ? "an approval" : "verifiers";
  throw definitionInvalid(skill, [`${file}: error: the gate requires ${what}, which steps of skills do not support`]);
}

function errorLines(report: Report): string[] {
  return report
    .sorted()
    .filter(({ severity }) => severity === "error")
    .map(formatDiagnostic);
}
