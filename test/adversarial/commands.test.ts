import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isRunning } from "../support/is-running.js";
import { aGate } from "./a-gate.js";

const SUITE = `
evidence_schema: {tests_pass: {type: boolean, description: the whole suite}}
verify:
  verifier: command
  argv: [sh, test.sh]
  timeout_ms: 15000
  output: {pattern: "^[1-9][0-9]* passed, 0 failed$"}
`;
const TRUTH = { tests_pass: true };
const PASSING = "echo 12 passed, 0 failed;";
const LINUX = process.platform === "linux";

/** Starts a session at a gate that runs the project's tests. The tests are the given script. */
const suite = (script: string, gate = SUITE) =>
  aGate({ gate, files: { "test.sh": script }, verifiers: { commands: { sh: "/bin/sh" } } });

/**
 * Checks that the claim of passing tests is refused with the given script as the tests, and accepted once it is fixed.
 */
async function refused(script: string, says: RegExp): Promise<void> {
  const gate = await suite(script);
  await gate.refuses(TRUTH, says);
  await gate.write("test.sh", PASSING);
  await gate.accepts(TRUTH);
}

describe("a gate that runs the tests", () => {
  it("lets an honest agent through", async () => {
    await (await suite(PASSING)).accepts(TRUTH);
  });

  it("refuses the claim of passing tests if they fail, and shows their output", async () => {
    const gate = await suite("echo 11 passed, 1 failed; exit 1");
    const answer = await gate.refuses(TRUTH, /sh test\.sh: exit code 1, expected 0/);
    expect(JSON.stringify(answer)).toContain("11 passed, 1 failed");
    await gate.write("test.sh", PASSING);
    await gate.accepts(TRUTH);
  });

  it("runs the tests even if the gate's rules only warn", async () => {
    const gate = await suite("exit 1", `checkpoint: {strict: false}\n${SUITE}`);
    await gate.refuses(TRUTH, /exit code 1, expected 0/);
    await gate.write("test.sh", PASSING);
    await gate.accepts(TRUTH);
  });

  it("refuses tests that print a success and exit with 1", async () => {
    await refused(`${PASSING} exit 1`, /exit code 1, expected 0/);
  });

  it("refuses tests that exit with 0 and print a failure", async () => {
    await refused("echo 11 passed, 1 failed", /sh test\.sh: .*matches .* 0 times/);
  });

  it("refuses a suite that runs no tests", async () => {
    await refused("echo 0 passed, 0 failed", /sh test\.sh: .*matches .* 0 times/);
  });

  it("refuses tests that never end, even if they ignore SIGTERM", async () => {
    const stubborn = `${PASSING} trap "" TERM; while :; do sleep 1; done`;
    const gate = await suite(stubborn, SUITE.replace("15000", "800"));
    await gate.refuses(TRUTH, /sh test\.sh: it was stopped after 800 ms/);
    await gate.write("test.sh", PASSING);
    await gate.accepts(TRUTH);
  });

  it("refuses tests that print more than the output limit", async () => {
    await refused(`${PASSING} yes | head -c ${4 * 2 ** 20}`, /it wrote more than 1048576 bytes/);
  });

  it("terminates every process that the tests have started", async ({ skip }) => {
    skip(!LINUX, "only Linux tells in /proc whether a process runs");
    const gate = await suite("sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >pid; exit 1");
    await gate.refuses(TRUTH, /exit code 1/);
    const pid = Number(readFileSync(join(gate.project, "pid"), "utf8"));
    expect(pid).toBeGreaterThan(1);
    await expect.poll(() => isRunning(pid)).toBe(false);
    await gate.write("test.sh", PASSING);
    await gate.accepts(TRUTH);
  });
});
