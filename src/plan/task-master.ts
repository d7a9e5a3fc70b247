/**
 * The tasks.json of task-master as a plan: a source that isn't Markdown. Each tag is a phase; its tasks and
 * their subtasks are tasks.
 */
import type { JsonPlace } from "../definition/folder/scan-json.js";
import { type Edit, withEdits } from "./edits.js";
import { linkTasks } from "./link-tasks.js";
import { reportRepeated } from "./number-tasks.js";
import type { PlanPhase, PlanTask, TaskState } from "./plan.js";
import { PlanReport } from "./report.js";
import type { SourceParser } from "./source-parser.js";
import { type Found, readTags } from "./task-master-file.js";

const STATES: ReadonlyMap<string, TaskState> = new Map([
  ["done", "done"],
  ["completed", "done"],
  ["cancelled", "done"],
  ["in-progress", "in_progress"],
  ["review", "in_progress"],
  ["deferred", "queued"],
  ["blocked", "blocked"],
]);
/** The key and what it says, which may have quotes in it. */
const STATUS = /^("status"\s*:\s*)("(?:[^"\\]|\\.)*"|null)/;
const STATUS_MAX = 1000;

/** Reads tasks.json, with tags or without; ticks set `"status"`. */
export const taskMasterParser: SourceParser = {
  parse(text, file) {
    const tags = readTags(text, file);
    const report = new PlanReport(file);
    for (const { given, id, position } of tags.flatMap((tag) => tag.tasks)) {
      reportRepeated(given, id, position, report);
    }
    const links = linkTasks(
      tags.map(({ key, tasks }) => ({ key, tasks })),
      report,
    );
    const phases = tags.map(({ key, name, tasks, position }): PlanPhase => {
      const own = tasks.map((task) => planTask(task, links.get(task.id) ?? []));
      return { number: Number(key), name, tasks: own, validationGate: [], position };
    });
    return { plan: { dialect: "task-master", phases }, diagnostics: report.sorted() };
  },
  tick(text, _plan, { tasks, done }) {
    const wanted = new Set(tasks);
    const marked = readTags(text, "tasks.json").flatMap((tag) => tag.tasks.filter(({ id }) => wanted.has(id)));
    return withEdits(
      text,
      marked.flatMap(({ place }) => statusEdit(text, place, done) ?? []),
    );
  },
};

function planTask({ id, task, position }: Found, dependencies: readonly string[]): PlanTask {
  const { description, details, testStrategy, status } = task;
  const text = [description, details, testStrategy].filter(
    (part) => part !== undefined && part !== null && part !== "",
  );
  return {
    id,
    name: task.title,
    ...(text.length === 0 ? {} : { description: text.join("\n\n") }),
    dependencies,
    acceptanceCriteria: [],
    state: stateOf(status),
    optional: false,
    parallel: false,
    requirements: [],
    files: [],
    position,
  };
}

/** What changes `"status"`, or puts it in, and nothing else; undefined where it says so already. */
function statusEdit(text: string, { entries }: JsonPlace, done: boolean): Edit | undefined {
  const offset = entries.get("status")?.offset;
  if (offset === undefined) {
    const first = entries.values().next().value;
    return done && first !== undefined ? { offset: first.offset, length: 0, text: '"status": "done", ' } : undefined;
  }
  const [key, before = "", value = ""] = STATUS.exec(text.slice(offset, offset + STATUS_MAX)) ?? [];
  if (key === undefined) return undefined;
  const status: unknown = JSON.parse(value);
  if ((typeof status === "string" && isDone(status)) === done) return undefined;
  return { offset: offset + before.length, length: value.length, text: done ? '"done"' : '"pending"' };
}

function isDone(status: string): boolean {
  return stateOf(status) === "done";
}

function stateOf(status: string | null | undefined): TaskState {
  return STATES.get(status ?? "") ?? "pending";
}
