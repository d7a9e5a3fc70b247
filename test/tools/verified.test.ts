import type { Verifier } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { workflowTool } from "../support/fits-schema.js";
import { makeProject, startVerified } from "../support/verified.js";

const GATE = (more = "") => `evidence_schema:
  count: {type: integer, validator: greater_than_0, description: how many tests passed}
  report: {type: string, verify: {verifier: file_matches, pattern: "^## Results"}}
verify: {verifier: command, argv: [node, check.mjs]}
${more}`;
const OPEN = "evidence_schema: {done: {type: boolean}}\n";

async function start(gate: string) {
  const { verifiers, write } = await makeProject();
  await write("check.mjs", "console.log('2 tests fail'); process.exit(1);\n");
  await write("report.md", "# Report\n");
  const made = await startVerified([gate, OPEN], { verifiers });
  const tool = workflowTool(made.engine);
  const call = (action: string, more: Record<string, unknown> = {}) =>
    tool.dispatch({ action, session_id: made.sessionId, ...more });
  const complete = (evidence: Record<string, unknown>) => call("complete_phase", { phase: 1, evidence });
  return { ...made, write, call, complete };
}

describe("a refusal by verifiers", () => {
  it("contains what was checked, the results and what to fix", async () => {
    const { complete, call, write } = await start(GATE());
    const refused = await complete({ count: 3, report: "report.md" });
    expect(refused).toMatchObject({
      code: "GATE_FAILED",
      missing_evidence: [],
      problems: [
        {
          ...{ field: "report", problem: "unverified", got: '"report.md"' },
          message: expect.stringMatching(/^'report' is not verified \(file_matches\): ./),
        },
        { field: "", problem: "unverified", message: expect.stringMatching(/^verified_by\.1 \(command\) failed: ./) },
      ],
      verification: [
        { verifier: "file_matches", field: "report", ok: false, ran: "report.md" },
        { verifier: "command", check: "verified_by.1", ok: false, exit: 1, output: ["2 tests fail"] },
      ],
      validation_errors: [expect.any(String), expect.stringMatching(/^verified_by\.1 \(command\) failed: /)],
      remediation: expect.stringMatching(
        /^2 checks failed: report, verified_by\.1\. Read in validation_errors what was found, and correct that\. Then submit all/,
      ),
      next: {
        evidence: {
          report: "<as before, once the check agrees>",
          "<all fields>": "<as before, once the check agrees>",
        },
      },
    });
    expect(await call("get_errors")).toMatchObject({
      errors: [{ details: { missing_fields: [], verification: [{ ok: false }, { ok: false }] } }],
    });
    await write("check.mjs", "console.log('1 test passes\\ntwo\\nthree\\nfour');");
    await write("report.md", "## Results\n");
    expect(await complete({ count: 3, report: "report.md" })).toMatchObject({ checkpoint_passed: true });
    const history = await call("get_history");
    expect(history).toMatchObject({
      history: [
        { verification: [{ verifier: "file_matches" }, { verifier: "command", exit: 1 }] },
        {
          verification: [
            { ok: true, at: expect.stringMatching(/^\d{4}-.*Z$/), digest: expect.stringMatching(/^[\da-f]{64}$/) },
            { verifier: "command", ok: true, exit: 0, output: ["two", "three", "four"] },
          ],
        },
        { status: "active" },
      ],
    });
  });

  it("shows the end of a long output, where a summary is, also of a check that passes", async () => {
    const { complete, call, write } = await start(
      "evidence_schema: {done: {type: boolean}}\nverify: {verifier: command, argv: [node, check.mjs]}\n",
    );
    const lines = `for (let at = 0; at < 80; at += 1) console.log("not ok " + at + "x".repeat(190)); console.log("80 tests ran");`;
    await write("check.mjs", `${lines} process.exitCode = 1;\n`);
    const output = (answer: object) =>
      expect(answer).toMatchObject({ verification: [{ verifier: "command", output: expect.toSatisfy(hasSummary) }] });
    const hasSummary = (shown: readonly string[]) => shown.at(-1) === "80 tests ran" && shown.length > 2;
    output(await complete({ done: true }));
    await write("check.mjs", lines);
    output(await complete({ done: true }));
    const { history } = await call("get_history");
    expect(history).toMatchObject([
      { verification: [{ output: expect.toSatisfy(hasSummary) }] },
      { verification: [{ output: expect.toSatisfy(hasSummary) }] },
      {},
    ]);
  });

  it("names a verifier that could not run, and leaves out results that do not fit", async () => {
    const loud: Verifier = {
      verify: async () => ({ ok: false, message: "m", output: Array.from({ length: 50 }, () => "x".repeat(400)) }),
    };
    const broken: Verifier = { verify: () => Promise.reject(new Error("oops")) };
    const gate = `${OPEN}verify: [broken, ${Array.from({ length: 6 }, () => "loud").join(", ")}]\n`;
    const { engine, sessionId } = await startVerified([gate], { verifiers: { loud, broken } });
    const complete = (maxTokens: number) =>
      workflowTool(engine, { maxTokens }).dispatch({
        ...{ action: "complete_phase", session_id: sessionId, phase: 1, evidence: { done: true } },
      });
    const small = await complete(1500);
    expect(small).toMatchObject({ code: "GATE_FAILED", verification: "see get_errors" });
    expect(JSON.stringify(small).length).toBeLessThanOrEqual(6000);
    expect(await complete(20_000)).toMatchObject({ verification: { 0: { verifier: "broken", could_not_run: true } } });
  });
});

describe("the description of a gate for agents", () => {
  it("is a JSON Schema, and a form of it is the call to make", async () => {
    const { call } = await start(GATE());
    expect(await call("get_phase")).toMatchObject({
      phase_content: {
        checkpoint: {
          evidence_schema: {
            properties: { count: { type: "integer" }, report: { verified_by: ["file_matches"] } },
            required: ["count", "report"],
          },
        },
      },
      next: { evidence: { count: expect.stringMatching(/^<integer/), report: expect.stringMatching(/^<text/) } },
    });
  });

  it("contains only names with `reveal: names`, and nothing with `reveal: none`; hosts get everything", async () => {
    for (const [reveal, named] of [
      ["names", true],
      ["none", false],
    ] as const) {
      const { call, complete, engine, sessionId } = await start(GATE(`reveal: ${reveal}\n`));
      const answers = [await complete({ count: 3, report: "report.md" }), await complete({ count: 0 })];
      answers.push(await call("get_phase"), await call("get_errors"), await call("get_history"));
      answers.push(await call("get_session"), await call("retry_phase", { phase: 1 }), await call("get_state"));
      for (const answer of answers) {
        const text = JSON.stringify(answer);
        for (const secret of [
          "file_matches",
          "## Results",
          "check.mjs",
          "2 tests fail",
          "greater",
          "how many",
          "integer",
        ]) {
          expect(text, `${reveal} ${secret}`).not.toContain(secret);
        }
      }
      expect(JSON.stringify(answers[0]).includes('"report"')).toBe(named);
      expect(answers[1]).toMatchObject({ code: "GATE_FAILED", missing_evidence: named ? ["report"] : [] });
      expect(await engine.session(sessionId).errors()).toMatchObject([
        { reveal, verification: [{ verifier: "file_matches" }, { output: ["2 tests fail"] }] },
        { reveal, problems: [{ field: "report" }, { field: "count" }] },
      ]);
    }
  });

  it("hides the warnings of a gate that passes, too", async () => {
    const gate = `${OPEN.replace("{type: boolean}", "{type: boolean, required: false, validator: is_true}")}`;
    const { engine, sessionId } = await startVerified([`${gate}checkpoint: {strict: false}\nreveal: names\n`]);
    const complete = workflowTool(engine).dispatch({
      ...{ action: "complete_phase", session_id: sessionId, phase: 1, evidence: { done: false } },
    });
    expect(await complete).toMatchObject({ checkpoint_passed: true, warnings: ["'done' doesn't meet the gate"] });
  });
});

describe("a check that nobody may waive", () => {
  const gate = `${OPEN}verify:
  - {verifier: command, argv: [node, check.mjs], description: all tests pass}
  - {verifier: file_exists, path: LICENSE, description: it has a license, waivable: false}
`;

  it("is described, is never offered for a waiver, and is not waived", async () => {
    const { complete, call } = await start(gate);
    const verified_by = { 1: "command: all tests pass", 2: "file_exists: it has a license" };
    expect(await call("get_phase")).toMatchObject({
      phase_content: { checkpoint: { evidence_schema: { verified_by } } },
    });
    expect(await complete({ done: true })).toMatchObject({
      remediation: expect.stringMatching(/^2 checks failed: verified_by\.1, verified_by\.2\./),
      if_impossible: { fields: ["verified_by.1"] },
    });
    const ask = (fields: string[]) => call("request_waiver", { phase: 1, fields, reason: "there is none here" });
    expect(await ask(["verified_by.2"])).toMatchObject({
      code: "NOT_ALLOWED",
      error: expect.stringContaining("allows no waiver of"),
    });
    expect(await ask(["verified_by.1"])).toMatchObject({ status: "success" });
  });
});
