/**
 * The tasks.json of task-master as a plan: a source that isn't Markdown. Each tag is a phase; its tasks and
 * their subtasks are tasks. Ids are numbers in some files and texts in others, and mixed in some.
 */
import * as z from "zod";
import { JsonFailure, type JsonPlace, scanJson } from "../definition/folder/scan-json.js";
import { type LinkedTask, linkTasks } from "./link-tasks.js";
import type { PlanPhase, PlanPosition, PlanTask, TaskState } from "./plan.js";
import { planError } from "./plan-error.js";
import { PlanReport } from "./report.js";
import type { SourceParser } from "./source-parser.js";
import { SourceText } from "./source-text.js";

const idSchema = z.union([z.string(), z.number()]).transform(String);
const textSchema = z.string().nullish();

const subtaskSchema = z.object({
  id: idSchema,
  title: z.string(),
  description: textSchema,
  details: textSchema,
  testStrategy: textSchema,
  status: textSchema,
  dependencies: z.array(idSchema).nullish(),
});
const taskSchema = subtaskSchema.extend({ subtasks: z.array(subtaskSchema).nullish() });
const tagSchema = z.object({ tasks: z.array(taskSchema) });

const STATES: Readonly<Record<string, TaskState>> = {
  done: "done",
  completed: "done",
  cancelled: "done",
  "in-progress": "in_progress",
  review: "in_progress",
  deferred: "queued",
  blocked: "blocked",
};

type Subtask = z.infer<typeof subtaskSchema>;

/** A task as the file has it, with where it stands. */
interface Found extends LinkedTask {
  readonly task: Subtask;
  readonly place: JsonPlace;
}

/** Reads tasks.json, with tags or without; ticks set `"status"`. */
export const taskMasterParser: SourceParser = {
  parse(text, file) {
    const tags = readTags(text, file);
    const report = new PlanReport(file);
    const links = linkTasks(
      tags.map(({ key, tasks }) => ({ key, tasks })),
      report,
    );
    const phases = tags.map(({ key, name, tasks, position }): PlanPhase => {
      const own = tasks.map((found) => planTask(found, links.get(found.id) ?? []));
      return { number: Number(key), name, tasks: own, validationGate: [], position };
    });
    return { plan: { dialect: "task-master", phases }, diagnostics: report.sorted() };
  },
  tick(text, _plan, { tasks, done }) {
    const marked = readTags(text, "tasks.json").flatMap((tag) => tag.tasks.filter(({ id }) => tasks.includes(id)));
    return marked.reduceRight((source, { place }) => setStatus(source, place, done), text);
  },
};

interface Tag {
  /** Its number, from 1. */
  readonly key: string;
  readonly name: string;
  readonly tasks: readonly Found[];
  readonly position: PlanPosition;
}

/** Files of before there were tags have the tasks of one. */
function readTags(text: string, file: string): Tag[] {
  const source = new SourceText(text);
  const { root, value } = readJson(text, file, source);
  const untagged = tagSchema.safeParse(value).success;
  const named = untagged
    ? [["tasks", root, value] as const]
    : [...root.entries].map(([name, place]) => [`${name}`, place, own(value, name)] as const);
  const tags = named.filter(([, , tag]) => isTag(tag));
  if (tags.length === 0) {
    throw planError({ file, line: 1 }, "it has no list of tasks", 'Write {"tasks": [{"id": 1, "title": "…"}]}.');
  }
  return tags.map(([name, place, tag], index) => {
    const parsed = tagSchema.safeParse(tag);
    if (!parsed.success) throw badTask(parsed.error, place, source, file);
    const prefix = index === 0 ? "" : `${name}/`;
    const tasks = foundTasks(parsed.data.tasks, place.entries.get("tasks") ?? place, prefix, source);
    return { key: `${index + 1}`, name, tasks, position: placeAt(source, place.offset) };
  });
}

function isTag(value: unknown): boolean {
  return typeof value === "object" && value !== null && "tasks" in value && Array.isArray(value.tasks);
}

function own(value: unknown, key: string | number): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

function readJson(text: string, file: string, source: SourceText) {
  try {
    const bare = text.startsWith("\uFEFF") ? ` ${text.slice(1)}` : text;
    return { root: scanJson(bare).root, value: JSON.parse(bare) };
  } catch (error) {
    if (!(error instanceof JsonFailure)) throw error;
    throw planError({ file, ...lineOf(placeAt(source, error.offset)) }, error.message, error.hint);
  }
}

function badTask(error: z.ZodError, tag: JsonPlace, source: SourceText, file: string) {
  const issue = error.issues[0];
  const keys = issue?.path ?? [];
  const place = keys.reduce<JsonPlace>((at, key) => (typeof key === "symbol" ? at : (at.entries.get(key) ?? at)), tag);
  const message = `${keys.map(String).join(".")}: ${issue?.message ?? "not a task"}`;
  return planError(
    { file, ...lineOf(placeAt(source, place.offset)) },
    message,
    'A task has "id", "title" and "status".',
  );
}

/** Tasks and subtasks in one row. An id that is there twice is told apart as plans in Markdown do it. */
function foundTasks(
  tasks: readonly z.infer<typeof taskSchema>[],
  list: JsonPlace,
  prefix: string,
  source: SourceText,
): Found[] {
  return tasks.flatMap((task, index) => {
    const place = list.entries.get(index) ?? list;
    const subtasks = task.subtasks ?? [];
    const siblings = new Set(subtasks.map(({ id }) => id));
    const below = place.entries.get("subtasks") ?? place;
    return [
      found(task, `${prefix}${task.id}`, (id) => `${prefix}${id}`, place, source),
      ...subtasks.map((subtask, step) => {
        const resolve = (id: string) => `${prefix}${siblings.has(id) ? `${task.id}.${id}` : id}`;
        return found(subtask, `${prefix}${task.id}.${subtask.id}`, resolve, below.entries.get(step) ?? below, source);
      }),
    ];
  });
}

function found(
  task: Subtask,
  id: string,
  resolve: (id: string) => string,
  place: JsonPlace,
  source: SourceText,
): Found {
  const tasks = (task.dependencies ?? []).map(resolve);
  return { id, task, named: () => [{ tasks, phases: [] }], place, position: placeAt(source, place.offset) };
}

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

/** Changes the text of `"status"` and nothing else; a task without one stays as it is. */
function setStatus(text: string, place: JsonPlace, done: boolean): string {
  const offset = place.entries.get("status")?.offset;
  const match = offset === undefined ? null : /^"status"\s*:\s*"/.exec(text.slice(offset, offset + 200));
  if (offset === undefined || match === null) return text;
  const start = offset + match[0].length;
  const end = text.indexOf('"', start);
  if ((text.slice(start, end) === "done") === done) return text;
  return `${text.slice(0, start)}${done ? "done" : "pending"}${text.slice(end)}`;
}

function placeAt(source: SourceText, offset: number): PlanPosition {
  const line = Math.max(
    0,
    source.lines.findLastIndex((candidate) => candidate.offset <= offset),
  );
  return source.position(line, offset - (source.lines[line]?.offset ?? 0));
}

function lineOf({ line, column }: PlanPosition) {
  return { line, column };
}
