/** What is checked before a session starts: its options, by the schema that the workflow declares, and the rules. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { checkEvidenceSafety } from "../gate/evidence.js";
import { compileRules } from "../gate/judge.js";
import { type FullClock, turns } from "../ports/clock.js";
import {
  type CheckedOptions,
  checkBySchema,
  describeOptions,
  issueProblems,
  namingProblems,
  skipFault,
  unknownOptions,
} from "../rules/options.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import type { WorkflowDefinition, WorkflowStructure } from "../workflow/structure.js";
import { asJson } from "./artifacts.js";

/** The largest options, in bytes of JSON. */
const OPTIONS_MAX_BYTES = 64 * 1024;

/** Checks options by the rules of evidence; errors name them as options. */
export function checkOptions(options: unknown): JsonObject {
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
