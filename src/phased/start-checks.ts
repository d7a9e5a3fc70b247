/**
 * What is checked before a session starts: its options, by the schema that the workflow declares; the rules; and that the
 * host can run the verifiers.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type AnyPhasegateError, isPhasegateError, PhasegateError } from "../errors.js";
import { checksOf } from "../gate/check-gate.js";
import { checkEvidenceSafety } from "../gate/evidence.js";
import { fillKnownOptions } from "../gate/fill-params.js";
import { ruleFaults } from "../gate/judge.js";
import { type FullClock, turns } from "../ports/clock.js";
import type { Verifier } from "../ports/verifier.js";
import {
  type CheckedOptions,
  checkBySchema,
  describeOptions,
  issueProblems,
  namingProblems,
  skipFault,
  unknownOptions,
} from "../rules/options.js";
import { aboutVerifier } from "../workflow/built-in-verifiers.js";
import { CHILD_CHECK, childWorkflowOf } from "../workflow/child-workflow.js";
import { type EarlierPhase, type GatePlace, sinceFault } from "../workflow/gate-definition.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { orNearest, shown } from "../workflow/names.js";
import { PhaseNames } from "../workflow/phase-names.js";
import { findOptions } from "../workflow/placeholders.js";
import type {
  PhaseDefinition,
  VerifyDefinition,
  WorkflowDefinition,
  WorkflowStructure,
} from "../workflow/structure.js";
import { asJson } from "./artifacts.js";
import type { ResolvedOptions } from "./options.js";
import { missingVerifiers, type VerifiedPhase, type Verifiers, verifierOf } from "./verify/run-verifiers.js";

/** The largest options, in bytes of JSON. */
const OPTIONS_MAX_BYTES = 64 * 1024;

/** Checks options by the rules of evidence; errors name them as options. */
export function checkStartOptions(options: unknown): JsonObject {
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
export async function acceptedOptions(definition: WorkflowDefinition, given: JsonObject): Promise<JsonObject> {
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

/** The workflows that phases are, by their types. */
export type Children = ReadonlyMap<string, Pick<WorkflowDefinition, "structure" | "schemas">>;

/** Returns the gates of a workflow, each with the place that says which phases its rules can read. */
export function placedGates(
  definition: Pick<WorkflowDefinition, "structure" | "schemas">,
  children: Children,
): readonly (PhaseDefinition & { readonly place: GatePlace })[] {
  const { phases, startPhase } = definition.structure;
  const common = { phases: new PhaseNames(phases), startPhase, before: earlierIn(definition, children) };
  return phases.map((phase) => ({ ...phase, place: { ...common, phase: phase.number } }));
}

/** Returns what rules can read of the phases of a workflow: of a phase that is another one, the phases of that. */
function earlierIn(
  { structure: { phases }, schemas }: Pick<WorkflowDefinition, "structure" | "schemas">,
  children: Children,
): readonly EarlierPhase[] {
  const names = new PhaseNames(phases);
  return phases.map(({ number, gate }) => {
    const type = childWorkflowOf(gate)?.type;
    const child = type === undefined ? undefined : children.get(type);
    // Phases that come from a plan are known once a session starts.
    const isKnown = child !== undefined && child.structure.dynamic === undefined;
    return {
      ...{ number, gate, schema: schemas.get(number), key: names.keysOf(number).at(-1) },
      child: isKnown ? earlierIn(child, new Map()) : undefined,
    };
  });
}

/** Structures whose rules can run. */
const runnable = new WeakSet<WorkflowStructure>();

/** How long rules and params are checked without yielding to other work, in milliseconds: a gate may have many. */
const TURN_MS = 20;

/**
 * Throws `DEFINITION_INVALID` if a rule of a workflow can't run: nothing would pass such a gate. Files are checked when
 * they are read; a definition in code only here, since the language of rules is loaded on demand.
 */
export async function requireRules(
  definition: Pick<WorkflowDefinition, "structure" | "schemas">,
  clock: FullClock,
  children: Children = new Map(),
): Promise<void> {
  const { structure } = definition;
  if (children.size === 0 && runnable.has(structure)) return;
  const diagnostics: string[] = [];
  const takeTurns = turns(clock, TURN_MS);
  for (const { number, skipWhen, gate, place } of placedGates(definition, children)) {
    const fault = skipWhen === undefined ? undefined : await skipFault(skipWhen.cel, structure);
    if (fault !== undefined) diagnostics.push(`phase ${number}, skipWhen: ${fault.message}. ${fault.hint}`);
    const faults = await ruleFaults(gate, place);
    diagnostics.push(...faults.map(({ message }) => `phase ${number}: ${message}`));
    await takeTurns();
  }
  refuseFaults(structure.type, "used", diagnostics, () => "Correct the rules: they are written in CEL.");
  runnable.add(structure);
}

/** Throws `DEFINITION_INVALID` if a definition has faults. */
function refuseFaults(type: string, what: string, diagnostics: readonly string[], remedy: () => string): void {
  const [first, ...others] = diagnostics;
  if (first === undefined) return;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  throw new PhasegateError("DEFINITION_INVALID", `${type} can't be ${what}: ${first}${more}`, {
    remedy: remedy(),
    details: { workflowType: type, diagnostics },
  });
}

/** A workflow with its gates. */
interface VerifiedWorkflow {
  readonly type: string;
  readonly phases: readonly VerifiedPhase[];
  /** The phase that sessions begin with; missing for a routed workflow, whose gates belong to steps. */
  readonly startPhase?: number;
}

/**
 * Throws `DEFINITION_INVALID` if a gate names a verifier that the host has not registered, or has params
 * that it can't run with: a session must not get stuck at such a gate, let alone pass it.
 */
export async function requireVerifiers(
  workflow: VerifiedWorkflow,
  { verifiers, clock }: Pick<ResolvedOptions, "verifiers" | "clock">,
): Promise<void> {
  const { type, phases, startPhase } = workflow;
  // A pinned check has the number of its phase.
  const numbers = new PhaseNames(startPhase === undefined ? [] : phases.map(({ number }) => ({ number, name: "" })));
  const diagnostics: string[] = [];
  const takeTurns = turns(clock, TURN_MS);
  for (const { number, gate } of phases) {
    for (const check of checksOf(gate)) {
      const isKnown = aboutVerifier(check.verifier)?.since === true || comparesWithSnapshot(check, verifiers);
      const since = sinceFault(check, { phase: number, phases: numbers, startPhase }, isKnown);
      const fault =
        since === undefined ? await faultOf(check, verifiers) : `${shown(check.verifier)}: ${since.message}`;
      if (fault !== undefined) diagnostics.push(`phase ${number}${inField(check)}: ${fault}`);
      await takeTurns();
    }
  }
  refuseFaults(type, "run by this host", diagnostics, () => {
    const missing = missingVerifiers({ phases }, verifiers);
    if (missing === undefined)
      return "Correct the params of the gate's `verify`, or let the host allow what they ask for.";
    return `The host must register ${missing.map(shown).join(", ")}: createEngine({ verifiers }), with createVerifiers() of phasegate/verify for the built-in ones (phasegate serve: --project).`;
  });
}

/**
 * Throws `INVALID_INPUT` if a check of a workflow can't run with the options that a session is started with, such as a
 * command that the host does not allow: the session would get stuck at that gate.
 */
export async function requireFittingOptions(
  { type, phases }: VerifiedWorkflow,
  settings: JsonObject,
  { verifiers, clock }: Pick<ResolvedOptions, "verifiers" | "clock">,
): Promise<void> {
  const takeTurns = turns(clock, TURN_MS);
  for (const { number, gate } of phases) {
    for (const check of checksOf(gate)) {
      const fault = await optionsFaultOf(check, settings, verifiers);
      if (fault === undefined) await takeTurns();
      if (fault === undefined) continue;
      const read = optionsIn(check.params);
      const named = read.length === 1 ? `the option ${shown(read[0])}` : `the options ${read.map(shown).join(", ")}`;
      throw new PhasegateError("INVALID_INPUT", `${type} can't be started with ${named}: ${fault}`, {
        remedy: `Phase ${number} needs it: give a value that is allowed, if one is right for this project. If none is, tell the person you work for what the host must allow, and end your turn: once it does, make the same call.`,
        details: { field: read.length === 1 ? `options.${read[0]}` : "options" },
      });
    }
  }
}

/** Returns why a check can't run with the options that its params read: in the words of what is wrong with their values. */
async function optionsFaultOf(
  { verifier: name, params }: VerifyDefinition,
  settings: JsonObject,
  verifiers: Verifiers,
) {
  // All others were checked as they are.
  if (optionsIn(params).length === 0) return undefined;
  const verifier = verifierOf(verifiers, name);
  const filled = () => fillKnownOptions(params, settings, { verbatim: verifier?.verbatim });
  return paramsFault(verifier, filled, (error) => {
    const reason = error.code === "INVALID_INPUT" ? error.details.expected : undefined;
    return reason ?? `${shown(name)}: ${error.message}`;
  });
}

/** Returns the names of the options that params read. */
function optionsIn(params: JsonObject): string[] {
  return [...new Set(findOptions(JSON.stringify(params)).map(({ name }) => name))];
}

/**
 * Returns why a verifier can't run with its params. Rejects with an error that is not of this library: its text is for the
 * host alone. A promise is waited for, since one that rejects would end the process.
 */
async function paramsFault(
  verifier: Verifier | undefined,
  params: () => JsonObject,
  words: (error: AnyPhasegateError) => string,
): Promise<string | undefined> {
  try {
    await verifier?.check?.(params());
    return undefined;
  } catch (error) {
    if (isPhasegateError(error)) return words(error);
    throw error;
  }
}

/** Returns why a host can't run a check: it lacks the verifier, or does not allow its params. Undefined if it can. */
export async function faultOf(
  { verifier: name, params }: VerifyDefinition,
  verifiers: Verifiers,
): Promise<string | undefined> {
  const verifier = verifierOf(verifiers, name);
  // The engine makes this check itself.
  if (name === CHILD_CHECK) return undefined;
  if (verifier === undefined) {
    return `the verifier ${shown(name)} is not registered${orNearest(name, Object.keys(verifiers), shown)}`;
  }
  return paramsFault(
    verifier,
    () => params,
    ({ message }) => `${shown(name)}: ${message}`,
  );
}

function comparesWithSnapshot({ verifier }: VerifyDefinition, verifiers: Verifiers): boolean {
  return verifierOf(verifiers, verifier)?.snapshot !== undefined;
}

function inField({ field }: VerifyDefinition): string {
  return field === undefined ? "" : `, ${shown(field)}`;
}
