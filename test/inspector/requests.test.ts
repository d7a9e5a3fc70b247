import { describe, expect, it } from "vitest";
import { startTwoPhases } from "../support/make-engine.js";
import { makeHouse } from "./house.js";

describe("paths of the API", () => {
  it.each([
    ...["about/x", "inbox/extra", "statistics/x", "events/x", "about/", "sessions/", "workflows/asking/x"],
    ...["sessions/ID/", "sessions/ID/attempts/", "sessions/ID/attempts/0/x", "sessions/ID/attempts/0/"],
    ...["sessions/ID/waiting/extra/foo", "sessions/ID/waiting/extra", "sessions/ID/commits/1", "sessions/ID/audit/x"],
    ...["sessions//attempts", "constructor", "", "/"],
  ])("are read to their end: %s is none", async (path) => {
    const { engine, send, pass } = await makeHouse();
    const id = await startTwoPhases(engine);
    const response = await send(`api/${path.replace("ID", id)}`, { headers: pass });
    expect([response.status, await response.json()]).toEqual([
      404,
      { error: { code: "NOT_FOUND", message: "There is nothing here." } },
    ]);
  });

  it.each(["abc", "-1", "1.5", "NaN", "1e3"])("name an attempt by its number, not by %s", async (index) => {
    const { engine, send, pass } = await makeHouse();
    const id = await startTwoPhases(engine);
    const response = await send(`api/sessions/${id}/attempts/${index}`, { headers: pass });
    const message = "attempt is not valid: a whole number expected";
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: "INVALID_INPUT", message } },
    ]);
    const known = await send(`api/sessions/${id}/attempts/0`, { headers: pass });
    expect(known.status).toBe(200);
  });

  it("of changes are read to their end, too", async () => {
    const { engine, post } = await makeHouse({ actions: ["pause"] });
    const id = await startTwoPhases(engine);
    const pause = { action: "pause", by: "ann", note: "lunch" };
    expect((await post(`sessions/${id}/action/x`, pause)).status).toBe(404);
    expect((await post(`sessions/${id}/action/`, pause)).status).toBe(404);
    expect((await post(`sessions/${id}/action`, pause)).status).toBe(200);
  });
});

describe("bodies", () => {
  it.each([
    ["null", "body is not valid: expected object, received null"],
    ["[]", "body is not valid: expected object, received array"],
    ["{", "body is not valid: JSON expected"],
    ['{"by":"ann","note":"x"}', "action is not valid: expected one of"],
    ['{"action":"pause","note":"x"}', "by is not valid: expected string, received undefined"],
    [`{"action":"pause","by":"${"x".repeat(201)}","note":"x"}`, "by is not valid: expected string to have <=200"],
  ])("that are not valid are refused in plain words: %s", async (body, message) => {
    const { engine, send, cookie, write } = await makeHouse({ actions: ["pause"] });
    const id = await startTwoPhases(engine);
    const headers = { ...write, cookie };
    const response = await send(`api/sessions/${id}/action`, { method: "POST", headers, body });
    const { error } = await response.json();
    expect([response.status, error.code]).toEqual([400, "INVALID_INPUT"]);
    expect(error.message.slice(0, message.length)).toBe(message);
  });
});
