/** Reads the tasks of a phase: those that the metadata lists, else the files `task-N-slug.md`. */
import type { SourcePosition } from "../../errors.js";
import { type Spot, unknownIn } from "../file-schema.js";
import { revisionOf } from "../json.js";
import { readTitle } from "../markdown-facts.js";
import { meantOr, shown } from "../names.js";
import type { Report } from "../report.js";
import type { TaskDefinition } from "../structure.js";
import { type Listed, taskEntry } from "./metadata.js";
import { checkedPath, type WorkflowFiles } from "./workflow-files.js";

/** The folders of a phase's files. */
export interface PhaseFolders {
  readonly files: WorkflowFiles;
  readonly report: Report;
  /** `phases/N`, and the folder of the phase's text if that is another one. */
  readonly folders: readonly string[];
}

/** Returns the tasks of a phase in ascending order. */
export function readTasks(phase: Listed | undefined, where: PhaseFolders): TaskDefinition[] {
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

/** A task as the metadata lists it. */
type TaskEntry = NonNullable<NonNullable<Listed["entry"]["tasks"]>[number]>;

interface TaskFile {
  readonly number: number;
  readonly slug: string;
  readonly path: string;
}

/** Returns the files of a phase that are called `task-N-slug.md`. */
function taskFiles({ files, folders }: PhaseFolders): TaskFile[] {
  return files.paths.flatMap((path) => {
    const cut = path.lastIndexOf("/");
    if (!folders.includes(path.slice(0, cut))) return [];
    const [, number, slug = ""] = /^task-(\d{1,9})(?:-(.+))?\.md$/.exec(path.slice(cut + 1)) ?? [];
    return number === undefined ? [] : [{ number: Number(number), slug, path }];
  });
}

/** A task and the position of its number. */
interface PlacedTask {
  readonly task: TaskDefinition;
  readonly place: SourcePosition;
}

function foundTask({ number, slug, path }: TaskFile, { files }: PhaseFolders): PlacedTask {
  const text = files.text(path);
  const name = readTitle(text ?? "") ?? (slug || `Task ${number}`);
  return { task: { number, name, file: path, ...revision(text) }, place: { file: path } };
}

function revision(text: string | undefined): { textRevision?: string } {
  return text === undefined ? {} : { textRevision: revisionOf(text) };
}

function listedTask(task: TaskEntry, spot: Spot, found: readonly TaskFile[], where: PhaseFolders): PlacedTask[] {
  const { task_number: number, name, purpose } = task;
  if (number === undefined) return [];
  const file = taskFile(task, number, spot, found, where);
  const text = file === undefined ? undefined : where.files.text(file);
  const title = name ?? readTitle(text ?? "") ?? `Task ${number}`;
  const extra = unknownIn(taskEntry, task);
  return [{ task: { number, name: title, purpose, file, ...revision(text), extra }, place: spot.place("task_number") }];
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
