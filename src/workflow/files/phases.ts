/**
 * Reads the phases of a workflow: their folders, texts, tasks and gates, and the templates for phases that come from a
 * plan. Gate files in places where no phase would use them are errors.
 */
import type { SourcePosition } from "../../errors.js";
import { type SkippingWorkflow, skipFault, skipPhrase } from "../../rules/options.js";
import { linesOf } from "../diagnostic.js";
import { revisionOf } from "../json.js";
import { readTitle } from "../markdown-facts.js";
import { meantOr, shown } from "../names.js";
import type { ObjectReader, Report } from "../object-reader.js";
import { findPlaceholders, PLACEHOLDERS, type TemplateKind, USUAL_TEMPLATES } from "../placeholders.js";
import type { DynamicDefinition, PhaseDefinition } from "../structure.js";
import { chooseGate } from "./choose-gate.js";
import { readVerify } from "./gate-fields.js";
import type { PhaseClaims } from "./metadata.js";
import { readTasks } from "./tasks.js";
import { checkedPath, GATE_FILES, isInLikelyPhase, type WorkflowFiles } from "./workflow-files.js";

/** The keys of a phase's entry that its gate depends on. */
const GATE_KEYS = ["required_evidence", "checkpoint"];

/** The files of a workflow, and its report. */
interface Reading {
  readonly files: WorkflowFiles;
  readonly report: Report;
  /** The phase that sessions begin with, as the metadata has it. */
  readonly startPhase?: number | undefined;
}

/** The same, with the options that rules can use. */
interface PhaseReading extends Reading {
  readonly workflow: Omit<SkippingWorkflow, "phases">;
}

/** Returns all phases in ascending order: those that the metadata lists, else one for each folder. */
export async function readPhases(claims: PhaseClaims, reading: PhaseReading): Promise<PhaseDefinition[]> {
  const folders = phaseFolders(reading.files);
  const seeds = claims.list?.flatMap(seedOf) ?? folders.map((number) => ({ number }));
  warnUnlisted(seeds, folders, claims, reading.report);
  const phases: PhaseDefinition[] = [];
  const numbers = seeds.map(({ number }) => number).sort((a, b) => a - b);
  for (const seed of seeds.sort((a, b) => a.number - b.number)) {
    const place = { file: `phases/${seed.number}` };
    await reading.report.spendRules(0, place);
    try {
      phases.push(await readPhase(seed, reading, { numbers, before: phases }));
    } catch (error) {
      reading.report.failed(place, error);
    }
  }
  reportTwice(seeds, reading.report);
  reportStrayGates(phases, reading);
  return phases;
}

/** The sources and settings for templates. */
interface TemplateReading {
  readonly files: WorkflowFiles;
  readonly report: Report;
}

/** Defaults for what the metadata doesn't say. */
const PARSER = "spec_tasks_parser";
const SOURCE_PATH_KEY = "spec_path";

/** Reads how the phases of a plan are found and rendered; undefined if the workflow has none. */
export function readDynamic(
  metadata: ObjectReader,
  claims: PhaseClaims,
  reading: TemplateReading,
): DynamicDefinition | undefined {
  if (!claims.dynamic) {
    warnUnused(metadata, reading.report);
    return undefined;
  }
  for (const entry of claims.dynamicEntries) checkDynamicEntry(entry);
  const write = '"dynamic_config": {"source_path_key": "spec_path"}, say';
  const config = metadata.wanted("dynamic_config", metadata.object("dynamic_config"), write);
  const sourceType = config?.text("source_type");
  const templates = config?.object("templates");
  const place = (kind: "phase" | "task") => templates?.place(kind) ?? config?.place() ?? metadata.place("phases");
  const phase = readTemplate("phase", templates, place("phase"), reading);
  const task = readTemplate("task", templates, place("task"), reading);
  templates?.rest();
  // The phases of the plan are not known yet, so `since` can name the start only.
  const gate = { phase: 1, phases: [1] };
  const verify = config === undefined ? [] : readVerify(config, reading.report, gate);
  const folders = [phase.path, task.path].map((path) => path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  for (const folder of new Set(folders)) refuseGate(folder, reading);
  return {
    parser: config?.text("parser") ?? sourceType ?? PARSER,
    sourcePathKey: config?.text("source_path_key") ?? SOURCE_PATH_KEY,
    templates: { phase: phase.path, task: task.path },
    templateRevisions: { phase: phase.revision, task: task.revision },
    enforceDependencies: config?.flag("enforce_dependencies") ?? false,
    tickCriteria: config?.flag("tick_criteria") ?? false,
    ...(verify.length === 0 ? {} : { verify }),
    extra: config?.rest(),
  };
}

/** Returns the default start phase: the first static phase, else the first phase of a plan. */
export function firstPhase(phases: readonly PhaseDefinition[], dynamic: DynamicDefinition | undefined) {
  return phases[0]?.number ?? (dynamic === undefined ? undefined : 1);
}

/** The folder of a phase. */
const NUMBERED = /^phases\/(0|[1-9]\d{0,8})\//;

/** Returns the numbers N of all folders `phases/N` that hold a file. */
function phaseFolders({ paths }: WorkflowFiles): number[] {
  const numbers = paths.map((path) => NUMBERED.exec(path)?.[1]).filter((found) => found !== undefined);
  return [...new Set(numbers)].map(Number).sort((a, b) => a - b);
}

/** A phase whose files are not read yet. */
interface PhaseSeed {
  readonly number: number;
  /** Its entry in the metadata. */
  readonly entry?: ObjectReader;
}

function seedOf(entry: ObjectReader): PhaseSeed[] {
  const number = entry.required("phase_number", entry.whole("phase_number"), '"phase_number": 1');
  return number === undefined ? [] : [{ number, entry }];
}

function warnUnlisted(
  seeds: readonly PhaseSeed[],
  folders: readonly number[],
  claims: PhaseClaims,
  report: Report,
): void {
  if (claims.list === undefined || seeds.length < claims.list.length) return;
  for (const number of folders.filter((folder) => !seeds.some((seed) => seed.number === folder))) {
    const hint = 'Add it to "phases" in metadata.json, or delete the folder.';
    const message = `no phase of the metadata has phases/${number}, so it is ignored`;
    report.warn("PHASE_UNLISTED", { file: `phases/${number}` }, message, hint);
  }
}

async function readPhase(
  { number, entry }: PhaseSeed,
  { files, report, workflow, startPhase }: PhaseReading,
  { numbers, before }: { readonly numbers: readonly number[]; readonly before: readonly PhaseDefinition[] },
): Promise<PhaseDefinition> {
  const file = phaseFile(number, entry, { files, report });
  const own = `phases/${number}`;
  const folders = [...new Set([own, file.slice(0, Math.max(0, file.lastIndexOf("/"))) || own])];
  const text = files.text(file);
  const tasks = readTasks(entry, { files, report, folders });
  const texts = [file, ...tasks.flatMap((task) => task.file ?? [])];
  const skipWhen = entry === undefined ? undefined : await readSkip(entry, workflow, report);
  return {
    number,
    name: entry?.text("phase_name") ?? readTitle(text ?? "") ?? untitled(number, file, report),
    file,
    purpose: entry?.text("purpose"),
    estimatedEffort: entry?.label("estimated_effort"),
    keyDeliverables: entry?.texts("key_deliverables"),
    validationCriteria: entry?.texts("validation_criteria"),
    ...(entry?.flag("skippable") === true ? { skippable: true } : {}),
    ...(skipWhen === undefined ? {} : { skipWhen }),
    tasks,
    gate: await chooseGate(number, entry, {
      ...{ files, report, folders, file, texts },
      place: { phase: number, phases: numbers, startPhase, before },
    }),
    ...(text === undefined ? {} : { textRevision: revisionOf(text) }),
    extra: entry?.rest(GATE_KEYS),
  };
}

const SKIP_HINT = 'Write a rule over the options: "skip_when": "!has(options.supporting_docs)", say.';

/** Reads `skip_when`, a rule, or `skip_condition`, which says the same in words. */
async function readSkip(
  entry: ObjectReader,
  workflow: Omit<SkippingWorkflow, "phases">,
  report: Report,
): Promise<PhaseDefinition["skipWhen"]> {
  const rule = entry.text("skip_when");
  const words = entry.text("skip_condition");
  const cel = rule ?? (words === undefined ? undefined : skipPhrase(words));
  if (cel === undefined) {
    if (words === undefined) return undefined;
    const message = `the phase is never skipped: the condition ${shown(words)} can't be read`;
    report.warn("RULE_INVALID", entry.place("skip_condition"), message, SKIP_HINT);
    return undefined;
  }
  const place = entry.place(rule === undefined ? "skip_condition" : "skip_when");
  if (!(await report.spendRules(1, place))) return undefined;
  const fault = await skipFault(cel, { ...workflow, phases: [] });
  if (fault !== undefined) report.error("RULE_INVALID", place, fault.message, fault.hint);
  return { cel, reason: words ?? `skip_when holds: ${cel}` };
}

function phaseFile(number: number, entry: ObjectReader | undefined, { files, report }: Reading): string {
  const usual = `phases/${number}/phase.md`;
  const given = entry?.text("phase_file");
  const paths = entry === undefined || given === undefined ? [usual] : checkedPath(given, entry, "phase_file", report);
  const [path] = paths;
  if (path !== undefined && !files.has(path)) {
    const place = given === undefined ? (entry?.place("phase_number") ?? { file: usual }) : entry?.place("phase_file");
    const hint = `Write the phase's text into ${usual}.`;
    report.error(
      "PHASE_FILE_MISSING",
      place ?? { file: usual },
      `phase ${number} has no text: there is no ${shown(path)}`,
      hint,
    );
  }
  return path ?? usual;
}

function untitled(number: number, file: string, report: Report): string {
  const hint = `Begin the file with '# Phase ${number}: ' and its name.`;
  report.warn("TITLE_MISSING", { file, line: 1 }, `phase ${number} has no name`, hint);
  return `Phase ${number}`;
}

function reportTwice(seeds: readonly PhaseSeed[], report: Report): void {
  for (const [index, { number, entry }] of seeds.entries()) {
    if (entry === undefined || seeds[index - 1]?.number !== number) continue;
    const hint = "Give each phase a number of its own.";
    report.error("PHASE_DUPLICATE", entry.place("phase_number"), `there are two phases ${number}`, hint);
  }
}

/** Reports gate files outside the folder of any phase. */
function reportStrayGates(phases: readonly PhaseDefinition[], { files, report }: Reading): void {
  const places = ["", "phases/"].filter((place) => !phases.some(({ file = "" }) => isIn(place, file)));
  const above = places.flatMap((place) => GATE_FILES.map((name) => `${place}${name}`)).filter(files.has);
  for (const file of [...above, ...files.paths.filter((path) => isInLikelyPhase(path) && !isOfPhase(path, phases))]) {
    const hint = `Move it into the folder of its phase, such as phases/${phases[0]?.number ?? 1}/.`;
    report.error(
      "GATE_FILE_MISNAMED",
      { file },
      "this gate file is not in the folder of a phase, so it isn't read",
      hint,
    );
  }
}

/** Checks whether a file is directly in a folder. `folder` ends with `/`. */
function isIn(folder: string, file: string): boolean {
  return folder !== "" && file.startsWith(folder) && !file.includes("/", folder.length);
}

/** Checks whether a path is in a folder `phases/N`, listed or not, or in the folder of a phase's text. */
function isOfPhase(path: string, phases: readonly PhaseDefinition[]): boolean {
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  return NUMBERED.test(path) || phases.some(({ file = "" }) => isIn(folder, file));
}

/**
 * Warns about `dynamic_config` in a workflow without dynamic phases, unless `"dynamic_phases": false` says that it is
 * switched off.
 */
function warnUnused(metadata: ObjectReader, report: Report): void {
  if (metadata.value("dynamic_config") === undefined || metadata.value("dynamic_phases") === false) return;
  const message = '"dynamic_config" is ignored: the workflow has no phases from a plan';
  report.warn("DYNAMIC_CONTRADICTS", metadata.place("dynamic_config"), message, 'Write "dynamic_phases": true.');
}

/** The keys of the entry for a plan's phases. They only describe. */
const DESCRIBING = ["phase_name", "purpose", "estimated_effort", "key_deliverables", "validation_criteria"];

/** Warns about all other keys of the entry for a plan's phases, such as evidence: their gates come from the plan. */
function checkDynamicEntry(entry: ObjectReader): void {
  for (const key of [...DESCRIBING, "phase_number", "tasks", "task_execution"]) entry.value(key);
  entry.rest();
}

/** Finds a template and checks its placeholders. `place` is the position for a missing template. */
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

/** Warns about unknown placeholders, which are left out of the text. */
function warnUnknown(kind: TemplateKind, file: string, text: string, report: Report): void {
  const known = PLACEHOLDERS[kind];
  const at = linesOf(file, text);
  for (const { name, whole, offset } of findPlaceholders(text).filter((found) => !known.includes(found.name))) {
    const otherwise = `Use one of ${known.join(", ")}; write prose in brackets in lower case.`;
    const hint = () => meantOr(name, known, otherwise, (near) => `[${near}]`);
    const message = `nothing fills ${shown(whole)} in a template of ${kind}s, so it is left out of the text`;
    report.warn("TEMPLATE_PLACEHOLDER_UNKNOWN", at(offset), message, hint);
  }
}

/** Reports gate files next to the templates: they would not be used for the phases of the plan. */
function refuseGate(folder: string, { files, report }: TemplateReading): void {
  // A gate file in `phases/N` belongs to a phase; one above was already reported.
  if (/^(?:phases\/\d+|phases|)$/.test(folder)) return;
  for (const file of GATE_FILES.map((name) => `${folder}/${name}`).filter(files.has)) {
    const message = "this gate file isn't read: the gates of a plan's phases come from the plan";
    report.error("GATE_FILE_MISNAMED", { file }, message, "Delete it; the plan's validation gates are used.");
  }
}
