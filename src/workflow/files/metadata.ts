/** Reads metadata.json: the keys that describe the workflow, the options that it reads, and how many phases it has. */
import { schemaFaults } from "../../rules/schema-faults.js";
import type { JsonObject } from "../json.js";
import { shown } from "../names.js";
import type { ObjectReader, Report } from "../object-reader.js";
import type { PhaseDefinition, WorkflowStructure } from "../structure.js";

/** The number of phases by the metadata. */
export interface PhaseClaims {
  /** The numbers given, with their keys. */
  readonly counts: readonly (readonly [key: "phases" | "total_phases", count: number])[];
  /** One entry for each phase with its own number, if phases are listed. */
  readonly list: readonly ObjectReader[] | undefined;
  /** The entries for all phases of a plan: usually one. */
  readonly dynamicEntries: readonly ObjectReader[];
  /** True if phases come from a plan. */
  readonly dynamic: boolean;
}

/** The description of a workflow in metadata.json. */
type WorkflowFacts = Omit<
  WorkflowStructure,
  "revision" | "startPhase" | "phases" | "dynamic" | "plan" | "optionsSchema" | "extra"
>;

const DURATION = '"estimated_duration": "1-2 hours", say';

/** Reads the keys that describe the workflow. */
export function readFacts(metadata: ObjectReader, type: string, report: Report): WorkflowFacts {
  const text = (key: string) => metadata.text(key);
  checkType(metadata, type, report);
  // For editors.
  metadata.text("$schema");
  return {
    type,
    version: metadata.wanted("version", metadata.label("version"), '"version": "1.0.0"') ?? "",
    name: metadata.required("name", text("name"), '"name": and what people call the workflow') ?? "",
    description: metadata.required("description", text("description"), '"description": and what it is for') ?? "",
    category: metadata.wanted("category", text("category"), '"category": "documentation", say'),
    estimatedDuration: metadata.wanted("estimated_duration", metadata.label("estimated_duration"), DURATION),
    targetLanguages: metadata.texts("target_languages"),
    artifacts: metadata.texts("artifacts"),
    prerequisites: metadata.texts("prerequisites"),
    tags: metadata.texts("tags"),
    // Other values may be meant for other programs: they stay unknown keys.
    target: metadata.hasText("target", "none") ? "none" : undefined,
  };
}

/** Reads `options_schema`: the JSON Schema of the options that a session can be started with. */
export async function readOptionsSchema(metadata: ObjectReader, report: Report): Promise<JsonObject | undefined> {
  const schema = metadata.fields("options_schema");
  if (schema === undefined) return undefined;
  const faults = await schemaFaults(schema);
  for (const { path, message, hint } of faults) {
    report.error("VALUE_WRONG", metadata.place("options_schema", ...path), message, hint);
  }
  return faults.length > 0 ? undefined : schema;
}

/** Reads the phases: a list, a number, or a note that they come from a plan. */
export function readPhaseClaims(metadata: ObjectReader, report: Report): PhaseClaims {
  const flag = metadata.flag("dynamic_phases");
  const dynamicTotal = metadata.value("total_phases") === "dynamic";
  const entries = Array.isArray(metadata.value("phases")) ? metadata.objects("phases") : undefined;
  const dynamicEntries = entries?.filter(isDynamic) ?? [];
  const dynamic = flag === true || dynamicTotal || dynamicEntries.length > 0;
  const total = dynamicTotal ? undefined : countOf(metadata, "total_phases");
  const phases = entries === undefined ? countOf(metadata, "phases") : undefined;
  if (metadata.value("phases") === undefined && metadata.value("total_phases") === undefined && flag !== true) {
    const hint = 'Write "phases": and a list of phases, or how many folders there are below phases/.';
    report.error("KEY_MISSING", metadata.place(), 'the key "phases" is missing', hint);
  }
  if (flag === false && dynamic) {
    const place = dynamicEntries[0]?.place("phase_number") ?? metadata.place("total_phases");
    const hint = 'Write "dynamic_phases": true, or a number in its place.';
    report.error("DYNAMIC_CONTRADICTS", place, 'phases come from a plan, but "dynamic_phases" is false', hint);
  }
  if (dynamic && total !== undefined) {
    const message = `"total_phases" is ${total}, but the number of phases depends on the plan`;
    report.warn("DYNAMIC_CONTRADICTS", metadata.place("total_phases"), message, 'Write "total_phases": "dynamic".');
  }
  const counts = [["phases", phases] as const, ["total_phases", dynamic ? undefined : total] as const].flatMap(
    ([key, count]) => (count === undefined ? [] : [[key, count] as const]),
  );
  return { counts, list: entries?.filter((entry) => !isDynamic(entry)), dynamicEntries, dynamic };
}

/**
 * Compares the phases with the number in the metadata. A missing phase is an error, because its work and its gate would
 * be skipped. An extra phase is run like the others, so it is a warning.
 */
export function checkCounts(
  claims: PhaseClaims,
  phases: readonly PhaseDefinition[],
  metadata: ObjectReader,
  report: Report,
): void {
  if (phases.length === 0 && claims.counts.length === 0 && claims.dynamic) return;
  if (phases.length === 0) {
    const hint = "Write phases/1/phase.md, and add the phase to metadata.json.";
    report.error("PHASES_MISSING", metadata.place("phases"), "the workflow has no phase", hint);
    return;
  }
  // An entry that can't be read has its own diagnostic.
  if (claims.list !== undefined && phases.length < claims.list.length) return;
  for (const [key, count] of claims.counts) {
    const found = phases.length === 1 ? "is 1 phase" : `are ${phases.length} phases`;
    const message = `${shown(key)} is ${count}, but there ${found}`;
    const write = `"${key}": ${phases.length}`;
    if (count > phases.length) {
      const hint = `Add the missing phases (there ${phases.length === 1 ? "is" : "are"} ${numbersOf(phases)}), or write ${write}.`;
      report.error("PHASE_COUNT", metadata.place(key), message, hint);
    } else if (count < phases.length) {
      report.warn("PHASE_COUNT", metadata.place(key), message, `Write ${write}.`);
    }
  }
}

function checkType(metadata: ObjectReader, type: string, report: Report): void {
  const write = `"workflow_type": "${type}"`;
  const given = metadata.required("workflow_type", metadata.text("workflow_type"), write);
  if (given === undefined || given === type) return;
  const message = "workflow_type is not the name of the workflow's folder";
  report.error(
    "WORKFLOW_TYPE_DIFFERS",
    metadata.place("workflow_type"),
    message,
    `Write ${write}, or rename the folder.`,
  );
}

/** Checks whether an entry is for all phases of a plan: `"phase_number": "1-N"`. */
function isDynamic(entry: ObjectReader): boolean {
  const given = entry.value("phase_number");
  return typeof given === "string" && /^(?:dynamic|n|\d+\s*-\s*(?:n|\d+))$/i.test(given.trim());
}

function countOf(metadata: ObjectReader, key: "phases" | "total_phases"): number | undefined {
  const value = metadata.value(key);
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  const hint = "Write how many folders there are below phases/, as a number without quotes";
  if (key === "total_phases") metadata.wrong([key], value, "a number from 1 on", `${hint}.`);
  else metadata.wrong([key], value, "a list, or a number from 1 on", `${hint}, or a list of the phases.`);
  return undefined;
}

/** Maximum number of phases that a hint lists. */
const LISTED_MAX = 20;

function numbersOf(phases: readonly PhaseDefinition[]): string {
  const numbers = phases.slice(0, LISTED_MAX).map(({ number }) => number);
  return [...numbers, ...(phases.length > LISTED_MAX ? ["…"] : [])].join(", ");
}
