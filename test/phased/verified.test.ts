import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine, defineWorkflow, MemoryContent, PhasegateError } from "phasegate";
import { FileStorage } from "phasegate/fs";
import type { Verifier } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { failure } from "../support/failure.js";
import { makeEngine } from "../support/make-engine.js";
import { gatedFiles, makeProject, startVerified } from "../support/verified.js";

const TRUE: Verifier = { verify: async () => ({ ok: true, message: "it is so" }) };
const FALSE: Verifier = { verify: async () => ({ ok: false, message: "make it so" }) };
const OPEN = "evidence_schema: {done: {type: boolean}}\n";

const REPORT = `evidence_schema:
  report: {type: string, verify: file_exists}
verify: {verifier: command, argv: [node, check.mjs]}
`;

describe("a start", () => {
  it("lets other work run between the checks of a gate's params, for any number of checks", async () => {
    let turns = 0;
    const seen: number[] = [];
    const slow: Verifier = {
      ...TRUE,
      check() {
        seen.push(turns);
        const until = performance.now() + 25;
        while (performance.now() < until);
      },
    };
    const others = setInterval(() => {
      turns += 1;
    }, 1);
    const gate = JSON.stringify({ verify: Array.from({ length: 6 }, () => "slow") });
    await startVerified([gate, gate], { verifiers: { slow } });
    clearInterval(others);
    expect(seen).toHaveLength(12);
    expect(new Set(seen).size).toBeGreaterThan(10);
  });
});

describe("a gate with verifiers", () => {
  it("refuses wrong evidence, with what to fix, and passes once it is right", async () => {
    const { verifiers, write } = await makeProject();
    const { submit } = await startVerified([REPORT, OPEN], { verifiers });
    await write("check.mjs", "console.log('2 tests fail'); process.exit(1);\n");
    expect(await submit({ report: "report.md" })).toMatchObject({
      passed: false,
      problems: [
        { field: "report", problem: "unverified", got: '"report.md"' },
        { field: "", problem: "unverified" },
      ],
      verification: [
        { verifier: "file_exists", field: "report", ok: false },
        { verifier: "command", ok: false, exit: 1, output: ["2 tests fail"] },
      ],
    });
    await write("report.md", "# All of it\n");
    await write("check.mjs", "console.log('0 tests fail');\n");
    const passed = await submit({ report: "report.md" });
    expect(passed).toMatchObject({ passed: true, verification: [{ ok: true }, { ok: true, exit: 0 }] });
  });

  it("records the results, which a new process on the same folder shows", async () => {
    const { verifiers, write } = await makeProject();
    await write("check.mjs", "process.exit(3);\n");
    await write("report.md", "# Report\n");
    const folder = await mkdtemp(join(tmpdir(), "phasegate-state-"));
    const content = new MemoryContent({ sources: { verified: gatedFiles("verified", [REPORT, OPEN]) } });
    const first = createEngine({ storage: await FileStorage.open(folder), content, verifiers });
    const { sessionId } = await first.start({ workflowType: "verified", target: "src/a.ts" });
    await first.session(sessionId).completePhase(1, { report: "report.md" });
    await write("check.mjs", "");
    await first.session(sessionId).completePhase(1, { report: "report.md" });
    await first.close();
    const second = createEngine({ storage: await FileStorage.open(folder), content });
    expect(await second.session(sessionId).history()).toMatchObject([
      { status: "failed", verification: [{ ok: true }, { ok: false, exit: 3, digest: expect.any(String) }] },
      { status: "completed", verification: [{ ok: true }, { ok: true, exit: 0, at: expect.any(String) }] },
      { status: "active" },
    ]);
    expect(await second.session(sessionId).errors()).toMatchObject([{ verification: [{ ok: true }, { exit: 3 }] }]);
    expect(await second.session(sessionId).audit()).toMatchObject({ intact: true });
    await second.close();
  });

  it("blocks for any `strict` and enforcement", async () => {
    const gate = `checkpoint: {strict: false}\n${OPEN}verify: never\n`;
    const { submit } = await startVerified([gate], { verifiers: { never: FALSE }, enforcement: "as-defined" });
    expect(await submit({ done: true })).toMatchObject({
      passed: false,
      problems: [{ field: "", problem: "unverified", message: "verified_by.1 (never) failed: make it so" }],
    });
  });

  it("runs no verifier while the evidence has other problems, or an optional field is missing", async () => {
    const asked: unknown[] = [];
    const spy: Verifier = {
      verify: async ({ value }) => {
        asked.push(value);
        return { ok: true, message: "seen" };
      },
    };
    const gate =
      "evidence_schema: {done: {type: boolean, validator: is_true}, note: {type: string, required: false, verify: spy}}\n";
    const { submit } = await startVerified([gate, OPEN], { verifiers: { spy } });
    await submit({ done: false, note: "a" });
    expect(await submit({ done: true })).toMatchObject({ passed: true });
    expect(asked).toEqual([]);
  });

  it("passes the value, the evidence, the session and the filled-in params to verifiers", async () => {
    const requests: unknown[] = [];
    const spy: Verifier = {
      verify: async (request) => {
        requests.push(request);
        return { ok: true, message: "seen" };
      },
    };
    const gate =
      "evidence_schema: {file: {type: string, verify: {verifier: spy, of: '{target_file}', is: 'docs/{evidence.file}'}}}\n";
    const { submit, sessionId } = await startVerified([gate, OPEN], { verifiers: { spy } });
    await submit({ file: "a.md" });
    expect(requests).toEqual([
      {
        params: { of: "src/a.ts", is: "docs/a.md" },
        value: "a.md",
        evidence: { file: "a.md" },
        session: { id: sessionId, workflowType: "verified", target: "src/a.ts", phase: 1 },
      },
    ]);
  });

  it.each<[string, Verifier, string]>([
    ["crashes", { verify: () => Promise.reject(new Error("/home/secret")) }, "failed"],
    ["never ends", { verify: () => new Promise(() => {}) }, "had not ended at the deadline"],
  ])("stays closed if a verifier %s, and notifies the host", async (_, broken, words) => {
    const gate = `${OPEN}verify: broken\n`;
    const limits = { verifyDeadlineMs: 30 };
    const { engine, submit } = await startVerified([gate], { verifiers: { broken }, limits });
    const told: string[] = [];
    engine.on("internalError", ({ operation }) => told.push(operation));
    const answer = await submit({ done: true });
    expect(answer).toMatchObject({ passed: false, verification: [{ ok: false, failed: true }] });
    expect(JSON.stringify(answer)).toContain(words);
    expect(JSON.stringify(answer)).not.toContain("secret");
    expect(told).toEqual(["verifier broken"]);
  });

  it("shows the results to the approver, and records them with a denial", async () => {
    const gate = `${OPEN}verify: sure\napproval: {prompt: Good?}\n`;
    const options = { verifiers: { sure: TRUE }, allowUnsignedApprovals: true };
    const { engine, sessionId, submit } = await startVerified([gate, OPEN], options);
    await submit({ done: true });
    const asked = await engine.session(sessionId).approval();
    expect(asked?.verification).toMatchObject([{ verifier: "sure", ok: true, message: "it is so" }]);
    await engine.session(sessionId).deny({ by: "ann", note: "later", evidenceHash: asked?.evidenceHash ?? "" });
    expect(await engine.session(sessionId).errors()).toMatchObject([
      { problems: [{ problem: "denied" }], verification: [{ verifier: "sure" }] },
    ]);
  });

  it("limits the size of recorded results", async () => {
    const loud: Verifier = {
      verify: async () => ({
        ok: false,
        message: "m".repeat(5000),
        ran: "r".repeat(5000),
        digest: "d".repeat(5000),
        output: ["a line", "x".repeat(10_000), ...Array.from({ length: 100 }, () => "y".repeat(400))],
      }),
    };
    const gate = `${OPEN}verify: [${Array.from({ length: 40 }, () => "loud").join(", ")}]\n`;
    const { submit } = await startVerified([gate], { verifiers: { loud } });
    const { verification = [] } = await submit({ done: true });
    expect(verification).toHaveLength(40);
    expect(JSON.stringify(verification).length).toBeLessThan(160_000);
    expect(verification[0]?.output?.[0]).toBe("a line");
    expect(verification[0]?.output).toContain("…");
    expect(verification[0]?.output?.at(-1)).toMatch(/^y+$/);
  });

  it("verifies the value that a schema in code accepted, even for a field that the schema does not know", async () => {
    const seen: unknown[] = [];
    const spy: Verifier = {
      verify: async ({ value = "nothing" }) => {
        seen.push(value);
        return { ok: value !== "nothing", message: "hand it in" };
      },
    };
    const evidence = z.looseObject({ file: z.string(), note: z.string().optional() });
    const start = async (field: string) => {
      const workflow = defineWorkflow({
        ...{ type: "coded", revision: "1", name: "Coded", description: "One schema" },
        phases: [
          { number: 1, name: "One", content: "# One", gate: { evidence, verify: [{ verifier: "spy", field }] } },
        ],
      });
      const { engine } = makeEngine({ verifiers: { spy } }, [workflow]);
      const { sessionId } = await engine.start({ workflowType: "coded", target: "a" });
      return engine.session(sessionId).completePhase(1, { file: "a.md" });
    };
    expect(await start("file")).toMatchObject({ passed: true, verification: [{ verifier: "spy", ok: true }] });
    expect(await start("note")).toMatchObject({ passed: true });
    expect(await start("nope")).toMatchObject({
      problems: [{ field: "nope", message: "'nope' is not verified (spy): hand it in", got: "nothing" }],
    });
    expect(seen).toEqual(["a.md", "nothing"]);
  });
});

describe("start", () => {
  const start = (gate: string, verifiers: Record<string, Verifier>) => {
    const content = new MemoryContent({ sources: { verified: gatedFiles("verified", [gate]) } });
    const made = makeEngine({ content, verifiers });
    return { ...made, started: made.engine.start({ workflowType: "verified", target: "a" }) };
  };

  it("is refused if the host lacks a verifier, and creates no session", async () => {
    const { engine, started } = start(`${OPEN}verify: file_exist\n`, { file_exists: TRUE });
    const error = await failure(started);
    expect(error.code).toBe("DEFINITION_INVALID");
    expect(error.message).toContain(
      'phase 1: the verifier "file_exist" is not registered; did you mean "file_exists"?',
    );
    expect(error.remedy).toContain('The host must register "file_exist"');
    expect((await engine.listSessions()).items).toEqual([]);
  });

  it("waits for a check of params that a host has written with async", async () => {
    const refusal = new PhasegateError("INVALID_INPUT", "'path' is missing", { remedy: "Give it.", details: {} });
    const refusing = async () => Promise.reject(refusal);
    const failing = async () => Promise.reject(new Error("no such table"));
    const verify = TRUE.verify;
    const refused = start(`${OPEN}verify: one\n`, { one: { verify, check: refusing } });
    expect((await failure(refused.started)).message).toContain(`"one": 'path' is missing`);
    const failed = start(`${OPEN}verify: one\n`, { one: { verify, check: failing } });
    expect((await failure(failed.started)).code).toBe("INTERNAL");
  });

  it("is refused for params that a verifier does not accept", async () => {
    const { verifiers } = await makeProject();
    const { started } = start(`${OPEN}verify: [{verifier: command, argv: [rm]}, {verifier: file_exists, pth: a}]\n`, {
      ...verifiers,
    });
    const error = await failure(started);
    expect(error).toMatchObject({ code: "DEFINITION_INVALID", details: { diagnostics: { length: 2 } } });
    expect(error.message).toContain("(and 1 more)");
  });

  it("fails with INTERNAL if a verifier's check throws", async () => {
    const faulty: Verifier = {
      ...TRUE,
      check: () => {
        throw new TypeError("oops");
      },
    };
    expect((await failure(start(`${OPEN}verify: faulty\n`, { faulty }).started)).code).toBe("INTERNAL");
  });
});
