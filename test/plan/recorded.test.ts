import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as z from "zod";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { tickTasks } from "../../src/plan/tick.js";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

/** Plans as people write them, each for some of what a plan can have. */
const FILES = readdirSync(new URL("./recorded/", import.meta.url)).map(
  (name) => [name, read(`./recorded/${name}`)] as const,
);

/** Plans of lines in any order. */
const TEXTS = z.array(z.string()).parse(JSON.parse(read("./recorded-plans.json")));

/** Writes a part of a plan in short: positions as one text, and nothing that is false or empty. */
function inShort(part: object): string {
  return JSON.stringify(part, (key, value: unknown) => {
    if (value === false || (Array.isArray(value) && value.length === 0)) return undefined;
    return key === "position" ? Object.values(Object(value)).join(":") : value;
  });
}

/** Returns a reading as lines: the phases, each with its tasks, then the diagnostics without their words, then the lines that are ticked. */
function recorded(text: string): string[] {
  const { plan, diagnostics } = parsePlan(text);
  const tasks = plan.phases.flatMap((phase) => phase.tasks);
  const [before, ticked] = [text.split("\n"), tickTasks(text, tasks, { criteria: true })];
  return [
    plan.dialect,
    ...plan.phases.flatMap(({ tasks: own, ...phase }) => [phase, ...own]).map(inShort),
    ...diagnostics.map(({ severity, code, line, column }) => `${severity} ${code} ${line}:${column}`),
    ...ticked.split("\n").filter((line, index) => line !== before[index]),
  ];
}

const ALL = [...FILES, ...TEXTS.map((text, index) => [`${index}`, text] as const)];

// A session on a plan keeps to what was read from it. So a change of how a text is read is a decision: if one of these
// changes on purpose, `npx vitest run test/plan/recorded.test.ts -u` records it again.
it.each(ALL)("plan %s is read as before", (_, text) => {
  expect(recorded(text)).toMatchSnapshot();
});

it.each(ALL)("plan %s is the same after it was stored as JSON", (_, text) => {
  const { plan } = parsePlan(text);
  expect(JSON.parse(JSON.stringify(plan))).toStrictEqual(plan);
});
