import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import type { Plan } from "../../src/plan/plan.js";
import { howOften } from "../support/how-often.js";
import { knownPlan } from "./known-plans.js";
import { brokenLaws } from "./laws.js";
import { arbitraryPlan } from "./random-plans.js";

const RUNS = Number(process.env.PHASEGATE_PROPERTY_RUNS ?? howOften(100, 20_000));
const LIMIT = { timeout: Math.max(20_000, RUNS * 200) };

/** Returns the places of all checkboxes, as `3 task 0`: the line, and the place. */
function placesOf({ phases }: Plan): string[] {
  let count = -1;
  return phases.flatMap(({ tasks, validationGate }, at) => [
    ...tasks.flatMap(({ checkbox, acceptanceCriteria }) => {
      count += 1;
      const inside = acceptanceCriteria.flatMap((item) => item.checkbox ?? []);
      return [
        ...(checkbox === undefined ? [] : [`${checkbox.position.line} task ${count}`]),
        ...inside.map(({ position }) => `${position.line} in ${count}`),
      ];
    }),
    ...validationGate.flatMap((item) => (item.checkbox ? [`${item.checkbox.position.line} gate ${at}`] : [])),
  ]);
}

describe("each checkbox", () => {
  it("is where the plan was made with it, under any label and at any depth", LIMIT, () => {
    fc.assert(
      fc.property(knownPlan, ({ text, places, tasks }) => {
        const reading = parsePlan(text);
        expect(placesOf(reading.plan).sort()).toEqual([...places].map(([line, place]) => `${line} ${place}`).sort());
        expect(reading.plan.phases.flatMap((phase) => phase.tasks)).toHaveLength(tasks);
        expect(brokenLaws(text, reading)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it("is in one place, and tasks are as done as their boxes say, in plans of any lines", LIMIT, () => {
    fc.assert(
      fc.property(arbitraryPlan, (text) => {
        try {
          expect(
            brokenLaws(text, parsePlan(text)).filter((law) => !/ is beside | is in | belongs to /.test(law)),
          ).toEqual([]);
        } catch (error) {
          if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
        }
      }),
      { numRuns: RUNS },
    );
  });
});
