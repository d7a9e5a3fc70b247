import { describe, expect, it } from "vitest";
import type { PhasedDetail, RoutedDetail, Times, Why } from "../../src/read/model.js";
import { whyText } from "../../src/read/why-text.js";
import { makeHouse } from "../inspector/house.js";

describe("why a session stands where it stands", () => {
  it.each<[why: Why, text: string]>([
    [{ standing: "working", at: "1 Read" }, "Works on 1 Read"],
    [{ standing: "done" }, "Done"],
    [
      {
        standing: "failed",
        at: "3 Test",
        reason: "npm test exits 1, discount.test.ts:88",
        attempts: { attempts: 3, limit: 3 },
      },
      "Failed at 3 Test: npm test exits 1, discount.test.ts:88. 3 of 3 attempts",
    ],
    [
      { standing: "refused", at: "3 Test", reason: "It is short.", attempts: { attempts: 1, limit: 3 } },
      "Refused at 3 Test: It is short. 1 of 3 attempts",
    ],
    [
      { standing: "paused", at: "3 Test", by: "ann", reason: "design review is on Thursday" },
      "Paused by ann: design review is on Thursday",
    ],
    [{ standing: "paused", at: "3 Test" }, "Paused at 3 Test"],
    [
      { standing: "needs_you", at: "2 Plan", waits: { for: "approval", by: ["ann", "bob"] } },
      "Waits for ann or bob to approve 2 Plan",
    ],
    [
      { standing: "needs_you", at: "2 Plan", waits: { for: "waiver", fields: ["coverage"] } },
      "Waits for somebody to waive coverage at 2 Plan",
    ],
    [
      { standing: "needs_you", at: "2 Plan", waits: { for: "host" }, reason: "no" },
      "Waits for the host to grant more attempts at 2 Plan: no",
    ],
  ])("is said in a sentence: %j", (why, text) => {
    expect(whyText(why)).toBe(text);
  });

  it.each<[why: Why, text: string]>([
    [{ standing: "working", at: "1 Read" }, "Works on 1 Read; no change for 4 days"],
    [{ standing: "working", at: "1 Read", reason: "It is so." }, "Works on 1 Read: It is so. No change for 4 days."],
  ])("says that nothing changes: %j", (why, text) => {
    expect(whyText(why, "no change for 4 days")).toBe(text);
  });

  it("has waits that end: with a refusal, with another request, and while it is paused", async () => {
    const { engine, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    const session = engine.session(sessionId);
    const waits = async () =>
      (await get<Times>(`sessions/${sessionId}/times`)).waits.map((one) => [one.for, "to" in one]);
    for (const note of ["a", "b"]) await session.completePhase(1, { tests_pass: true, note });
    expect(await waits()).toEqual([
      ["approval", true],
      ["approval", false],
    ]);
    await session.completePhase(1, { tests_pass: false });
    expect(await waits()).toEqual([
      ["approval", true],
      ["approval", true],
    ]);
    await session.completePhase(1, { tests_pass: true });
    await session.pause();
    expect((await waits()).slice(2)).toEqual([
      ["approval", true],
      ["paused", false],
    ]);
  });

  it("is what was waived, once that is granted: the refusal before does not stand any more", async () => {
    const { engine, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    const session = engine.session(sessionId);
    await session.completePhase(1, { summary: "done it", tests_pass: false });
    const { request } = await session.requestWaiver(1, { fields: ["tests_pass"], reason: "no runner" });
    await session.waive({ by: "ann", request });
    const { why, summary } = await get<PhasedDetail>(`sessions/${sessionId}`);
    expect(whyText(why)).toBe("Works on 1 Build: tests_pass waived by ann. The agent's reason: no runner");
    expect(summary).toMatchObject({ waived: true });
    expect(summary).not.toHaveProperty("refused");
    await session.completePhase(1, { summary: "done it" });
    expect((await get<PhasedDetail>(`sessions/${sessionId}`)).summary).toMatchObject({ waived: true, current: 2 });
  });

  it("is read from the session: what was found, asked and said", async () => {
    const { engine, routed, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    const sentence = async (id: string) => whyText((await get<PhasedDetail | RoutedDetail>(`sessions/${id}`)).why);
    expect(await sentence(sessionId)).toBe("Works on 1 Build");
    await engine.session(sessionId).completePhase(1, { summary: "x", tests_pass: true });
    expect(await sentence(sessionId)).toMatch(/^Refused at 1 Build: .*summary.* 1 of 3 attempts$/);
    await engine.session(sessionId).pause({ by: "ann", note: "lunch" });
    expect(await sentence(sessionId)).toBe("Paused by ann: lunch");
    await engine.session(sessionId).resume({});
    await engine.session(sessionId).pause();
    expect(await sentence(sessionId)).toBe("Paused at 1 Build");
    await engine.session(sessionId).resume({});
    for (let left = 2; left > 0; left -= 1) await engine.session(sessionId).completePhase(1, {});
    expect(await sentence(sessionId)).toMatch(/^Failed at 1 Build: .* 3 of 3 attempts$/);
    const asking = await engine.start({ workflowType: "asking", target: "src/b.ts" });
    await engine.session(asking.sessionId).completePhase(1, { tests_pass: true });
    expect(await sentence(asking.sessionId)).toMatch(/^Waits for .+ to approve 1 /);
    const instance = await routed.start({ workflow: "GARDEN" });
    expect(await sentence(instance.sessionId)).toMatch(/^Works on \w+$/);
  });
});
