import type { SourcePosition } from "../../errors.js";
import { revisionOf } from "../json.js";
import { nearest, shown } from "../names.js";
import type { ObjectReader } from "../object-reader.js";
import { findPlaceholders, PLACEHOLDERS, type TemplateKind, USUAL_TEMPLATES } from "../placeholders.js";
import { linesOf } from "../positions.js";
import type { Report } from "../report.js";
import type { DynamicDefinition, PhaseDefinition } from "../structure.js";
import type { PhaseClaims } from "./metadata.js";
import { checkedPath, GATE_FILES, type WorkflowFiles } from "./workflow-files.js";

/** What counts where the metadata doesn't say. */
const PARSER = "spec_tasks_parser";
const SOURCE_PATH_KEY = "spec_path";

/** What may stand at the entry of the phases that a plan has: it describes, and asks for nothing. */
const DESCRIBING = ["phase_name", "purpose", "estimated_effort", "key_deliverables", "validation_criteria"];

/** How the phases of a plan are found and shown; undefined if there are none. */
export function readDynamic(
  metadata: ObjectReader,
  claims: PhaseClaims,
  reading: TemplateReading,
): DynamicDefinition | undefined {
  if (!claims.dynamic) {
    warnUnused(metadata, reading.report);
    return undefined;
  }
  for (const entry of claims.dynamicEntries) lookAtEntry(entry);
  const write = '"dynamic_config": {"source_path_key": "spec_path"}, say';
  const config = metadata.wanted("dynamic_config", metadata.object("dynamic_config"), write);
  const sourceType = config?.text("source_type");
  const templates = config?.object("templates");
  const place = (kind: "phase" | "task") => templates?.place(kind) ?? config?.place() ?? metadata.place("phases");
  const phase = readTemplate("phase", templates, place("phase"), reading);
  const task = readTemplate("task", templates, place("task"), reading);
  templates?.rest();
  const folders = [phase.path, task.path].map((path) => path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  for (const folder of new Set(folders)) refuseGate(folder, reading);
  return {
    parser: config?.text("parser") ?? sourceType ?? PARSER,
    sourcePathKey: config?.text("source_path_key") ?? SOURCE_PATH_KEY,
    templates: { phase: phase.path, task: task.path },
    templateRevisions: { phase: phase.revision, task: task.revision },
    enforceDependencies: config?.flag("enforce_dependencies") ?? false,
    tickCriteria: config?.flag("tick_criteria") ?? false,
    extra: config?.rest(),
  };
}

/** Where sessions begin if nothing says it: the first static phase, else the first of a plan. */
export function firstPhase(phases: readonly PhaseDefinition[], dynamic: DynamicDefinition | undefined) {
  return phases[0]?.number ?? (dynamic === undefined ? undefined : 1);
}

/** Whatever else stands there, evidence above all, is unknown: the gates of a plan's phases come from the plan. */
function lookAtEntry(entry: ObjectReader): void {
  for (const key of [...DESCRIBING, "phase_number", "tasks", "task_execution"]) entry.value(key);
  entry.rest();
}

/** A gate file beside the templates was meant for the phases of a plan, and would be read for none of them. */
function refuseGate(folder: string, { files, report }: TemplateReading): void {
  // Of these the one is a phase's, and the others are reported already.
  if (/^(?:phases\/\d+|phases|)$/.test(folder)) return;
  for (const file of GATE_FILES.map((name) => `${folder}/${name}`).filter(files.has)) {
    const message = "this gate file isn't read: the gates of a plan's phases come from the plan";
    report.error("GATE_FILE_MISNAMED", { file }, message, "Delete it; the plan's validation gates say what is asked.");
  }
}

/** Kept, since `"dynamic_phases": false` may switch it off for a while; else it was meant to count. */
function warnUnused(metadata: ObjectReader, report: Report): void {
  if (metadata.value("dynamic_config") === undefined || metadata.value("dynamic_phases") === false) return;
  const message = '"dynamic_config" counts for nothing: the workflow has no phases from a plan';
  report.warn("DYNAMIC_CONTRADICTS", metadata.place("dynamic_config"), message, 'Write "dynamic_phases": true.');
}

/** What templates are read from. */
interface TemplateReading {
  readonly files: WorkflowFiles;
  readonly report: Report;
}

/** Finds a template, and looks through it. `place` is where it is named, or should be. */
function readTemplate(
  kind: TemplateKind,
  templates: ObjectReader | undefined,
  place: SourcePosition,
  { files, report }: TemplateReading,
): { readonly path: string; readonly revision: string | undefined } {
  const given = templates?.text(kind);
  const paths =
    given === undefined || templates === undefined
      ? [USUAL_TEMPLATES[kind]]
      : checkedPath(given, templates, kind, report);
  const [path] = paths;
  if (path !== undefined && !files.has(path)) {
    const message = `the template of ${kind}s is missing: there is no ${shown(path)}`;
    const hint = `Write it, as a .md file, or name another one: "templates": {"${kind}": "${USUAL_TEMPLATES[kind]}"}.`;
    report.error("TEMPLATE_MISSING", place, message, hint);
  }
  const text = path === undefined ? undefined : files.text(path);
  if (path !== undefined && text !== undefined) warnUnknown(kind, path, text, report);
  return { path: path ?? USUAL_TEMPLATES[kind], revision: text === undefined ? undefined : revisionOf(text) };
}

/** A placeholder that nothing is put in the place of stays as it is, for an agent to wonder at. */
function warnUnknown(kind: TemplateKind, file: string, text: string, report: Report): void {
  const known = PLACEHOLDERS[kind];
  const at = linesOf(file, text);
  for (const { name, offset } of findPlaceholders(text).filter((found) => !known.includes(found.name))) {
    const meant = nearest(name, known);
    const hint =
      meant === undefined
        ? `Use one of ${known.join(", ")}; prose in brackets is told apart by small letters.`
        : `Did you mean [${meant}]?`;
    const message = `nothing is put in the place of ${shown(`[${name}]`)} in a template of ${kind}s`;
    report.warn("TEMPLATE_PLACEHOLDER_UNKNOWN", at(offset), message, hint);
  }
}
