/** Reads phases with their texts, tasks and gates, and the templates for a plan. A gate file elsewhere is an error. */
import type { SourcePosition } from "../../errors.js";
import { type SkippingWorkflow, skipFault, skipPhrase } from "../../rules/options.js";
import { linesOf } from "../diagnostic.js";
import { readBy, type Spot, unknownIn } from "../file-schema.js";
import type { GatePlace } from "../gate-definition.js";
import { revisionOf } from "../json.js";
import { readTitle } from "../markdown-facts.js";
import { meantOr, shown } from "../names.js";
import { PhaseNames } from "../phase-names.js";
import { findPlaceholders, PLACEHOLDERS, type TemplateKind, USUAL_TEMPLATES } from "../placeholders.js";
import type { Report } from "../report.js";
import type { DynamicDefinition, PhaseDefinition, TaskDefinition } from "../structure.js";
import { chooseGate, type GateFolders } from "./choose-gate.js";
import { folderOf } from "./documents.js";
import { checksOf } from "./gate-fields.js";
import {
  dynamicConfig,
  type Listed,
  labelOf,
  type Metadata,
  type PhaseClaims,
  phaseEntry,
  taskEntry,
} from "./metadata.js";
import { checkedPath, GATE_FILES, isInLikelyPhase, type WorkflowFiles } from "./workflow-files.js";

export interface Reading {
  readonly files: WorkflowFiles;
  readonly report: Report;
}

export interface PhaseReading extends Reading {
  /** The phase that sessions begin with, as the metadata has it: its number, or its name. */
  readonly startPhase?: number | string;
  /** The options that rules can use. */
  readonly workflow: Omit<SkippingWorkflow, "phases">;
}

/** Returns all phases in ascending order: those that the metadata lists, else one for each folder. */
export async function readPhases(claims: PhaseClaims, reading: PhaseReading): Promise<PhaseDefinition[]> {
  const folders = phaseFolders(reading.files);
  const seeds = claims.list?.flatMap(seedOf) ?? folders.map((number) => ({ number }));
  // An entry that can't be read may be that of a folder.
  if (claims.list?.length === seeds.length) warnUnlisted(seeds, folders, reading.report);
  seeds.sort((a, b) => a.number - b.number);
  // Names first: a gate can name any phase.
  const named = await eachOf(seeds, reading.report, async (seed) => nameOf(seed, reading));
  const names = new PhaseNames(named);
  const startPhase = startIn(names, reading.startPhase);
  const phases: PhaseDefinition[] = [];
  await eachOf(named, reading.report, async (phase) => {
    const place = { phase: phase.number, phases: names, startPhase, before: phases };
    phases.push(await readPhase(phase, reading, place));
  });
  reportTwice(seeds, reading.report);
  reportStrayGates(phases, reading);
  return phases;
}

/** Does something with each phase. One that can't be read is reported. */
async function eachOf<Phase extends { readonly number: number }, T>(
  phases: readonly Phase[],
  report: Report,
  read: (phase: Phase) => Promise<T>,
): Promise<T[]> {
  const found: T[] = [];
  for (const phase of phases) {
    const place = { file: `phases/${phase.number}` };
    await report.spendRules(0, place);
    try {
      found.push(await read(phase));
    } catch (error) {
      report.failed(place, error);
    }
  }
  return found;
}

/** Returns the number of the phase that sessions begin with, as far as it is given and there is such a phase. */
function startIn(names: PhaseNames, given: number | string | undefined): number | undefined {
  return typeof given === "string" ? names.find(given) : given;
}

/** Reads how the phases of a plan are found and rendered; undefined if the workflow has none. */
export function readDynamic(
  { written, spot }: Metadata,
  { dynamic }: PhaseClaims,
  reading: Reading,
): DynamicDefinition | undefined {
  const { dynamic_config: given, dynamic_phases: flagged } = written;
  const { report } = reading;
  if (!dynamic) {
    if (given === undefined || flagged === false) return undefined;
    const message = '"dynamic_config" is ignored: the workflow has no phases from a plan';
    report.warn("DYNAMIC_CONTRADICTS", spot.place("dynamic_config"), message, 'Write "dynamic_phases": true.');
    return undefined;
  }
  const hint = 'Write "dynamic_config": {"source_path_key": "spec_path"}, say.';
  if (given === undefined) report.warn("KEY_MISSING", spot.place(), 'the key "dynamic_config" is missing', hint);
  const at = spot.at("dynamic_config");
  const config = given === undefined ? undefined : readBy(dynamicConfig, given, at);
  const { templates } = config ?? {};
  // The place of a template that is not named is that of what could name it.
  const place = config === undefined ? spot.place("phases") : templates === undefined ? at.place() : undefined;
  const template = (kind: TemplateKind) =>
    readTemplate(kind, templates?.[kind], at.at("templates", kind), place, reading);
  const [phase, task] = [template("phase"), template("task")];
  // The phases of the plan are not known yet, so `since` can name the start only.
  const verify = checksOf(config?.verify, at.at("verify"), {
    phase: 1,
    phases: new PhaseNames([{ number: 1, name: "" }]),
  });
  for (const folder of new Set([folderOf(phase.path), folderOf(task.path)])) refuseGate(folder, reading);
  return {
    parser: config?.parser ?? config?.source_type ?? "spec_tasks_parser",
    sourcePathKey: config?.source_path_key ?? "spec_path",
    templates: { phase: phase.path, task: task.path },
    templateRevisions: { phase: phase.revision, task: task.revision },
    enforceDependencies: config?.enforce_dependencies ?? false,
    tickCriteria: config?.tick_criteria ?? false,
    verify: verify.length === 0 ? undefined : verify,
    extra: config && unknownIn(dynamicConfig, config),
  };
}

/** Returns the default start phase: the first static phase, else the first phase of a plan. */
export function firstPhase(phases: readonly PhaseDefinition[], dynamic: DynamicDefinition | undefined) {
  return phases[0]?.number ?? (dynamic === undefined ? undefined : 1);
}

type PhaseFolders = Pick<GateFolders, "files" | "report" | "folders">;

const NUMBERED = /^phases\/(0|[1-9]\d{0,8})\//;

/** Returns the numbers N of all folders `phases/N` that hold a file. */
function phaseFolders({ paths }: WorkflowFiles): number[] {
  const numbers = paths.map((path) => NUMBERED.exec(path)?.[1]).filter((found) => found !== undefined);
  return [...new Set(numbers)].map(Number).sort((a, b) => a - b);
}

interface PhaseSeed {
  readonly number: number;
  readonly listed?: Listed;
}

function seedOf(listed: Listed): PhaseSeed[] {
  const { phase_number: number } = listed.entry;
  return number === undefined ? [] : [{ number, listed }];
}

function warnUnlisted(seeds: readonly PhaseSeed[], folders: readonly number[], report: Report): void {
  for (const number of folders.filter((folder) => !seeds.some((seed) => seed.number === folder))) {
    const hint = 'Add it to "phases" in metadata.json, or delete the folder.';
    const message = `no phase of the metadata has phases/${number}, so it is ignored`;
    report.warn("PHASE_UNLISTED", { file: `phases/${number}` }, message, hint);
  }
}

/** A phase with its name, its folder and the path of its text. */
interface NamedSeed extends PhaseSeed {
  readonly name: string;
  readonly folder: string;
  readonly file: string;
}

function nameOf({ number, listed }: PhaseSeed, { files, report }: Reading): NamedSeed {
  const folder = `phases/${number}`;
  const file = phaseFile({ number, listed, folder }, { files, report });
  const name = listed?.entry.phase_name ?? readTitle(files.text(file) ?? "") ?? untitled(number, file, report);
  return { number, listed, name, folder, file };
}

export async function readPhase(
  { number, listed, name, folder: own, file }: NamedSeed,
  { files, report, workflow }: PhaseReading,
  place: GatePlace,
): Promise<PhaseDefinition> {
  const entry = listed?.entry;
  const folders = [...new Set([own, folderOf(file) || own])];
  const text = files.text(file);
  const tasks = readTasks(listed, { files, report, folders });
  const texts = [file, ...tasks.flatMap((task) => task.file ?? [])];
  return {
    number,
    name,
    file,
    purpose: entry?.purpose,
    estimatedEffort: labelOf(entry?.estimated_effort),
    keyDeliverables: entry?.key_deliverables,
    validationCriteria: entry?.validation_criteria,
    skippable: entry?.skippable || undefined,
    skipWhen: listed && (await readSkip(listed, workflow)),
    tasks,
    gate: await chooseGate(number, listed, { files, report, folders, file, texts, place }),
    textRevision: revision(text),
    extra: entry && unknownIn(phaseEntry, entry),
  };
}

const SKIP_HINT = 'Write a rule over the options: "skip_when": "!has(options.supporting_docs)", say.';

/** Reads `skip_when`, a rule, or `skip_condition`, which says the same in words. */
async function readSkip(
  { entry: { skip_when: rule, skip_condition: words }, spot: { report, place } }: Listed,
  workflow: Omit<SkippingWorkflow, "phases">,
): Promise<PhaseDefinition["skipWhen"]> {
  const cel = rule ?? (words === undefined ? undefined : skipPhrase(words));
  if (cel === undefined) {
    if (words === undefined) return undefined;
    const message = `the phase is never skipped: the condition ${shown(words)} can't be read`;
    report.warn("RULE_INVALID", place("skip_condition"), message, SKIP_HINT);
    return undefined;
  }
  const at = place(rule === undefined ? "skip_condition" : "skip_when");
  if (!(await report.spendRules(1, at))) return undefined;
  const fault = await skipFault(cel, { ...workflow, phases: [] });
  if (fault !== undefined) report.error("RULE_INVALID", at, fault.message, fault.hint);
  return { cel, reason: words ?? `skip_when holds: ${cel}` };
}

/** Returns the path of a phase's text. A missing one is reported. */
export function phaseFile(
  { number, listed, folder }: Pick<NamedSeed, "number" | "listed" | "folder">,
  { files, report }: Reading,
): string {
  const usual = `${folder}/phase.md`;
  const given = listed?.entry.phase_file;
  const [path] = listed && given !== undefined ? checkedPath(given, listed.spot.at("phase_file")) : [usual];
  if (path !== undefined && !files.has(path)) {
    const place = listed?.spot.place(given === undefined ? "phase_number" : "phase_file") ?? { file: usual };
    const message = `phase ${number} has no text: there is no ${shown(path)}`;
    report.error("PHASE_FILE_MISSING", place, message, `Write the phase's text into ${usual}.`);
  }
  return path ?? usual;
}

function untitled(number: number, file: string, report: Report): string {
  const hint = `Begin the file with '# Phase ${number}: ' and its name.`;
  report.warn("TITLE_MISSING", { file, line: 1 }, `phase ${number} has no name`, hint);
  return `Phase ${number}`;
}

function reportTwice(seeds: readonly PhaseSeed[], report: Report): void {
  for (const [index, { number, listed }] of seeds.entries()) {
    if (listed === undefined || seeds[index - 1]?.number !== number) continue;
    const hint = "Give each phase a number of its own.";
    report.error("PHASE_DUPLICATE", listed.spot.place("phase_number"), `there are two phases ${number}`, hint);
  }
}

function readTasks(phase: Listed | undefined, where: PhaseFolders): TaskDefinition[] {
  const found = taskFiles(where);
  const listed = phase?.entry.tasks;
  const tasks =
    phase === undefined || listed === undefined
      ? found.map((file) => foundTask(file, where))
      : listed.flatMap((task, index) =>
          task === undefined ? [] : listedTask(task, phase.spot.at("tasks", index), found, where),
        );
  if (listed !== undefined) warnUnlistedTasks(tasks, found, where.report);
  reportTaskTwice(tasks, where);
  return tasks.map(({ task }) => task).sort((a, b) => a.number - b.number);
}

type TaskEntry = NonNullable<NonNullable<Listed["entry"]["tasks"]>[number]>;

interface TaskFile {
  readonly number: number;
  readonly slug: string;
  readonly path: string;
}

/** Returns the files of a phase that are called `task-N-slug.md`. */
export function taskFiles({ files, folders }: Pick<PhaseFolders, "files" | "folders">): TaskFile[] {
  return files.paths.flatMap((path) => {
    const cut = path.lastIndexOf("/");
    if (!folders.includes(path.slice(0, cut))) return [];
    const [, number, slug = ""] = /^task-(\d{1,9})(?:-(.+))?\.md$/.exec(path.slice(cut + 1)) ?? [];
    return number === undefined ? [] : [{ number: Number(number), slug, path }];
  });
}

interface PlacedTask {
  readonly task: TaskDefinition;
  readonly place: SourcePosition;
}

function foundTask({ number, slug, path }: TaskFile, { files }: PhaseFolders): PlacedTask {
  const text = files.text(path);
  const name = readTitle(text ?? "") ?? (slug || `Task ${number}`);
  return { task: { number, name, file: path, textRevision: revision(text) }, place: { file: path } };
}

export function revision(text: string | undefined): string | undefined {
  return text === undefined ? undefined : revisionOf(text);
}

function listedTask(task: TaskEntry, spot: Spot, found: readonly TaskFile[], where: PhaseFolders): PlacedTask[] {
  const { task_number: number, name, purpose } = task;
  if (number === undefined) return [];
  const file = taskFile(task, number, spot, found, where);
  const text = file === undefined ? undefined : where.files.text(file);
  const title = name ?? readTitle(text ?? "") ?? `Task ${number}`;
  const extra = unknownIn(taskEntry, task);
  const definition = { number, name: title, purpose, file, textRevision: revision(text), extra };
  return [{ task: definition, place: spot.place("task_number") }];
}

function taskFile(
  { file: given }: TaskEntry,
  number: number,
  spot: Spot,
  found: readonly TaskFile[],
  where: PhaseFolders,
): string | undefined {
  const folder = where.folders[0] ?? "";
  const otherwise = `Put the task's text into ${folder}/, and the file's name under "file".`;
  if (given === undefined) {
    const file = found.find((candidate) => candidate.number === number);
    const message = `task ${number} has no file in ${folder}/`;
    if (file === undefined) where.report.error("TASK_FILE_MISSING", spot.place("task_number"), message, otherwise);
    return file?.path;
  }
  const candidates = checkedPath(given, spot.at("file")).flatMap((path) => [
    ...where.folders.map((one) => `${one}/${path}`),
    path,
  ]);
  const file = candidates.find((path) => where.files.has(path));
  if (file === undefined && candidates.length > 0) {
    const names = found.map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
    const message = `there is no file ${shown(given)} in ${folder}/`;
    where.report.error("TASK_FILE_MISSING", spot.place("file"), message, () => meantOr(given, names, otherwise, shown));
  }
  return file;
}

function warnUnlistedTasks(tasks: readonly PlacedTask[], found: readonly TaskFile[], report: Report): void {
  const named = new Set(tasks.map(({ task }) => task.file));
  for (const { path } of found.filter((file) => !named.has(file.path))) {
    const hint = 'Add it to the phase\'s "tasks" in metadata.json, or delete it.';
    report.warn("TASK_UNLISTED", { file: path }, "no task of the metadata has this file, so it is ignored", hint);
  }
}

function reportTaskTwice(tasks: readonly PlacedTask[], { folders, report }: PhaseFolders): void {
  const seen = new Set<number>();
  for (const { task, place } of tasks) {
    const message = `there are two tasks ${task.number} in ${folders[0]}`;
    if (seen.has(task.number)) report.error("TASK_DUPLICATE", place, message, "Give each task its own number.");
    seen.add(task.number);
  }
}

function reportStrayGates(phases: readonly PhaseDefinition[], { files, report }: Reading): void {
  const places = ["", "phases/"].filter((place) => !phases.some(({ file = "" }) => isIn(place, file)));
  const above = places.flatMap((place) => GATE_FILES.map((name) => `${place}${name}`)).filter(files.has);
  for (const file of [...above, ...files.paths.filter((path) => isInLikelyPhase(path) && !isOfPhase(path, phases))]) {
    const hint = `Move it into the folder of its phase, such as phases/${phases[0]?.number ?? 1}/.`;
    const message = "this gate file is not in the folder of a phase, so it isn't read";
    report.error("GATE_FILE_MISNAMED", { file }, message, hint);
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

/** Finds a template and checks its placeholders. `place` is the position for a missing template. */
function readTemplate(
  kind: TemplateKind,
  given: string | undefined,
  spot: Spot,
  place: SourcePosition | undefined,
  { files, report }: Reading,
): { readonly path: string; readonly revision: string | undefined } {
  const [path] = given === undefined ? [USUAL_TEMPLATES[kind]] : checkedPath(given, spot);
  if (path !== undefined && !files.has(path)) {
    const message = `the template of ${kind}s is missing: there is no ${shown(path)}`;
    const hint = `Write it, as a .md file, or name another one: "templates": {"${kind}": "${USUAL_TEMPLATES[kind]}"}.`;
    report.error("TEMPLATE_MISSING", place ?? spot.place(), message, hint);
  }
  const text = path === undefined ? undefined : files.text(path);
  if (path !== undefined && text !== undefined) warnUnknown(kind, path, text, report);
  return { path: path ?? USUAL_TEMPLATES[kind], revision: revision(text) };
}

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
function refuseGate(folder: string, { files, report }: Reading): void {
  // A gate file in `phases/N` belongs to a phase; one above was already reported.
  if (/^(?:phases\/\d+|phases|)$/.test(folder)) return;
  for (const file of GATE_FILES.map((name) => `${folder}/${name}`).filter(files.has)) {
    const message = "this gate file isn't read: the gates of a plan's phases come from the plan";
    report.error("GATE_FILE_MISNAMED", { file }, message, "Delete it; the plan's validation gates are used.");
  }
}
