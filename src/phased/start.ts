/**
 * Starts sessions. Everything that can fail is done before the first commit is written, so a failed start leaves nothing
 * behind: the checks of the target, of the options by the schema that the workflow declares, and of its rules. The id has
 * the time of the start, or a digest of the idempotency key, so that a repeated call finds the same session.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { checkEvidenceSafety } from "../gate/evidence.js";
import { compileRules } from "../gate/judge.js";
import type { Prepared } from "../log/log.js";
import { type KeyedRequest, keyedRequest } from "../log/machine.js";
import { type FullClock, turns } from "../ports/clock.js";
import type { SessionSummary } from "../ports/storage-adapter.js";
import {
  type CheckedOptions,
  checkBySchema,
  describeOptions,
  issueProblems,
  namingProblems,
  type Skips,
  skipFault,
  skipsWith,
  unknownOptions,
} from "../rules/options.js";
import type { Diagnostic } from "../workflow/diagnostic.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import {
  isWorkflowType,
  nearest,
  parseRelativePath,
  type SessionId,
  sessionIdFor,
  sessionIdPrefix,
  shown,
} from "../workflow/names.js";
import type { WorkflowDefinition, WorkflowStructure } from "../workflow/structure.js";
import { asJson } from "./artifacts.js";
import { fullAt, loadPlanned, sessionNow } from "./context.js";
import { readText } from "./documents.js";
import type { EngineContext, PhasedOutcome } from "./engine-context.js";
import { type SkippedPhase, skippedIn } from "./gate-answer.js";
import { listSessions } from "./lists.js";
import type { ResolvedOptions } from "./options.js";
import type { PhasedCommand } from "./pinned.js";
import { landing, tooManyActive } from "./state/commands.js";
import { requireFittingOptions, requireVerifiers } from "./verify/run-verifiers.js";
import { beginPhase, withBegun } from "./verify/snapshots.js";
import { type PhaseView, viewPhase } from "./views.js";

/** Starts a session. */
export interface StartRequest {
  /** The type of the workflow. */
  readonly workflowType: string;
  /**
   * The subject of the work: a path relative to the project root. It need not exist. Required, unless the workflow declares
   * that it has none: then the default is `.`, the project itself.
   */
  readonly target?: string;
  /**
   * Options that the workflow reads: its rules, its texts and its verifiers. Checked by the schema that it declares, and
   * stored with the session; at most 64 KiB of JSON. Default: none.
   */
  readonly options?: Readonly<Record<string, unknown>>;
  /** A repeated call with the same key returns the same session. */
  readonly idempotencyKey?: string;
}

/** A started session. */
export interface StartResult {
  /** The session's id, for all later calls. */
  readonly sessionId: SessionId;
  /** The type of its workflow. */
  readonly workflowType: string;
  /** The subject of the work: a path relative to the project root. */
  readonly target: string;
  /** The options of the session, with the defaults that the workflow declares. */
  readonly options: JsonObject;
  /**
   * The current phase: the first one that is not skipped, unless an earlier call has started the session. The last one if
   * all are skipped: the session is then completed.
   */
  readonly phase: PhaseView;
  /** The phases that the workflow's rules skipped at the start. None if missing. */
  readonly skipped?: readonly SkippedPhase[];
  /** Other sessions on the same workflow and target that are not completed, newest first. */
  readonly openSessions: readonly SessionSummary[];
  /** The plan that its phases come from, if they do. */
  readonly plan?: {
    /** Relative to the project root. */
    readonly path: string;
    /** The format of the plan: `praxis-os`, `spec-kit`, … */
    readonly dialect: string;
    /** The number that was added to the plan's own phase numbers, so that they follow the static phases. */
    readonly shift: number;
    /** Warnings about the plan; empty if an earlier call started the session. */
    readonly warnings: readonly Diagnostic[];
  };
  /** True if an earlier call with the same key started it. */
  readonly replayed: boolean;
}

/** Limits how many other sessions are listed. */
const OTHERS_MAX = 10;

/** Starts a session. */
export async function startSession(context: EngineContext, request: StartRequest): Promise<StartResult> {
  const { options } = context;
  const definition = await requireWorkflow(options, request.workflowType);
  const target = await checkTarget(options, request.target, definition.structure);
  const given = checkOptions(request.options ?? {});
  const key = request.idempotencyKey;
  const keyed = key === undefined ? undefined : keyedRequest(key, [definition.structure.type, target, given]);
  const settings = await acceptedOptions(definition, given);
  const { structure, warnings } = await planned(context, definition, target, settings, keyed);
  await requireVerifiers(structure, options);
  await requireFittingOptions(structure, settings, options);
  await requireRules(definition.structure, options.clock);
  const entry = await entryOf(structure, settings);
  const first = structure.phases[entry.position] ?? structure.phases.at(-1);
  if (first !== undefined) await readText(context, structure, target, first);
  await checkSessionLimit(context, structure.type, target, keyed);
  const others = await openSessionsOn(context, structure.type, target);
  const started = await appendStart(context, structure, { target, settings, entry }, keyed);
  if (!started.replayed) context.pinned.remember(started, structure, settings);
  const session = await sessionNow(context, started);
  const loaded = { session, structure: await context.pinned.structure(session) };
  const phase = await viewPhase(context, loaded, session.head.phase);
  const { sessionId, replayed } = started;
  const openSessions = others.filter((other) => other.sessionId !== sessionId).slice(0, OTHERS_MAX);
  const more = { ...skippedIn(started.events, loaded.structure), ...startedPlan(loaded.structure, warnings) };
  const current = { options: await context.pinned.options(sessionId), phase, openSessions, replayed, ...more };
  return { sessionId, workflowType: structure.type, target, ...current };
}

/** Returns the newest definition of a type. Throws `WORKFLOW_NOT_FOUND` with the most similar type. */
export async function requireWorkflow({ content }: ResolvedOptions, type: string): Promise<WorkflowDefinition> {
  const definition = isWorkflowType(type) ? await content.definition(type) : undefined;
  if (definition !== undefined) return definition;
  const types = (await content.list()).map((listing) => listing.type);
  const similar = nearest(String(type), types);
  throw new PhasegateError("WORKFLOW_NOT_FOUND", `there is no workflow of type ${shown(type)}`, {
    remedy: similar === undefined ? "List the workflows to see what there is." : `Did you mean '${similar}'?`,
    details: { workflowType: shown(type), ...(similar === undefined ? {} : { nearest: similar }) },
  });
}

/** The target of a session on a workflow that has none: the project itself. */
const NO_TARGET = ".";

async function checkTarget(
  options: ResolvedOptions,
  value: string | undefined,
  { type, target: kind }: WorkflowStructure,
): Promise<string> {
  if (value === undefined) {
    if (kind === "none") return NO_TARGET;
    throw new PhasegateError("INVALID_INPUT", `the target is missing: ${type} works on a file or folder`, {
      remedy: "Give the path of what the work is about, relative to the project, such as 'src/calculator.py'.",
      details: { field: "target", expected: "a relative path" },
    });
  }
  const target = parseRelativePath(value);
  await options.targets?.check(target);
  return target;
}

/** How a new session begins. */
interface Entry {
  /** The position of the phase that it enters, from 0; the number of phases if all are skipped. */
  readonly position: number;
  readonly skips: Skips | undefined;
}

async function entryOf(structure: WorkflowStructure, settings: JsonObject): Promise<Entry> {
  const position = structure.phases.findIndex(({ number }) => number === structure.startPhase);
  const isPlain = structure.phases.every(({ skipWhen }) => skipWhen === undefined);
  const skips = isPlain ? undefined : await skipsWith(structure, settings);
  return { position: landing(position, structure, skips), skips };
}

/** Returns the structure with the phases of the plan, if it has one. A repeated start does not read the plan again. */
async function planned(
  context: EngineContext,
  { structure }: WorkflowDefinition,
  target: string,
  settings: JsonObject,
  keyed: KeyedRequest | undefined,
): Promise<{ readonly structure: WorkflowStructure; readonly warnings: readonly Diagnostic[] }> {
  if (structure.dynamic === undefined) return { structure, warnings: [] };
  const earlier = keyed === undefined ? undefined : await context.kernel.find(keyedId(structure.type, target, keyed));
  if (earlier !== undefined) return { structure: await context.pinned.structure(earlier), warnings: [] };
  const { pinPlan } = await loadPlanned();
  return pinPlan(context, structure, structure.dynamic, target, settings);
}

/** The key replaces the time in the id, so that the same call finds the same session. */
function keyedId(type: string, target: string, keyed: KeyedRequest): SessionId {
  return sessionIdFor(type, target, `k${keyed.id.slice(0, 16)}`);
}

/** Refuses a new session above the limit. A repeated start is not a new session. */
async function checkSessionLimit(
  context: EngineContext,
  type: string,
  target: string,
  keyed: KeyedRequest | undefined,
): Promise<void> {
  const full = await fullAt(context);
  if (full === undefined) return;
  if (keyed !== undefined && (await context.kernel.find(keyedId(type, target, keyed))) !== undefined) return;
  throw tooManyActive(full);
}

/** Called before anything is written, so that a failing list fails the start. */
async function openSessionsOn(context: EngineContext, workflowType: string, target: string) {
  const idPrefix = sessionIdPrefix(workflowType, target);
  const status = ["active", "paused", "failed"] as const;
  return (await listSessions(context, { status, workflowType, target, idPrefix, limit: OTHERS_MAX + 1 })).items;
}

/** Appends the first commit of a session, under an unused id. */
async function appendStart(
  context: EngineContext,
  structure: WorkflowStructure,
  { target, settings, entry }: { readonly target: string; readonly settings: JsonObject; readonly entry: Entry },
  keyed: KeyedRequest | undefined,
): Promise<PhasedOutcome> {
  const { limits, clock } = context.options;
  const { position, skips } = entry;
  const command = { command: { type: "start", target, options: settings } as const, structure, limits, skips };
  const prepare = async (sessionId: SessionId) => {
    const owner = { sessionId, head: { workflowType: structure.type, target }, options: settings };
    return withBegun(command, await beginPhase(context, owner, structure, position));
  };
  if (keyed !== undefined) return startKeyed(context, keyedId(structure.type, target, keyed), prepare, keyed);
  const stamp = timeStamp(clock.now());
  for (let copy = 1; ; copy += 1) {
    const id = sessionIdFor(structure.type, target, `${stamp}${copySuffix(copy, clock)}`);
    try {
      const started = await context.kernel.execute(id, (current) =>
        current === undefined ? prepare(id) : { answer: "id in use" as const },
      );
      if (!("answer" in started)) return started;
    } catch (error) {
      // An unreadable session occupies its id too.
      if (!isPhasegateError(error, "CONFLICT") && !isPhasegateError(error, "TAMPERED")) throw error;
    }
  }
}

/** Throws `CONFLICT` if the session that the key has started was deleted. */
async function startKeyed(
  { kernel }: EngineContext,
  id: SessionId,
  prepare: (id: SessionId) => Promise<Prepared<PhasedCommand>>,
  keyed: KeyedRequest,
): Promise<PhasedOutcome> {
  try {
    const started = await kernel.execute(id, () => prepare(id), keyed);
    if (!started.replayed || (await kernel.find(id)) !== undefined) return started;
  } catch (error) {
    if (!isPhasegateError(error, "CONFLICT")) throw error;
  }
  throw new PhasegateError("CONFLICT", `the session that the key ${shown(keyed.key)} has started was deleted`, {
    remedy: "Start with a new idempotency key, or without one.",
    details: { sessionId: id },
  });
}

/** Formats a time as `YYYYMMDD_HHMMSS` in UTC. */
function timeStamp(now: number): string {
  const digits = new Date(now).toISOString().replace(/[^0-9]/g, "");
  return `${digits.slice(0, 8)}_${digits.slice(8, 14)}`;
}

/** Sessions that start in the same second get counted suffixes up to this number. */
const COUNTED_COPIES = 5;

/** Returns `_2`, `_3` …, then random suffixes when many sessions start in the same second. */
function copySuffix(copy: number, { random }: FullClock): string {
  if (copy === 1) return "";
  return copy <= COUNTED_COPIES ? `_${copy}` : `_${random().toString(36).slice(2, 8).padEnd(6, "0")}`;
}

function startedPlan({ plan }: WorkflowStructure, warnings: readonly Diagnostic[]): Pick<StartResult, "plan"> {
  if (plan === undefined) return {};
  const { path, dialect, shift } = plan;
  return { plan: { path, dialect, shift, warnings } };
}

const OPTIONS_MAX_BYTES = 64 * 1024;

/** Checks options by the rules of evidence; errors name them as options. */
function checkOptions(options: unknown): JsonObject {
  try {
    return checkEvidenceSafety(options, { maxBytes: OPTIONS_MAX_BYTES, maxDepth: 32 }, "options").evidence;
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    throw new PhasegateError("INVALID_INPUT", error.message, {
      remedy: `Give options as plain JSON, with a value in place of each placeholder, an object of at most ${OPTIONS_MAX_BYTES} bytes.`,
      details: { field: "options" },
      cause: error,
    });
  }
}

/**
 * Returns the options with their defaults, by the schema that the workflow declares. The path of a plan is an option that
 * the schema need not have. Throws `INVALID_INPUT` with everything that is wrong with them.
 */
async function acceptedOptions(definition: WorkflowDefinition, given: JsonObject): Promise<JsonObject> {
  const { optionsSchema, dynamic, type } = definition.structure;
  if (definition.options === undefined && optionsSchema === undefined) return given;
  const key = dynamic?.sourcePathKey;
  const isDeclared = (name: string) =>
    isJsonObject(optionsSchema?.properties) && Object.hasOwn(optionsSchema.properties, name);
  const isApart = ([name]: readonly [string, JsonValue]) => name === key && !isDeclared(name);
  const own = Object.fromEntries(Object.entries(given).filter((entry) => !isApart(entry)));
  const checked =
    definition.options === undefined
      ? await checkBySchema(optionsSchema ?? {}, own)
      : await checkInCode(definition.structure, definition.options, own);
  if (checked.ok) return { ...Object.fromEntries(Object.entries(given).filter(isApart)), ...checked.options };
  const known = Object.entries(describeOptions(optionsSchema ?? {})).map(([name, about]) => `${name} (${about})`);
  const remedy = known.length === 0 ? "Correct the options." : `It reads these options: ${known.join("; ")}.`;
  throw new PhasegateError("INVALID_INPUT", `${type} can't be started so: ${checked.problems.join("; ")}`, {
    remedy: remedy.length > REMEDY_MAX ? `${remedy.slice(0, REMEDY_MAX)}…` : remedy,
    details: { field: "options" },
  });
}

/** The longest list of options in an error, in characters. */
const REMEDY_MAX = 1500;

async function checkInCode(
  { type, optionsSchema = {} }: WorkflowStructure,
  schema: StandardSchemaV1,
  given: JsonObject,
): Promise<CheckedOptions> {
  const naming = namingProblems(optionsSchema, given);
  const result = await schema["~standard"].validate(given);
  if (result.issues) {
    // What is wrong with a name is said better above.
    const isOther = ({ path = [] }: StandardSchemaV1.Issue) => path.some((key) => Object.hasOwn(given, String(key)));
    const issues = naming.length === 0 ? result.issues : result.issues.filter(isOther);
    return { ok: false, problems: [...naming, ...issueProblems(issues)] };
  }
  // A schema in code may drop what it does not know.
  const unknown = unknownOptions(optionsSchema, given);
  if (unknown.length > 0) return { ok: false, problems: unknown };
  const options = asJson(result.value);
  if (isJsonObject(options)) return { ok: true, options };
  const problem = "the output of the options' schema is not a JSON object";
  throw new PhasegateError("DEFINITION_INVALID", `the workflow ${type} can't be used: ${problem}`, {
    remedy: "Let the schema give an object of plain JSON: no Date, Map, class or undefined in it.",
    details: { workflowType: type, diagnostics: [problem] },
  });
}

/** Structures whose rules can run. */
const runnable = new WeakSet<WorkflowStructure>();

/** How long rules are checked without yielding to other work, in milliseconds. */
const TURN_MS = 20;

/**
 * Throws `DEFINITION_INVALID` if a rule of a workflow can't run: nothing would pass such a gate. Files are checked when
 * they are read; a definition in code only here, since the language of rules is loaded on demand.
 */
export async function requireRules(structure: WorkflowStructure, clock: FullClock): Promise<void> {
  if (runnable.has(structure)) return;
  const diagnostics: string[] = [];
  const takeTurns = turns(clock, TURN_MS);
  for (const { number, skipWhen, gate } of structure.phases) {
    const fault = skipWhen === undefined ? undefined : await skipFault(skipWhen.cel, structure);
    if (fault !== undefined) diagnostics.push(`phase ${number}, skipWhen: ${fault.message}. ${fault.hint}`);
    const rules = await compileRules(gate);
    diagnostics.push(...(rules?.faults ?? []).map(({ message }) => `phase ${number}: ${message}`));
    await takeTurns();
  }
  const [first, ...others] = diagnostics;
  if (first !== undefined) {
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
    throw new PhasegateError("DEFINITION_INVALID", `${structure.type} can't be used: ${first}${more}`, {
      remedy: "Correct the rules: they are written in CEL.",
      details: { workflowType: structure.type, diagnostics },
    });
  }
  runnable.add(structure);
}
