import { describe, expect, it } from "vitest";
import { PhasegateError } from "../../../src/errors.js";
import { type RunVerifiersOptions, runVerifiers, type VerifyCheck } from "../../../src/phased/verify/run-verifiers.js";
import { takeSnapshots } from "../../../src/phased/verify/snapshots.js";
import type { Verifier } from "../../../src/ports/verifier.js";

const session = { id: "s_1", workflowType: "w", target: "src/a.ts", phase: 1, specPath: "specs/a" };
const fine = { ok: true, message: "fine" };
const check = (verifier: string, params: VerifyCheck["request"]["params"] = {}, value?: string): VerifyCheck => ({
  verifier,
  request: { params, evidence: { file: "b.md" }, session, ...(value === undefined ? {} : { value }) },
});

/** Returns a verifier that ends on request, and counts its concurrent calls. */
function held() {
  const waiting: (() => void)[] = [];
  let most = 0;
  const verifier: Verifier = {
    async verify({ value }) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        most = Math.max(most, waiting.length);
      });
      return { ok: true, message: String(value) };
    },
  };
  return { verifier, waiting, most: () => most };
}

const run = (checks: VerifyCheck[], verifiers: Record<string, Verifier>, options?: RunVerifiersOptions) =>
  runVerifiers(checks, verifiers, options);

describe("runVerifiers", () => {
  it("says of each verifier when it begins and ends, also of one that throws", async () => {
    const told: unknown[] = [];
    const onCheck = (index: number, ok?: boolean) => void told.push([index, ok]);
    const thrown: Verifier = {
      async verify() {
        throw new Error("no such program");
      },
    };
    await run([check("thrown"), check("fine")], { thrown, fine: { verify: async () => fine } }, { onCheck, limit: 1 });
    expect(told).toEqual([
      [0, undefined],
      [0, false],
      [1, undefined],
      [1, true],
    ]);
  });

  it("returns results in the order of the checks, with params filled in", async () => {
    const asked: unknown[] = [];
    const echo: Verifier = {
      verbatim: ["pattern"],
      async verify({ params, value }) {
        asked.push(params, value);
        return { ...fine, ran: "echo", exit: 0, digest: "d", output: ["a"], extra: "no" };
      },
    };
    const params = { path: "{spec_path}/{evidence.file}", pattern: "{target_file}" };
    const outcomes = await run([check("echo", params, "v"), check("echo")], { echo });
    expect(asked).toEqual([{ path: "specs/a/b.md", pattern: "{target_file}" }, "v", {}, undefined]);
    const outcome = { verifier: "echo", ...fine, ran: "echo", exit: 0, digest: "d", output: ["a"] };
    expect(outcomes).toEqual([outcome, outcome]);
    expect(await run([], { echo })).toEqual([]);
  });

  it.each([1, 2, 9])("begins the others once those that may write have ended, %d at once", async (limit) => {
    const told: unknown[] = [];
    const slow: Verifier = { mayWrite: true, verify: () => new Promise((resolve) => setTimeout(resolve, 10, fine)) };
    const onCheck = (index: number, ok?: boolean) => void told.push([index, ok]);
    const checks = [check("reads"), check("slow"), check("reads"), check("slow")];
    const outcomes = await run(checks, { slow, reads: { verify: async () => fine } }, { onCheck, limit });
    expect(outcomes.map(({ verifier }) => verifier)).toEqual(["reads", "slow", "reads", "slow"]);
    const begun = told.findIndex((one) => JSON.stringify(one) === "[0,null]");
    expect(told.slice(0, begun)).toEqual(
      expect.arrayContaining([
        [1, true],
        [3, true],
      ]),
    );
  });

  it("runs all checks at once without a limit", async () => {
    const { verifier, waiting, most } = held();
    const running = run([check("held", {}, "a"), check("held", {}, "b")], { held: verifier }, { limit: Infinity });
    await expect.poll(() => waiting.length).toBe(2);
    for (const end of waiting) end();
    expect((await running).map(({ message }) => message)).toEqual(["a", "b"]);
    expect(most()).toBe(2);
  });

  it("runs checks concurrently, up to the limit", async () => {
    const { verifier, waiting, most } = held();
    const checks = ["a", "b", "c", "d", "e"].map((value) => check("held", {}, value));
    const running = run(checks, { held: verifier }, { limit: 2 });
    for (let ended = 0; ended < checks.length; ended += 1) {
      await expect.poll(() => waiting.length).toBeGreaterThan(0);
      // The last started check ends first: the checks end in another order than the results.
      waiting.pop()?.();
    }
    expect((await running).map(({ message }) => message)).toEqual(["a", "b", "c", "d", "e"]);
    expect(most()).toBe(2);
  });

  it("fails the check if a verifier throws; only the host gets the cause", async () => {
    const failures: unknown[] = [];
    const boom = new Error("/home/me/secret");
    const verifiers: Record<string, Verifier> = {
      rejects: { verify: () => Promise.reject(boom) },
      throws: {
        verify() {
          throw boom;
        },
      },
      ours: {
        verify() {
          throw new PhasegateError("BUSY", "too many at once", { remedy: "Wait.", details: { running: 1, limit: 1 } });
        },
      },
      fine: { verify: async () => fine },
    };
    const outcomes = await run(
      Object.keys(verifiers).map((name) => check(name)),
      verifiers,
      {
        onFailure: ({ verifier }, error) => failures.push([verifier, error]),
      },
    );
    expect(outcomes).toEqual([
      { verifier: "rejects", ok: false, failed: true, message: 'the verifier "rejects" failed; the gate stays shut' },
      { verifier: "throws", ok: false, failed: true, message: 'the verifier "throws" failed; the gate stays shut' },
      expect.objectContaining({ failed: true, message: expect.stringContaining("too many at once") }),
      { verifier: "fine", ...fine },
    ]);
    expect(failures.slice(0, 2)).toEqual([
      ["rejects", boom],
      ["throws", boom],
    ]);
  });

  it.each([undefined, null, "ok", true, {}, { ok: "true", message: "x" }, { ok: 1, message: "x" }, { ok: true }])(
    "refuses %j as a result",
    async (given) => {
      // A verifier that is written in JavaScript may return any value.
      const odd = { verify: async () => given } as unknown as Verifier;
      expect(await run([check("odd")], { odd })).toMatchObject([{ ok: false, failed: true }]);
    },
  );

  it("limits the size of recorded results", async () => {
    const long = "x".repeat(10_000);
    const given = {
      ok: false,
      message: long,
      ran: long,
      exit: Number.NaN,
      digest: long,
      output: Array(100).fill(long),
    };
    const [outcome] = await run([check("long")], { long: { verify: async () => given } });
    expect(outcome?.message).toHaveLength(2000);
    expect(outcome?.output).toHaveLength(50);
    expect(outcome?.output?.[0]).toHaveLength(500);
    expect(outcome).not.toHaveProperty("exit");
  });

  it("fails the check if the verifier is not registered, even for names of built-in object properties", async () => {
    for (const name of ["none", "toString", "__proto__"]) {
      const [outcome] = await run([check(name)], {});
      expect(outcome).toMatchObject({ ok: false, failed: true, message: expect.stringContaining("not registered") });
    }
  });

  it("tells the agent what to fix if a placeholder has no value", async () => {
    let ran = false;
    const never: Verifier = {
      async verify() {
        ran = true;
        return fine;
      },
    };
    const [missing] = await run([check("never", { path: "{evidence.none}" })], { never });
    expect(missing).toEqual({
      verifier: "never",
      ok: false,
      message: "nothing is known for {evidence.none}: the evidence has no such field. Submit evidence.none.",
    });
    expect(ran).toBe(false);
  });

  it("ends all checks at one deadline, even those that ignore the signal or have not started", async () => {
    const aborted: boolean[] = [];
    const deaf: Verifier = {
      verify: (_, { signal }) => {
        signal.addEventListener("abort", () => aborted.push(true));
        return new Promise(() => {});
      },
    };
    const quick: Verifier = { verify: async () => fine };
    const outcomes = await run(
      [check("quick"), check("deaf"), check("deaf"), check("quick")],
      { deaf, quick },
      {
        limit: 2,
        deadlineMs: 100,
      },
    );
    expect(outcomes.map(({ ok, failed }) => [ok, failed])).toEqual([
      [true, undefined],
      [false, true],
      [false, true],
      [false, true],
    ]);
    expect(outcomes[1]?.message).toContain("had not ended at the deadline");
    expect(aborted).toEqual([true, true]);
  });

  it("ends when the caller aborts, before or while it runs", async () => {
    const stop = new AbortController();
    const deaf: Verifier = { verify: () => new Promise(() => stop.abort()) };
    const outcomes = await run([check("deaf")], { deaf }, { signal: stop.signal });
    expect(outcomes).toMatchObject([{ ok: false, failed: true, message: expect.stringContaining("was stopped") }]);
    let ran = false;
    const noted: Verifier = {
      async verify() {
        ran = true;
        return fine;
      },
    };
    expect(await run([check("noted")], { noted }, { signal: stop.signal })).toMatchObject([{ failed: true }]);
    expect(ran).toBe(false);
  });
});

describe("takeSnapshots", () => {
  it("returns the snapshots in the order of the checks", async () => {
    const verifiers: Record<string, Verifier> = {
      seen: { verify: async () => fine, snapshot: async ({ params }) => [params] },
      none: { verify: async () => fine },
      crashes: { verify: async () => fine, snapshot: () => Promise.reject(new Error("no")) },
      hangs: { verify: async () => fine, snapshot: () => new Promise(() => {}) },
    };
    const params = { path: "{target_file}" };
    const checks = [
      ...["seen", "crashes", "hangs"].map((verifier) => ({ verifier, request: { params, session } })),
      // There is no evidence yet, and this verifier needs none.
      { verifier: "none", request: { params: { argv: ["{evidence.x}"] }, session } },
      { verifier: "unknown", request: { params, session } },
    ];
    expect(await takeSnapshots(checks, verifiers, { deadlineMs: 100 })).toEqual([
      { status: "taken", value: [{ path: "src/a.ts" }] },
      { status: "failed", error: new Error("no") },
      { status: "failed", error: new Error("a snapshot was late") },
      { status: "none" },
      { status: "none" },
    ]);
  });
});
