import type { WorkflowStructure } from "../structure.js";
import type { ObjectReader } from "./object-reader.js";
import type { Report } from "./report.js";

/** What metadata.json says of a workflow as a whole. */
export type WorkflowFacts = Omit<WorkflowStructure, "revision" | "startPhase" | "phases" | "extra">;

/** What it says of how many phases there are. */
export interface PhaseClaims {
  /** The numbers that are given, with their keys. */
  readonly counts: readonly (readonly [key: "phases" | "total_phases", count: number])[];
  /** One entry for each phase, where they are listed. */
  readonly list: readonly ObjectReader[] | undefined;
  /** Whether phases come from a plan. */
  readonly dynamic: boolean;
}

/** Reads the keys that describe the workflow. */
export function readFacts(metadata: ObjectReader, type: string, report: Report): WorkflowFacts {
  const text = (key: string) => metadata.text(key);
  checkType(metadata, type, report);
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
  };
}

const DURATION = '"estimated_duration": "1-2 hours", say';

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

/** Reads what is said of the phases: a list, a number, or that they come from a plan. */
export function readClaims(metadata: ObjectReader, report: Report): PhaseClaims {
  const dynamicFlag = metadata.flag("dynamic_phases") ?? false;
  if (dynamicFlag) refuseDynamic(metadata, "dynamic_phases", report);
  const dynamicTotal = metadata.value("total_phases") === "dynamic";
  if (dynamicTotal) refuseDynamic(metadata, "total_phases", report);
  const list = Array.isArray(metadata.value("phases")) ? metadata.objects("phases") : undefined;
  const total = dynamicTotal ? undefined : countOf(metadata, "total_phases");
  const phases = list === undefined ? countOf(metadata, "phases") : undefined;
  if (metadata.value("phases") === undefined && metadata.value("total_phases") === undefined && !dynamicFlag) {
    const hint = 'Write "phases": and a list of phases, or how many folders there are below phases/.';
    report.error("KEY_MISSING", metadata.place(), 'the key "phases" is missing', hint);
  }
  const counts = [["phases", phases] as const, ["total_phases", total] as const].flatMap(([key, count]) =>
    count === undefined ? [] : [[key, count] as const],
  );
  return { counts, list, dynamic: dynamicFlag || dynamicTotal };
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

/** Reports phases that come from a plan. */
export function refuseDynamic(reader: ObjectReader, key: string, report: Report): void {
  const hint = "List the phases in metadata.json, each with its folder below phases/.";
  report.error("DYNAMIC_UNSUPPORTED", reader.place(key), "this version can't run phases from a plan yet", hint);
}
