import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../sandbox/temporary-folder.js";
import { type Worker, workersOf } from "../../support/worker-process.js";
import { PLACES } from "./place.js";
import { SCENARIOS } from "./scenarios.js";
import { stage } from "./stage.js";

const startWorker = workersOf(join(import.meta.dirname, "race-worker.ts"));

/** Resolves once a worker's decider is asked, or once the worker has ended. */
function asked(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    worker.process.stdout?.once("data", () => resolve());
    worker.process.once("close", () => resolve());
  });
}

describe.each(Object.entries(PLACES))("on %s", (_, newPlace) => {
  it.each(Object.entries(SCENARIOS))("%s", async (_name, scenario) => scenario(await newPlace()));

  it("of two processes with a report each, one is accepted, and the other gets the current step", async () => {
    const place = await newPlace();
    const { engine, start } = await stage(place, []);
    const id = await start();
    const release = join(await temporaryFolder(), "release");
    const workers = ["success", "failure"].map((status) => startWorker(place.name, id, status, release));
    // Both deciders are asked about the accepted report: the second process continues with it.
    await Promise.all(workers.map(asked));
    await writeFile(release, "");
    const ends = await Promise.all(workers.map(({ ended }) => ended));
    expect(ends.map(({ errors, exitCode }) => ({ errors, exitCode }))).toEqual([
      { errors: "", exitCode: 0 },
      { errors: "", exitCode: 0 },
    ]);
    const told = ends.map(({ lines }): Record<string, string> => JSON.parse(lines.at(-1) ?? ""));
    expect(told.filter(({ currentStep }) => currentStep === "Test")).toHaveLength(1);
    const [other] = told.filter(({ code }) => code === "CONFLICT");
    expect(other?.message).toContain("the current step is Test");
    const entries = await engine.session(id).history();
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({ stepName: "Build", determinedNextStep: "Test" });
    expect(entries[0]?.report?.status).toBe(told[0]?.code === "CONFLICT" ? "failure" : "success");
    expect((await place.tables(id)).instance).toMatchObject({ current_step_name: "Test", status: "RUNNING" });
    expect(await engine.session(id).audit()).toMatchObject({ intact: true, versions: 3 });
  });
});
