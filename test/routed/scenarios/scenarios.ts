/** The scenarios of the orchestrator's specification, section 13.3, through the API down to the database's tables. */
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Place } from "./place.js";
import { stage } from "./stage.js";

const reported = (status: string, more: object = {}) => ({ status, ...more });

/** The scenarios by name. */
export const SCENARIOS: Readonly<Record<string, (place: Place) => Promise<void>>> = {
  "loading: whole workflows are listed, a broken one is told of and can't be started": async (place) => {
    const { get, post } = await stage(place, []);
    const { status, body } = await get("list");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      workflows: ["DEPLOY"],
      goals: { DEPLOY: "The change is live." },
      broken: [{ workflow_name: "BROKEN" }],
    });
    const told = JSON.stringify(body.broken);
    expect(told).toContain("steps/build.md:1");
    expect(told).toContain("Orchestrator Guidance");
    expect(told).toContain("steps/test.md");
    const refused = await post("start", { workflow_name: "BROKEN" });
    expect(refused).toMatchObject({ status: 404, body: { error_code: "DEFINITION_NOT_FOUND" } });
  },

  "start: the instance is in the database, on the step that the decider has picked": async (place) => {
    const { post, decider, engine } = await stage(place, ["Test"], { firstStep: "decider" });
    const { status, body } = await post("start", { workflow_name: "DEPLOY", context: { change: 17 } });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        next_step: { step_name: "Test", instructions: "Run the tests." },
        current_context: { change: 17 },
      },
    });
    expect(decider.requests).toMatchObject([{ operation: "start", context: { change: 17 }, history: [] }]);
    const id = String(body.instance_id);
    expect((await place.tables(id)).instance).toMatchObject({
      workflow_name: "DEPLOY",
      current_step_name: "Test",
      status: "RUNNING",
      completed_at: null,
    });
    expect((await engine.session(id).history()).map(({ report }) => report)).toEqual([undefined]);
  },

  "advance: report, context and history are stored, and branches are followed": async (place) => {
    const { post, start, decider, get } = await stage(place, [
      "Test",
      { nextStep: "Repair", contextUpdates: { failing: 2 }, reasoning: "two tests fail" },
      "Test",
      "Release",
    ]);
    const instance_id = await start({ change: 17 });
    await post("advance", { instance_id, report: reported("success") });
    const failing = await post("advance", {
      instance_id,
      report: reported("failure", { error: "2 failed", details: { log: "a.test.ts" } }),
      context_updates: { ran: 40 },
    });
    expect(failing).toMatchObject({
      status: 200,
      body: {
        next_step: { step_name: "Repair", instructions: "Fix it." },
        current_context: { change: 17, ran: 40, failing: 2 },
        reasoning: "two tests fail",
      },
    });
    expect(decider.requests[1]).toMatchObject({
      operation: "advance",
      currentStep: "Test",
      context: { change: 17, ran: 40 },
      report: { status: "failure", error: "2 failed", details: { log: "a.test.ts" } },
      history: [{ stepName: "Build", outcomeStatus: "success", determinedNextStep: "Test" }],
    });
    expect(await place.tables(instance_id)).toMatchObject({
      instance: { current_step_name: "Repair", status: "RUNNING" },
    });
    await post("advance", { instance_id, report: reported("success") });
    const tested = await post("advance", { instance_id, report: reported("success") });
    expect(tested.body).toMatchObject({ next_step: { step_name: "Release" } });
    const { body } = await get(`history?instance_id=${instance_id}`);
    expect(body.history).toMatchObject([
      { step_name: "Build", outcome_status: "success", determined_next_step: "Test" },
      { step_name: "Test", outcome_status: "failure", determined_next_step: "Repair" },
      { step_name: "Repair", outcome_status: "success", determined_next_step: "Test" },
      { step_name: "Test", outcome_status: "success", determined_next_step: "Release" },
    ]);
  },

  "resume: what is stored and what the client thinks are brought together": async (place) => {
    const { post, start, decider, engine } = await stage(place, ["Test", "Repair"]);
    const instance_id = await start();
    await post("advance", { instance_id, report: reported("success") });
    await post("suspend", { instance_id, reason: "night" });
    expect((await place.tables(instance_id)).instance).toMatchObject({ status: "SUSPENDED" });
    const refused = await post("advance", { instance_id, report: reported("success") });
    expect(refused).toMatchObject({ status: 409, body: { error_code: "INVALID_TRANSITION" } });
    const resumed = await post("resume", {
      instance_id,
      assumed_current_step_name: "Build",
      report: reported("resuming", { message: "the tests failed yesterday" }),
      context_updates: { day: 2 },
    });
    expect(resumed.body).toMatchObject({ next_step: { step_name: "Repair" }, current_context: { day: 2 } });
    expect(decider.requests[1]).toMatchObject({
      operation: "resume",
      assumedStep: "Build",
      currentStep: "Test",
      report: { message: "the tests failed yesterday" },
    });
    expect((await place.tables(instance_id)).instance).toMatchObject({
      status: "RUNNING",
      current_step_name: "Repair",
    });
    expect((await engine.session(instance_id).history()).at(-1)).toMatchObject({
      outcomeStatus: "RESUMING",
      assumedStep: "Build",
      determinedNextStep: "Repair",
    });
  },

  "completion: FINISH ends it, and says when": async (place) => {
    const { post, start } = await stage(place, ["FINISH"]);
    const instance_id = await start();
    const end = await post("advance", { instance_id, report: reported("success") });
    expect(end.body).toMatchObject({ status: "COMPLETED", next_step: { step_name: "FINISH" }, allowed: [] });
    const { instance, entries } = await place.tables(instance_id);
    expect(instance).toMatchObject({ status: "COMPLETED" });
    expect(instance.completed_at).not.toBeNull();
    const again = await post("advance", { instance_id, report: reported("more") });
    expect(again.body).toMatchObject({ status: "COMPLETED" });
    expect((await place.tables(instance_id)).entries).toBe(entries);
  },

  "failure: the decider's word fails it, and retry goes on": async (place) => {
    const { post, start } = await stage(place, [
      { nextStep: "Repair", statusSuggestion: "FAILED", reasoning: "the disk is full" },
      "Test",
    ]);
    const instance_id = await start();
    const failed = await post("advance", { instance_id, report: reported("failure") });
    expect(failed).toMatchObject({ status: 200, body: { status: "FAILED", reason: "the disk is full" } });
    const { instance } = await place.tables(instance_id);
    expect(instance).toMatchObject({ status: "FAILED", current_step_name: "Repair" });
    expect(instance.completed_at).not.toBeNull();
    expect((await post("retry", { instance_id })).body).toMatchObject({ status: "RUNNING" });
    const next = await post("advance", { instance_id, report: reported("success") });
    expect(next.body).toMatchObject({ next_step: { step_name: "Test" } });
  },

  "failure: a decider that hangs is given up, and the report kept": async (place) => {
    const script = (asked: { readonly context: object }) =>
      "fixed" in asked.context ? "Test" : new Promise<never>(() => {});
    const options = { limits: { deciderDeadlineMs: 50 } };
    const { post, start, engine } = await stage(place, script, options);
    const instance_id = await start();
    const report = reported("success", { details: { artifact: "a.tgz" } });
    const given = await post("advance", { instance_id, report, context_updates: { size: 3 } });
    expect(given).toMatchObject({
      status: 502,
      body: { error_code: "AI_SERVICE_ERROR", details: { code: "DECIDER_FAILED", reason: "timeout" } },
    });
    expect((await place.tables(instance_id)).instance).toMatchObject({ status: "FAILED", current_step_name: "Build" });
    expect((await engine.session(instance_id).history())[0]).toMatchObject({ report });
    const again = await stage(place, ["Test"]);
    expect((await again.post("retry", { instance_id })).body).toMatchObject({
      next_step: { step_name: "Test" },
      current_context: { size: 3 },
    });
    expect(again.decider.requests).toMatchObject([{ operation: "advance", report }]);
  },

  "before any decider: wrong requests change nothing": async (place) => {
    const { post, start, decider } = await stage(place, []);
    const instance_id = await start();
    const { entries } = await place.tables(instance_id);
    for (const [path, body, status, error_code] of [
      ["start", "{", 400, "INVALID_FORMAT"],
      ["start", {}, 400, "MISSING_FIELD"],
      ["start", { workflow_name: "DEPLOY", context: [] }, 400, "INVALID_TYPE"],
      ["start", { workflow_name: "NONE" }, 404, "DEFINITION_NOT_FOUND"],
      ["advance", { instance_id }, 400, "MISSING_FIELD"],
      ["advance", { instance_id, report: "done" }, 400, "INVALID_TYPE"],
      ["advance", { instance_id, report: reported("success"), context_updates: 3 }, 400, "INVALID_TYPE"],
      ["advance", { instance_id: "no-such-one", report: reported("success") }, 404, "INSTANCE_NOT_FOUND"],
      ["resume", { instance_id, report: reported("resuming") }, 400, "MISSING_FIELD"],
      [
        "resume",
        { instance_id: "no-such-one", assumed_current_step_name: "Build", report: reported("resuming") },
        404,
        "INSTANCE_NOT_FOUND",
      ],
    ] as const) {
      expect(await post(path, body)).toMatchObject({ status, body: { error_code } });
    }
    expect(decider.requests).toEqual([]);
    expect((await place.tables(instance_id)).entries).toBe(entries);
  },

  "before any decider: a workflow that is gone fails its instances, until it is back": async (place) => {
    const { post, start, root, get } = await stage(place, ["Test"]);
    const instance_id = await start();
    const [there, away] = [join(root, "DEPLOY"), join(root, ".away")];
    await rename(there, away);
    const refused = await post("start", { workflow_name: "DEPLOY" });
    expect(refused).toMatchObject({ status: 404, body: { error_code: "DEFINITION_NOT_FOUND" } });
    const gone = await post("advance", { instance_id, report: reported("success") });
    expect(gone).toMatchObject({ status: 500, body: { error_code: "DEFINITION_UNAVAILABLE" } });
    expect((await place.tables(instance_id)).instance).toMatchObject({ status: "FAILED" });
    await rename(away, there);
    expect((await post("retry", { instance_id })).body).toMatchObject({ next_step: { step_name: "Test" } });
    await rm(root, { recursive: true });
    expect(await get("list")).toMatchObject({ status: 500, body: { error_code: "DEFINITION_SERVICE_ERROR" } });
    const lost = await post("advance", { instance_id, report: reported("success") });
    expect(lost).toMatchObject({ status: 500, body: { error_code: "DEFINITION_UNAVAILABLE" } });
    expect((await place.tables(instance_id)).instance).toMatchObject({ status: "FAILED" });
  },

  "before any decider: a database that fails is told as such": async (place) => {
    const { post, start, decider } = await stage(place, ["Test"]);
    const instance_id = await start();
    await place.destroy();
    for (const [path, body] of [
      ["start", { workflow_name: "DEPLOY" }],
      ["advance", { instance_id, report: reported("success") }],
      ["resume", { instance_id, assumed_current_step_name: "Build", report: reported("resuming") }],
    ] as const) {
      const refused = await post(path, body);
      expect(refused).toMatchObject({ status: 500, body: { error_code: "PERSISTENCE_ERROR" } });
      expect(JSON.stringify(refused.body)).not.toMatch(/commits|SELECT|INSERT/);
    }
    expect(decider.requests).toEqual([]);
  },
};
