import { describe, expect, it } from "vitest";
import type { SessionCommand } from "../../../src/phased/state/commands.js";
import { isRefused } from "../../../src/phased/state/head.js";
import type { GateDefinition } from "../../../src/workflow/structure.js";
import { asking, granted, phaseOf, Run, structureOf, submit, waiver, waiverWord } from "./run.js";

const GATE: GateDefinition = {
  kind: "fields",
  strict: true,
  allowOverride: false,
  source: "gate-file",
  fields: [
    { name: "tests", type: "boolean", required: true },
    { name: "docs", type: "boolean", required: true },
    { name: "legal", type: "boolean", required: true, waivable: false },
  ],
};

/** Returns a session in the first of two phases. */
function atWork(gate: GateDefinition = GATE): Run {
  const run = new Run(structureOf([phaseOf(1, { gate }), 2]), { maxAttempts: 2, maxAttemptsTotal: 12 });
  run.ask({ type: "start", target: "src/a.ts", options: {} });
  return run;
}

describe("a request for a waiver", () => {
  it("waits for a person without counting as an attempt", () => {
    const run = atWork();
    expect(run.ask(waiver(1))).toBeUndefined();
    expect(run.head).toMatchObject({ status: "active", attempts: 0, waiver: { version: 2 } });
    expect(run.log.at(-1)?.event).toEqual({
      ...{ type: "waiver_requested", phase: 1, fields: ["tests"], reason: "there are none" },
    });
  });

  it("names the approvers of the gate", () => {
    const run = atWork(asking());
    run.ask(waiver(1));
    expect(run.log.at(-1)?.event).toMatchObject({ approvers: ["ann"] });
  });

  it.each([
    ["an unknown name", ["test"], "INVALID_INPUT", /requires nothing called "test" \(did you mean "tests"\?\)/],
    ["a name that is nothing like one", ["zzzzzz"], "INVALID_INPUT", /requires nothing called "zzzzzz"$/],
    ["no name", [], "INVALID_INPUT", /1 to 50/],
    ["too many names", Array.from({ length: 51 }, (_, index) => `n${index}`), "INVALID_INPUT", /1 to 50/],
    ["a field that the author excludes", ["tests", "legal"], "NOT_ALLOWED", /no waiver of "legal"/],
  ] as const)("is refused for %s", (_, fields, code, message) => {
    expect(atWork().ask(waiver(1, fields))).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it("is refused with the first names of a long list", () => {
    const fields = Array.from({ length: 30 }, (_, at) => ({ name: `f${at}`, type: "any", required: true }) as const);
    const error = atWork({ ...GATE, fields: [...fields] }).ask(waiver(1, ["none of them"]));
    expect(error?.remedy).toMatch(/of: f0, f1, .*f19, and 10 more\.$/);
  });

  it("is refused if the gate shows nothing that can be waived", () => {
    for (const gate of [{ ...GATE, reveal: "none" as const }, { kind: "open", allowOverride: false } as const]) {
      expect(atWork(gate).ask(waiver(1))).toMatchObject({
        code: "NOT_ALLOWED",
        remedy: expect.stringMatching(/pause/),
      });
    }
  });

  it("is refused for another phase, with a long reason, and while the session is paused", () => {
    const run = atWork();
    expect(run.ask(waiver(2))).toMatchObject({ code: "PHASE_LOCKED" });
    expect(run.ask(waiver(1, ["tests"], "x".repeat(2001)))).toMatchObject({ code: "INVALID_INPUT" });
    run.ask({ type: "pause" });
    expect(run.ask(waiver(1))).toMatchObject({ code: "INVALID_TRANSITION" });
  });

  it("is refused while complete evidence waits for an approval", () => {
    const run = atWork(asking());
    run.ask(submit(1));
    const error = run.ask(waiver(1));
    expect(error).toMatchObject({
      code: "INVALID_TRANSITION",
      message: expect.stringMatching(/waits for an approval/),
    });
  });

  it("is possible in a failed session, which stays failed", () => {
    const run = atWork();
    run.ask(submit(1, false));
    run.ask(submit(1, false));
    expect(run.ask(waiver(1))).toBeUndefined();
    run.ask(waiverWord(run, "waive"));
    expect(run.head).toMatchObject({ status: "failed", waived: [{ fields: ["tests"] }] });
    run.ask({ type: "retryPhase", phase: 1, resetEvidence: true, by: "agent" });
    expect(run.head).toMatchObject({ status: "active", attempts: 0, waived: [{ fields: ["tests"] }] });
  });

  it("replaces an open request, and leaves out what is already waived", () => {
    const run = atWork();
    run.ask(waiver(1));
    const old = waiverWord(run, "waive");
    run.ask(waiver(1, ["docs"]));
    expect(run.ask(old)).toMatchObject({ code: "APPROVAL_REFUSED", details: { reason: "other_request" } });
    run.ask(waiverWord(run, "waive"));
    run.ask(waiver(1, ["docs", "tests"]));
    expect(run.log.at(-1)?.event).toMatchObject({ fields: ["tests"] });
    run.ask(waiverWord(run, "waive"));
    expect(run.ask(waiver(1, ["tests", "docs"]))).toMatchObject({ message: '"tests", "docs": waived already' });
  });
});

describe("evidence that says what can't be claimed", () => {
  const failing = (unmet: Record<string, string>, ...fields: string[]): SessionCommand => {
    const problems = fields.map((field) => ({ field, problem: "missing", message: "no" }) as const);
    const verdict = { passed: false, problems, warnings: [] } as const;
    return { ...submit(1), verdict, unmet: new Map(Object.entries(unmet)) };
  };
  const requested = (fields: string[], reason: string) => {
    return { type: "waiver_requested", phase: 1, fields, reason };
  };

  it("asks for a waiver, and is no attempt if nothing else is wrong", () => {
    const run = atWork().do(failing({ tests: "there are none" }, "tests"));
    expect(run.types(2)).toEqual(["gate_failed", "waiver_requested"]);
    expect(run.log.at(-2)?.event).toMatchObject({ attempt: 1, uncounted: true });
    expect(run.log.at(-1)?.event).toEqual(requested(["tests"], "there are none"));
    expect(run.state).toMatchObject({ attempts: 0, waiver: { version: 2 }, waiverRequests: 1 });
    const two = atWork().do(failing({ tests: "there are none", docs: "later" }, "docs", "tests"));
    expect(two.log.at(-1)?.event).toEqual(requested(["tests", "docs"], "tests: there are none; docs: later"));
    const long = atWork().do(failing({ tests: "x".repeat(2001) }, "tests"));
    expect(long.log.at(-1)?.event).toEqual(requested(["tests"], "x".repeat(2000)));
  });

  it("asks, but is an attempt if something else is wrong", () => {
    const run = atWork().do(failing({ tests: "there are none" }, "tests", "docs"));
    expect(run.types(2)).toEqual(["gate_failed", "waiver_requested"]);
    expect(run.state).toMatchObject({ attempts: 1, waiver: { version: 2 } });
  });

  it("asks once in a visit to its phase, and is an attempt after that", () => {
    const again = failing({ tests: "there are none" }, "tests");
    const open = atWork().do(waiver(1), again);
    const denied = atWork().do(again);
    denied.do(waiverWord(denied, "denyWaiver"), again);
    const grantedOnce = atWork().do(waiver(1));
    grantedOnce.do(waiverWord(grantedOnce, "waive"), failing({ docs: "later" }, "docs"));
    for (const run of [open, denied]) expect([run.types(1), run.state.attempts]).toEqual([["gate_failed"], 1]);
    denied.do(again);
    expect(denied.types(2)).toEqual(["gate_failed", "failed"]);
    expect(grantedOnce.log.at(-1)?.event).toEqual(requested(["docs"], "later"));
  });

  it("is an attempt alone if no waiver of that is possible", () => {
    const run = atWork().do(failing({ legal: "no lawyer" }, "legal"));
    expect([run.types(1), run.state.attempts]).toEqual([["gate_failed"], 1]);
  });
});

describe("a waiver", () => {
  it("is for the visit to its phase: a rollback needs a new one", () => {
    const run = atWork();
    run.ask(waiver(1));
    run.ask(waiverWord(run, "waive", { note: "fine" }));
    run.ask({ ...submit(1), waived: granted(run.head) });
    expect(run.head).toMatchObject({ phase: 2, withWaivers: [[0, 0]] });
    expect(run.head?.waived).toBeUndefined();
    run.ask({ type: "rollback", to: 1, by: "agent" });
    expect(run.head).toMatchObject({ phase: 1, withWaivers: [] });
    expect(run.head?.waived).toBeUndefined();
  });

  it("stays after a failed attempt, and so does an open request", () => {
    const run = atWork();
    run.ask(waiver(1));
    run.ask(waiverWord(run, "waive"));
    run.ask(waiver(1, ["docs"]));
    run.ask(submit(1, false));
    expect(run.head).toMatchObject({ attempts: 1, waived: [{ fields: ["tests"] }], waiver: { version: 4 } });
  });

  it("that was granted since a refusal may be all that was lacking", () => {
    const run = atWork();
    run.do(waiver(1));
    run.do(waiverWord(run, "waive"));
    expect(isRefused(run.state)).toBe(false);
    run.do(submit(1, false));
    expect(isRefused(run.state)).toBe(true);
    run.do(waiver(1, ["docs"]));
    expect(isRefused(run.state)).toBe(true);
    run.do(waiverWord(run, "waive"));
    expect(isRefused(run.state)).toBe(false);
    expect(isRefused(run.do(submit(1)).state)).toBe(false);
    expect(isRefused(run.do(submit(2, false)).state)).toBe(true);
  });

  it("ends when the gate may have changed", () => {
    const run = atWork();
    run.ask(waiver(1));
    run.ask(waiverWord(run, "waive"));
    run.ask({ type: "migrate", structure: { ...run.structure, revision: "r2" }, by: "ann" });
    expect(run.head?.waived).toBeUndefined();
  });

  it("can be granted and denied while the session is paused", () => {
    const run = atWork();
    run.ask(waiver(1));
    run.ask({ type: "pause", note: "asked for a waiver" });
    expect(run.ask(waiverWord(run, "waive"))).toBeUndefined();
    expect(run.head).toMatchObject({ status: "paused", waived: [{ fields: ["tests"] }] });
  });

  it("can be denied with what to do instead, which is shown until the next attempt", () => {
    const run = atWork();
    run.ask(waiver(1));
    run.ask(waiverWord(run, "denyWaiver"));
    expect(run.head).toMatchObject({ attempts: 0, waiver: { version: 3, denied: true } });
    expect(run.ask(waiverWord(run, "waive"))).toMatchObject({ details: { reason: "not_waiting" } });
    run.ask(submit(1, false));
    expect(run.head?.waiver).toBeUndefined();
  });

  it("is refused if its note is too long, and is recorded with its signature", () => {
    const run = atWork();
    run.ask(waiver(1));
    expect(run.ask(waiverWord(run, "waive", { note: "x".repeat(2001) }))).toMatchObject({ code: "INVALID_INPUT" });
    const signature = { signedAt: "2026-01-01T00:00:00.000Z", value: "v" };
    run.ask(waiverWord(run, "waive", { authenticated: true, signature, keyId: "k" }));
    expect(run.log.at(-1)?.event).toMatchObject({ authenticated: true, signature, keyId: "k", by: "ann" });
  });
});
