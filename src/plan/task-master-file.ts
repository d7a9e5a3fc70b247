/** The tasks of a tasks.json, with their places. Ids are numbers in some files and texts in others, and mixed in some. */
import * as z from "zod";
import { JsonFailure, type JsonPlace, scanJson } from "../definition/folder/scan-json.js";
import type { LinkedTask } from "./link-tasks.js";
import type { PlanPosition } from "./plan.js";
import { checkLength, planError } from "./plan-error.js";
import { SourceText } from "./source-text.js";
import { UniqueIds } from "./unique-ids.js";

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

type Subtask = z.infer<typeof subtaskSchema>;

/** A task as the file has it, with where it stands. */
export interface Found extends LinkedTask {
  /** Its id in the file; `id` is another one where a task before has it. */
  readonly given: string;
  readonly task: Subtask;
  readonly place: JsonPlace;
}

/** A tag of the file, which is a phase. */
export interface Tag {
  /** Its number, from 1. */
  readonly key: string;
  readonly name: string;
  readonly tasks: readonly Found[];
  readonly position: PlanPosition;
}

/**
 * Reads the tasks of each tag. Files of before there were tags have the tasks of one. Throws `PLAN_PARSE` where
 * it isn't JSON, too large, or has no tasks.
 */
export function readTags(text: string, file: string): Tag[] {
  checkLength(text, file);
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
  const read = tags.map(([name, place, tag], index) => {
    const parsed = tagSchema.safeParse(tag);
    if (!parsed.success) throw badTask(parsed.error, place, source, file);
    const prefix = index === 0 ? "" : `${name}/`;
    const tasks = foundTasks(parsed.data.tasks, place.entries.get("tasks") ?? place, prefix, source);
    return { key: `${index + 1}`, name, tasks, position: source.at(place.offset) };
  });
  const ids = new UniqueIds(read.flatMap(({ tasks }) => tasks.map(({ given }) => given)));
  return read.map((tag) => ({ ...tag, tasks: tag.tasks.map((task) => ({ ...task, id: ids.take(task.given) })) }));
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
    throw planError({ file, ...lineOf(source.at(error.offset)) }, error.message, error.hint);
  }
}

function badTask(error: z.ZodError, tag: JsonPlace, source: SourceText, file: string) {
  const issue = error.issues[0];
  const keys = issue?.path ?? [];
  const place = keys.reduce<JsonPlace>((at, key) => (typeof key === "symbol" ? at : (at.entries.get(key) ?? at)), tag);
  const message = `${keys.map(String).join(".")}: ${issue?.message ?? "not a task"}`;
  return planError({ file, ...lineOf(source.at(place.offset)) }, message, 'A task has "id", "title" and "status".');
}

/** Tasks and subtasks in one row. */
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
  return { id, given: id, task, named: () => [{ tasks, phases: [] }], place, position: source.at(place.offset) };
}

function lineOf({ line, column }: PlanPosition) {
  return { line, column };
}
