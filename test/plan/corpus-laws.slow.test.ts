import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { howOften } from "../support/how-often.js";
import { CORPUS } from "./corpus-plans.js";
import { accounted } from "./found-checkboxes.js";
import { brokenLaws } from "./laws.js";

/** Returns the files in a folder; in the short form each fourth. */
function markdownIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && statSync(join(folder, path)).isFile())
    .sort()
    .filter((_, index) => index % howOften(4, 1) === 0);
}

const FILES = existsSync(CORPUS) ? markdownIn(CORPUS) : [];
// The reporter shows no names of skipped tests, so the reason is part of the output.
if (FILES.length === 0) console.warn(`skipped: ${CORPUS} is not there, which is no part of the repository`);

/** Returns the broken laws of all files, and how many checkboxes the plans of others have. Files without a phase and a task are left out. */
function readAll() {
  const found = { broken: [] as string[], boxes: 0, unplaced: 0 };
  for (const path of FILES) {
    const text = readFileSync(join(CORPUS, path), "utf8");
    try {
      const reading = parsePlan(text);
      found.broken.push(...brokenLaws(text, reading).map((law) => `${path}:${law}`));
      // The others are documents about work, and plans that a human reader has counted.
      if (!path.startsWith("plans")) continue;
      found.boxes += accounted(reading).length;
      found.unplaced += reading.diagnostics.filter(({ code }) => code === "CHECKBOX_UNPLACED").length;
    } catch (error) {
      if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
    }
  }
  return found;
}

it.skipIf(FILES.length === 0)(
  "real files have each checkbox in one place, each task in the state that its boxes say, and few boxes without a place",
  { timeout: 300_000 },
  () => {
    const { broken, boxes, unplaced } = readAll();
    expect(broken).toEqual([]);
    expect(boxes).toBeGreaterThan(howOften(200, 1000));
    expect(unplaced / boxes).toBeLessThanOrEqual(0.01);
  },
);
