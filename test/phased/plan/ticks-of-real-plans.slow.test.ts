import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../../src/errors.js";
import { parsePlan } from "../../../src/plan/parse-plan.js";
import type { Plan, PlanTask } from "../../../src/plan/plan.js";
import { tickTask, tickTasks } from "../../../src/plan/tick.js";

const FOLDER = fileURLToPath(new URL("../../../../shared/corpus/plans", import.meta.url));
const files = existsSync(FOLDER) ? globSync("*/*.md", { cwd: FOLDER }).sort() : [];
const reason = files.length > 0 ? "" : ` (skipped: ${FOLDER} is not there, which is no part of the repository)`;
if (reason !== "") console.warn(reason);

/** Returns the parts of two texts in which they differ. */
function difference(one: string, other: string): readonly [string, string] {
  let [start, end] = [0, 0];
  const least = Math.min(one.length, other.length);
  while (start < least && one[start] === other[start]) start += 1;
  while (end < least - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return [one.slice(start, one.length - end), other.slice(start, other.length - end)];
}

/** Returns what a change of a task changes beside the mark of its checkbox and the word of its status. */
function beyond({ id, checkbox, status, state }: PlanTask, text: string, changed: string): string[] {
  const [before, after] = difference(text, changed);
  const isSame = (checkbox === undefined && status === undefined) || state === "done";
  const isMark = before.length <= 3 && after.length <= 2;
  const isWord = status !== undefined && !/[\r\n]/.test(before + after);
  return isSame
    ? text === changed
      ? []
      : [`${id} changes`]
    : isMark || isWord
      ? []
      : [`${id}: '${before}', '${after}'`];
}

/** Returns the problems with the ticks of a text, one by one, and with taking back all of them. */
function problems(text: string): string[] {
  const tasksOf = (plan: Plan) => plan.phases.flatMap((phase) => phase.tasks);
  const { plan } = parsePlan(text);
  const tasks = tasksOf(plan);
  const alone = tasks.flatMap((task) => beyond(task, text, tickTask(text, plan, task.id)));
  const open = tasks.filter(({ state }) => state !== "done");
  const ticked = tickTasks(text, open);
  const { plan: after } = parsePlan(ticked);
  const ids = new Set(open.map(({ id }) => id));
  const back = tickTasks(
    ticked,
    tasksOf(after).filter(({ id }) => ids.has(id)),
    { done: false },
  );
  // Other marks and words for what is not done become those that a new task has.
  const isPlain = ({ checkbox, status }: PlanTask) =>
    status === undefined ? checkbox === undefined || /^☐?$/u.test(checkbox.mark) : /^pending$/i.test(status.text);
  if (!open.every(isPlain) || back === text) return alone;
  return [...alone, `'${difference(text, back).join("' is '")}' after the ticks were taken back`];
}

describe(`ticks in real plans${reason}`, () => {
  it.skipIf(files.length === 0).each(files.length === 0 ? ["none"] : files)(
    "change one mark or word, and are taken back, in %s",
    (file) => {
      const text = readFileSync(join(FOLDER, file), "utf8").replace(/\r?\n/g, "\r\n");
      try {
        expect(problems(`\uFEFF${text}`)).toEqual([]);
      } catch (error) {
        if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
      }
    },
  );
});
