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

const STATES: Readonly<Record<string, TaskState>> = {
  done: "done",
  completed: "done",
  cancelled: "done",
  "in-progress": "in_progress",
  review: "in_progress",
  deferred: "queued",
  blocked: "blocked",
};

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
    state: STATES[status ?? ""] ?? "pending",
    optional: false,
    parallel: false,
    requirements: [],
    files: [],
    position,
  };
}

/** What changes the text of `"status"` and nothing else; a task without one stays as it is. */
function statusEdit(text: string, place: JsonPlace, done: boolean): Edit | undefined {
  const offset = place.entries.get("status")?.offset;
  const match = offset === undefined ? null : /^"status"\s*:\s*"([^"]*)"/.exec(text.slice(offset, offset + 200));
  if (offset === undefined || match === null) return undefined;
  const [whole, status = ""] = match;
  if ((STATES[status] === "done") === done) return undefined;
  return { offset: offset + whole.length - 1 - status.length, length: status.length, text: done ? "done" : "pending" };
}
