import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as z from "zod";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { tickTasks } from "../../src/plan/tick.js";

/** Plans of lines in any order, with most of what a line can have. */
const TEXTS = z
  .array(z.string())
  .parse(JSON.parse(readFileSync(new URL("./recorded-plans.json", import.meta.url), "utf8")));

/** Writes a part of a plan in short: positions as one text, and nothing that is false or empty. */
function inShort(part: object): string {
  return JSON.stringify(part, (key, value: unknown) => {
    if (value === false || (Array.isArray(value) && value.length === 0)) return undefined;
    return key === "position" ? Object.values(Object(value)).join(":") : value;
  });
}

/** Returns a reading as lines: the phases, each with its tasks, then the diagnostics without their words. */
function recorded(text: string): string[] {
  const { plan, diagnostics } = parsePlan(text);
  const tasks = plan.phases.flatMap((phase) => phase.tasks);
  const ticked = tickTasks(text, tasks, { criteria: true });
  return [
    plan.dialect,
    ...plan.phases.flatMap(({ tasks: own, ...phase }) => [phase, ...own]).map(inShort),
    ...diagnostics.map(({ severity, code, line, column }) => `${severity} ${code} ${line}:${column}`),
    JSON.stringify(ticked === text ? "" : ticked),
  ];
}

// A session on a plan keeps to what was read from it. So a change of how a text is read is a decision: if one of these
// changes on purpose, `npx vitest run test/plan/recorded.test.ts -u` records it again.
it.each(TEXTS.map((text, index) => [index, text] as const))("plan %i is read as it was before", (_, text) => {
  expect(recorded(text)).toMatchSnapshot();
});
