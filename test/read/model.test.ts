import { describe, expect, it } from "vitest";
import type * as z from "zod/mini";
import * as model from "../../src/read/model.js";
import { makeHouse } from "../inspector/house.js";
import { built } from "../support/workflows.js";

/** Reads an answer of the API by its schema, and expects that the schema has all of it. */
async function read<T>(get: (path: string) => Promise<unknown>, path: string, schema: z.ZodMiniType<T>): Promise<T> {
  const answer = await get(path);
  const parsed = schema.parse(answer);
  expect(parsed).toEqual(answer);
  return parsed;
}

describe("what people are shown of sessions", () => {
  it("has the shape of its schemas, whatever the session is", async () => {
    const { engine, routed, get } = await makeHouse();
    const { sessionId: id } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    await engine.session(id).completePhase(1, {});
    await engine.session(id).completePhase(1, built);
    const asking = await engine.start({ workflowType: "asking", target: "src/b.ts" });
    const { sessionId } = await routed.start({ workflow: (await routed.listWorkflows())[0]?.name ?? "" });
    expect((await read(get, "sessions", model.sessionList)).items).toHaveLength(3);
    for (const one of [id, asking.sessionId, sessionId]) {
      await read(get, `sessions/${one}`, model.sessionDetail);
      await read(get, `sessions/${one}/audit`, model.findings);
    }
    expect((await read(get, `sessions/${id}/attempts`, model.attemptList)).total).toBeGreaterThan(1);
    await read(get, `sessions/${id}/attempts/1`, model.attemptDetail);
    await read(get, `sessions/${id}/commits`, model.commitList);
    expect((await read(get, `sessions/${id}/times`, model.times)).refusals).toHaveLength(1);
    await read(get, "inbox", model.inbox);
    await read(get, "statistics", model.statistics);
  });
});
