import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryRoots } from "../../storage/files/temporary-root.js";
import { newSchema, postgresUrl } from "../../support/postgres.js";
import { workersOf } from "../../support/worker-process.js";
import { routed, Script } from "./garden.js";
import { openPlace } from "./open-place.js";

const newRoot = temporaryRoots();
const startWorker = workersOf(join(import.meta.dirname, "crash-worker.ts"));

const PLACES: Readonly<Record<string, () => Promise<string>>> = {
  files: async () => join(await newRoot(), "state"),
  SQLite: async () => join(await newRoot(), "state.db"),
  PostgreSQL: async () => `${await postgresUrl()}#${newSchema()}`,
};

/** Instances whose reports are written at the same time. */
const INSTANCES = 8;

/** Creates instances whose reports were written by a process that was killed before the decisions. */
async function killed(place: string, ...moves: ConstructorParameters<typeof Script>) {
  const decider = new Script(...moves);
  const storage = await openPlace(place);
  const { engine } = routed(decider, { storage });
  const ids: string[] = [];
  for (let index = 0; index < INSTANCES; index += 1) {
    ids.push((await engine.start({ workflow: "GARDEN", context: { bed: "north" } })).sessionId);
  }
  const worker = startWorker(place, ...ids);
  let output = "";
  await new Promise<void>((resolve) => {
    worker.process.stdout?.on("data", (text: string) => {
      output += text;
      if (output.split("\n").length > INSTANCES) resolve();
    });
    worker.process.once("close", () => resolve());
  });
  worker.process.kill("SIGKILL");
  const { errors } = await worker.ended;
  expect(errors).toBe("");
  const [id = "", ...others] = ids;
  return { engine, decider, id, others };
}

describe.each(Object.entries(PLACES))("a process that is killed between report and decision, on %s", (_, newPlace) => {
  it("loses nothing: the repeated call continues with its report", { timeout: 120_000 }, async () => {
    const { engine, decider, id, others } = await killed(await newPlace(), "Sow");
    for (const one of [id, ...others]) {
      expect(await engine.session(one).state()).toMatchObject({
        status: "active",
        pending: { operation: "advance" },
        context: { bed: "north", depth: 20 },
      });
    }
    const request = {
      report: { status: "success", message: "dug" },
      contextUpdates: { depth: 20 },
      idempotencyKey: "dig",
    };
    expect(await engine.session(id).advance(request)).toMatchObject({
      currentStep: "Sow",
      context: { bed: "north", depth: 20 },
    });
    expect(decider.requests).toMatchObject([{ report: { message: "dug" } }]);
    expect(await engine.session(id).history()).toHaveLength(1);
    expect(await engine.session(id).audit()).toMatchObject({ intact: true });
    await engine.close();
  });

  it("leaves an instance that a client can resume", { timeout: 120_000 }, async () => {
    const { engine, decider, id } = await killed(await newPlace(), "Water");
    const next = await engine.session(id).resume({ assumedStep: "Sow", report: { status: "resuming" } });
    expect(next).toMatchObject({ currentStep: "Water", nextStep: { instructions: "Water them." } });
    expect(decider.requests).toMatchObject([{ operation: "resume", history: [{ report: { message: "dug" } }] }]);
    await engine.close();
  });
});
