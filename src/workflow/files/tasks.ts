/** Reads the tasks of a phase: those that the metadata lists, else the files `task-N-slug.md`. */
import type { SourcePosition } from "../../errors.js";
import { revisionOf } from "../json.js";
import { readTitle } from "../markdown-facts.js";
import { meantOr, shown } from "../names.js";
import type { ObjectReader, Report } from "../object-reader.js";
import type { TaskDefinition } from "../structure.js";
import { checkedPath, type WorkflowFiles } from "./workflow-files.js";

/** The folders of a phase's files. */
export interface PhaseFolders {
  readonly files: WorkflowFiles;
  readonly report: Report;
  /** `phases/N`, and the folder of the phase's text if that is another one. */
  readonly folders: readonly string[];
}

/** Returns the tasks of a phase in ascending order. */
export function readTasks(phase: ObjectReader | undefined, where: PhaseFolders): TaskDefinition[] {
  const found = taskFiles(where);
  const listed = phase?.objects("tasks");
  const tasks =
    listed === undefined
      ? found.map((file) => foundTask(file, where))
      : listed.flatMap((task) => listedTask(task, found, where));
  if (listed !== undefined) warnUnlistedTasks(tasks, found, where.report);
  reportTaskTwice(tasks, where);
  return tasks.map(({ task }) => task).sort((a, b) => a.number - b.number);
}

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

function listedTask(task: ObjectReader, found: readonly TaskFile[], where: PhaseFolders): PlacedTask[] {
  const number = task.required("task_number", task.whole("task_number"), '"task_number": 1');
  const name = task.text("name");
  const purpose = task.text("purpose");
  const file = number === undefined ? undefined : taskFile(task, number, found, where);
  const extra = task.rest();
  if (number === undefined) return [];
  const text = file === undefined ? undefined : where.files.text(file);
  const title = name ?? readTitle(text ?? "") ?? `Task ${number}`;
  return [{ task: { number, name: title, purpose, file, ...revision(text), extra }, place: task.place("task_number") }];
}

function taskFile(task: ObjectReader, number: number, found: readonly TaskFile[], where: PhaseFolders) {
  const given = task.text("file");
  if (given === undefined) return numberedFile(task, number, found, where);
  const candidates = checkedPath(given, task, "file", where.report).flatMap((path) => [
    ...where.folders.map((folder) => `${folder}/${path}`),
    path,
  ]);
  const file = candidates.find((path) => where.files.has(path));
  if (file === undefined && candidates.length > 0) {
    const names = () => found.map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
    missing(
      task,
      "file",
      `there is no file ${shown(given)}`,
      (otherwise) => meantOr(given, names(), otherwise, shown),
      where,
    );
  }
  return file;
}

function numberedFile(task: ObjectReader, number: number, found: readonly TaskFile[], where: PhaseFolders) {
  const file = found.find((candidate) => candidate.number === number);
  if (file === undefined) missing(task, "task_number", `task ${number} has no file`, (otherwise) => otherwise, where);
  return file?.path;
}

/** Reports a missing file; `hintOr` returns the hint, which is `otherwise` if no file is meant. */
function missing(
  task: ObjectReader,
  key: string,
  message: string,
  hintOr: (otherwise: string) => string,
  where: PhaseFolders,
): void {
  const folder = where.folders[0] ?? "";
  const hint = () => hintOr(`Put the task's text into ${folder}/, and the file's name under "file".`);
  where.report.error("TASK_FILE_MISSING", task.place(key), `${message} in ${folder}/`, hint);
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
