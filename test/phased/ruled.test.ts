import { createEngine, MemoryStorage } from "phasegate";
import type { Verifier } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { startVerified } from "../support/verified.js";

const OPEN = "evidence_schema: {count: {type: integer}}\n";
/** Returns a gate with one rule on its fields. */
const ruled = (rule: string, more = "") =>
  `${OPEN}cross_field_validation: [{rule: '${rule}', error_message: no}]\n${more}`;

describe("rules in a session", () => {
  it("block the gate, with their author's message", async () => {
    const { submit } = await startVerified([ruled("evidence.count > 2"), OPEN]);
    expect(await submit({ count: 2 })).toMatchObject({
      passed: false,
      problems: [{ message: expect.stringMatching(/: no$/) }],
    });
    expect(await submit({ count: 3 })).toMatchObject({ passed: true });
  });

  it("warn with `strict: false`, in the answer and in the log", async () => {
    const { submit } = await startVerified([ruled("evidence.count > 2", "checkpoint: {strict: false}\n"), OPEN]);
    expect(await submit({ count: 2 })).toMatchObject({
      passed: true,
      warnings: [{ message: expect.stringMatching(/: no$/) }],
    });
  });

  it("can read artifacts of earlier phases, but not those that a rollback removed", async () => {
    const gates = [OPEN, OPEN, ruled('evidence.count == artifacts["1"].count && size(artifacts) == 2')];
    const { engine, sessionId, submit } = await startVerified(gates);
    await submit({ count: 5 });
    await submit({ count: 6 }, 2);
    expect(await submit({ count: 6 }, 3)).toMatchObject({ passed: false });
    await engine.session(sessionId).rollback(1);
    await submit({ count: 7 });
    await submit({ count: 6 }, 2);
    expect(await submit({ count: 7 }, 3)).toMatchObject({ passed: true });
  });

  it("can read the session and the number of the attempt", async () => {
    const rule = 'session.attempt == 2 && session.phase == 1 && session.target == "src/a.ts" && session.id != ""';
    const { submit } = await startVerified([ruled(rule), OPEN]);
    expect(await submit({ count: 1 })).toMatchObject({ passed: false, attempt: 1 });
    expect(await submit({ count: 1 })).toMatchObject({ passed: true, attempt: 2 });
  });
});

/** A verifier that runs a function when it is called, and records its calls. */
function meanwhile(happen: () => Promise<unknown>): Verifier & { readonly runs: number[] } {
  const runs: number[] = [];
  return {
    runs,
    async verify() {
      runs.push(runs.length + 1);
      if (runs.length === 1) await happen();
      return { ok: true, message: "seen" };
    },
  };
}

describe("a verdict after another writer's commit", () => {
  const verified = `${OPEN}verify: slow\n`;

  it("is kept if nothing that it depends on has changed", async () => {
    const storage = new MemoryStorage();
    const slow = meanwhile(async () => {
      const other = createEngine({ storage, content: made.content });
      await other.session(made.sessionId).pause();
      await other.session(made.sessionId).resume();
    });
    const made = await startVerified([verified, OPEN], { storage, verifiers: { slow } });
    const conflicts: number[] = [];
    made.engine.on("conflict", ({ version }) => conflicts.push(version));
    expect(await made.submit({ count: 1 })).toMatchObject({ passed: true });
    expect(conflicts).toEqual([2]);
    expect(slow.runs).toEqual([1]);
  });

  it("is kept after another failed attempt, unless a rule reads the attempt", async () => {
    const runsWith = async (gate: string) => {
      const storage = new MemoryStorage();
      const slow = meanwhile(() =>
        createEngine({ storage, content: made.content, verifiers: { slow } })
          .session(made.sessionId)
          .completePhase(1, { count: "none" }),
      );
      const made = await startVerified([gate, OPEN], { storage, verifiers: { slow } });
      expect(await made.submit({ count: 1 })).toMatchObject({ passed: true, attempt: 2 });
      return slow.runs.length;
    };
    expect(await runsWith(verified)).toBe(1);
    expect(await runsWith(ruled("session.attempt < 3", "verify: slow\n"))).toBe(2);
  });

  it("is computed again if the session was rolled back and returned with other artifacts", async () => {
    const storage = new MemoryStorage();
    const slow = meanwhile(async () => {
      const other = createEngine({ storage, content: made.content });
      await other.session(made.sessionId).rollback(1);
      await other.session(made.sessionId).completePhase(1, { count: 8 });
    });
    const rule = ruled('evidence.count == artifacts["1"].count', "verify: slow\n");
    const made = await startVerified([OPEN, rule], { storage, verifiers: { slow } });
    await made.submit({ count: 7 });
    expect(await made.submit({ count: 7 }, 2)).toMatchObject({
      passed: false,
      problems: [{ message: expect.stringMatching(/: no$/) }],
    });
  });
});
