/**
 * Reads the tasks.json of task-master as a plan. Each tag is a phase, and so is a list of tasks beside the tags; tasks and
 * their subtasks, at any depth, are tasks.
 */
import * as z from "zod/mini";
import { JsonFailure, type JsonPlace, scanJson } from "../workflow/json-source.js";
import { ENGLISH, innermostIssue } from "../workflow/zod-issues.js";
import { named } from "./dependencies.js";
import { reportSecondId } from "./finish.js";
import { uniqueIds } from "./ids.js";
import { type LinkedTask, linkTasks } from "./links.js";
import {
  checkLength,
  type PlanPhase,
  PlanReport,
  type PlanTask,
  planError,
  type SourceParser,
  type TaskState,
} from "./plan.js";
import { SourceText } from "./source.js";
import { type Edit, withEdits } from "./tick.js";

/** The parser of tasks.json, with or without tags. Ticks set `"status"`. */
export const taskMasterParser: Required<SourceParser> = {
  parse(text, file) {
    const tags = readTags(text, file);
    const report = new PlanReport(file);
    for (const { given, id, position, task } of tags.flatMap((tag) => tag.tasks)) {
      reportSecondId(given, id, position, report);
      if (STATES.has(task.status ?? "pending")) continue;
      const message = `task ${id} has the status '${task.status}', which is no known state; it counts as pending`;
      report.warn("STATE_UNKNOWN", position, message, `Write ${[...STATES.keys()].join(", ")}.`);
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

/** A task of the file, and its place. */
interface Found extends LinkedTask {
  /** Its id in the file; `id` differs if an earlier task has the same one. */
  readonly given: string;
  readonly task: Task;
  readonly place: JsonPlace;
}

const idSchema = z.pipe(z.union([z.string(), z.number()]), z.transform(String));
const textSchema = z.nullish(z.string());

const taskSchema = z.object({
  id: idSchema,
  title: z.string(),
  description: textSchema,
  details: textSchema,
  testStrategy: textSchema,
  status: textSchema,
  dependencies: z.nullish(z.array(idSchema)),
  get subtasks() {
    return z.nullish(z.array(taskSchema));
  },
});
type Task = z.infer<typeof taskSchema>;
const tagSchema = z.object({ tasks: z.array(taskSchema) });

/** Reads the tasks of each tag, and of a list beside them. Throws `PLAN_PARSE` if the file isn't JSON, is too large or has no tasks. */
function readTags(text: string, file: string) {
  checkLength(text, file);
  const source = new SourceText(text);
  const { root, value } = readJson(text, file, source);
  const tags = [...root.entries].flatMap(([name, { offset }]) => {
    const key = `${name}`;
    if (key === "tasks" && isTag(value)) return { name: key, place: root, tag: value, offset };
    const tag: unknown = Reflect.get(Object(value), key);
    return isTag(tag) ? { name: key, place: root.entries.get(name) ?? root, tag, offset } : [];
  });
  if (tags.length === 0) {
    throw planError({ file, line: 1 }, "it has no list of tasks", 'Write {"tasks": [{"id": 1, "title": "…"}]}.');
  }
  const read = tags.map(({ name, place, tag, offset }, index) => {
    const parsed = tagSchema.safeParse(tag, ENGLISH);
    if (!parsed.success) throw badTask(parsed.error, place, source, file);
    const prefix = index === 0 ? "" : `${name}/`;
    const tasks = foundTasks(parsed.data.tasks, place.entries.get("tasks") ?? place, { prefix, source });
    return { key: `${index + 1}`, name, tasks, position: source.at(offset) };
  });
  if (read.every(({ tasks }) => tasks.length === 0)) {
    const { line, column } = source.at(tags[0]?.offset ?? 0);
    throw planError({ file, line, column }, "it has no tasks", 'Write one: {"id": 1, "title": "…"}.');
  }
  const ids = uniqueIds(read.flatMap(({ tasks }) => tasks.map(({ given }) => given)));
  return read.map((tag) => ({ ...tag, tasks: tag.tasks.map((task) => ({ ...task, id: ids.take(task.given) })) }));
}

function readJson(text: string, file: string, source: SourceText) {
  try {
    const bare = text.startsWith("\uFEFF") ? ` ${text.slice(1)}` : text;
    return { root: scanJson(bare).root, value: JSON.parse(bare) };
  } catch (error) {
    if (!(error instanceof JsonFailure)) throw error;
    const { line, column } = source.at(error.offset);
    throw planError({ file, line, column }, error.message, error.hint);
  }
}

function isTag(value: unknown): boolean {
  return typeof value === "object" && value !== null && "tasks" in value && Array.isArray(value.tasks);
}

function badTask(error: z.core.$ZodError, tag: JsonPlace, source: SourceText, file: string) {
  const [issue] = error.issues.map(innermostIssue);
  const keys = issue?.path ?? [];
  const place = keys.reduce<JsonPlace>((at, key) => (typeof key === "symbol" ? at : (at.entries.get(key) ?? at)), tag);
  const message = `${keys.map(String).join(".")}: ${issue?.message ?? "not a task"}`;
  const { line, column } = source.at(place.offset);
  return planError({ file, line, column }, message, 'A task has "id", "title" and "status".');
}

/** Returns tasks and their subtasks in one list. A subtask has its own number, `2`, or its full id; so has a dependency. */
function foundTasks(
  tasks: readonly Task[],
  list: JsonPlace,
  tag: { readonly prefix: string; readonly source: SourceText },
  parent?: string,
): Found[] {
  const { prefix, source } = tag;
  const read = tasks.map((task, index) => {
    const place = list.entries.get(index) ?? list;
    // The number `1.10` is not 1.1.
    const written = place.entries.get("id")?.number ?? task.id;
    const id = parent === undefined || written.startsWith(`${parent}.`) ? written : `${parent}.${written}`;
    return { task, place, written, id };
  });
  const siblings = new Map(read.map(({ written, id }) => [written, id]));
  return read.flatMap(({ task, place, id }) => {
    const names = place.entries.get("dependencies");
    const needed = (task.dependencies ?? []).map((said, index) => {
      const name = names?.entries.get(index)?.number ?? said;
      return `${prefix}${siblings.get(name) ?? name}`;
    });
    const given = `${prefix}${id}`;
    return [
      { id: given, given, task, named: () => [named({ tasks: needed })], place, position: source.at(place.offset) },
      ...foundTasks(task.subtasks ?? [], place.entries.get("subtasks") ?? place, tag, id),
    ];
  });
}

function planTask({ id, task, position }: Found, dependencies: readonly string[]): PlanTask {
  const { description, details, testStrategy, status } = task;
  const text = [description, details, testStrategy].flatMap((part) => part || []);
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

const STATES: ReadonlyMap<string, TaskState> = new Map([
  ["pending", "pending"],
  ["done", "done"],
  ["completed", "done"],
  ["cancelled", "dropped"],
  ["in-progress", "in_progress"],
  ["review", "in_progress"],
  ["deferred", "queued"],
  ["blocked", "blocked"],
]);

function stateOf(status: string | null | undefined): TaskState {
  return STATES.get(status ?? "pending") ?? "pending";
}

/** The key and its value, which may contain escaped quotes. */
const STATUS = /^("status"\s*:\s*)("(?:[^"\\]|\\.)*"|null)/;
/** Maximum length of a status that is changed, with its key. */
const STATUS_MAX = 1000;

/** Returns the edit that sets or adds `"status"`; undefined if it is right already. */
function statusEdit(text: string, { entries }: JsonPlace, done: boolean): Edit | undefined {
  const offset = entries.get("status")?.offset;
  if (offset === undefined) {
    const first = entries.values().next().value;
    return done && first !== undefined ? { offset: first.offset, length: 0, text: '"status": "done", ' } : undefined;
  }
  const [key, before = "", value = ""] = STATUS.exec(text.slice(offset, offset + STATUS_MAX)) ?? [];
  if (key === undefined) return undefined;
  const status: unknown = JSON.parse(value);
  if ((typeof status === "string" && stateOf(status) === "done") === done) return undefined;
  return { offset: offset + before.length, length: value.length, text: done ? '"done"' : '"pending"' };
}
