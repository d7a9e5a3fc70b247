import { revisionOf } from "../json.js";
import { readTitle } from "../markdown-facts.js";
import { shown } from "../names.js";
import type { ObjectReader } from "../object-reader.js";
import type { Report } from "../report.js";
import type { PhaseDefinition } from "../structure.js";
import { chooseGate } from "./choose-gate.js";
import type { PhaseClaims } from "./metadata.js";
import { readTasks } from "./tasks.js";
import { checkedPath, GATE_FILES, isInLikelyPhase, type WorkflowFiles } from "./workflow-files.js";

/** A phase before its files are read. */
interface PhaseSeed {
  readonly number: number;
  /** What the metadata says of it. */
  readonly entry?: ObjectReader;
}

/** What phases are read from. */
interface Reading {
  readonly files: WorkflowFiles;
  readonly report: Report;
}

/** All phases in ascending order, from the metadata's list or, without one, from the folders. */
export async function readPhases(claims: PhaseClaims, reading: Reading): Promise<PhaseDefinition[]> {
  const folders = phaseFolders(reading.files);
  const seeds = claims.list?.flatMap(seedOf) ?? folders.map((number) => ({ number }));
  warnUnlisted(seeds, folders, claims, reading.report);
  const phases: PhaseDefinition[] = [];
  for (const seed of seeds.sort((a, b) => a.number - b.number)) {
    const place = { file: `phases/${seed.number}` };
    await reading.report.hasRoom(0, place);
    try {
      phases.push(await readPhase(seed, reading));
    } catch (error) {
      reading.report.failed(place, error);
    }
  }
  reportTwice(seeds, reading.report);
  reportStrayGates(phases, reading);
  return phases;
}

/** The folder of a phase, by its number. */
const NUMBERED = /^phases\/(0|[1-9]\d{0,8})\//;

/** The numbers N of all folders `phases/N` that hold a file. */
function phaseFolders({ paths }: WorkflowFiles): number[] {
  const numbers = paths.map((path) => NUMBERED.exec(path)?.[1]).filter((found) => found !== undefined);
  return [...new Set(numbers)].map(Number).sort((a, b) => a - b);
}

function seedOf(entry: ObjectReader): PhaseSeed[] {
  const number = entry.required("phase_number", entry.whole("phase_number"), '"phase_number": 1');
  return number === undefined ? [] : [{ number, entry }];
}

async function readPhase({ number, entry }: PhaseSeed, { files, report }: Reading): Promise<PhaseDefinition> {
  const file = phaseFile(number, entry, { files, report });
  const own = `phases/${number}`;
  const folders = [...new Set([own, file.slice(0, Math.max(0, file.lastIndexOf("/"))) || own])];
  const text = files.text(file);
  const tasks = readTasks(entry, { files, report, folders });
  const texts = [file, ...tasks.flatMap((task) => task.file ?? [])];
  return {
    number,
    name: entry?.text("phase_name") ?? readTitle(text ?? "") ?? untitled(number, file, report),
    file,
    purpose: entry?.text("purpose"),
    estimatedEffort: entry?.label("estimated_effort"),
    keyDeliverables: entry?.texts("key_deliverables"),
    validationCriteria: entry?.texts("validation_criteria"),
    skippable: entry?.flag("skippable") ?? false,
    tasks,
    gate: await chooseGate(number, entry, { files, report, folders, file, texts }),
    ...(text === undefined ? {} : { textRevision: revisionOf(text) }),
    extra: entry?.rest(),
  };
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

function warnUnlisted(
  seeds: readonly PhaseSeed[],
  folders: readonly number[],
  claims: PhaseClaims,
  report: Report,
): void {
  if (claims.list === undefined || seeds.length < claims.list.length) return;
  for (const number of folders.filter((folder) => !seeds.some((seed) => seed.number === folder))) {
    const hint = 'Add it to "phases" in metadata.json, or delete the folder.';
    const message = `phases/${number} belongs to no phase of the metadata: nobody will see it`;
    report.warn("PHASE_UNLISTED", { file: `phases/${number}` }, message, hint);
  }
}

/** A gate file beside the phases' folders was meant for some phase, and would be read for none. */
function reportStrayGates(phases: readonly PhaseDefinition[], { files, report }: Reading): void {
  const places = ["", "phases/"].filter((place) => !phases.some(({ file = "" }) => isIn(place, file)));
  const above = places.flatMap((place) => GATE_FILES.map((name) => `${place}${name}`)).filter(files.has);
  for (const file of [...above, ...files.paths.filter((path) => isInLikelyPhase(path) && !isOfPhase(path, phases))]) {
    const hint = `Move it into the folder of its phase, such as phases/${phases[0]?.number ?? 1}/.`;
    report.error("GATE_FILE_MISNAMED", { file }, "this gate file lies in no phase's folder, so it isn't read", hint);
  }
}

/** Whether a path lies in the folder that a number gives to a phase, listed or not, or in the folder of a phase's text. */
function isOfPhase(path: string, phases: readonly PhaseDefinition[]): boolean {
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  return NUMBERED.test(path) || phases.some(({ file = "" }) => isIn(folder, file));
}

/** Whether a folder, with `/` at its end, holds a file itself. */
function isIn(folder: string, file: string): boolean {
  return folder !== "" && file.startsWith(folder) && !file.includes("/", folder.length);
}
