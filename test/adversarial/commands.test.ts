import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aGate } from "./a-gate.js";

const SUITE = `
evidence_schema: {tests_pass: {type: boolean, description: the whole suite}}
verify:
  verifier: command
  argv: [node, test.mjs]
  timeout_ms: 15000
  output: {pattern: "^[1-9][0-9]* passed, 0 failed$"}
`;
const TRUTH = { tests_pass: true };
const PASSING = 'console.log("12 passed, 0 failed");';
const LINUX = process.platform === "linux";

/** A gate that runs the project's tests, which are this script. */
const suite = (script: string, gate = SUITE) =>
  aGate({ gate, files: { "test.mjs": script }, verifiers: { commands: { node: process.execPath } } });

/** The tests are this script, and the agent says that they pass; then they are fixed. */
async function refused(script: string, says: RegExp): Promise<void> {
  const gate = await suite(script);
  await gate.refuses(TRUTH, says);
  await gate.write("test.mjs", PASSING);
  await gate.accepts(TRUTH);
}

/** Whether a process runs; a zombie doesn't. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("a gate that runs the tests", () => {
  it("lets an honest agent through", async () => {
    await (await suite(PASSING)).accepts(TRUTH);
  });

  it("refuses the claim that they pass while they fail, and shows what they wrote", async () => {
    const gate = await suite('console.log("11 passed, 1 failed"); process.exitCode = 1;');
    const answer = await gate.refuses(TRUTH, /node test\.mjs: exit code 1, expected 0/);
    expect(JSON.stringify(answer)).toContain("11 passed, 1 failed");
    await gate.write("test.mjs", PASSING);
    await gate.accepts(TRUTH);
  });

  it("also runs them at a gate whose rules only warn", async () => {
    const gate = await suite("process.exitCode = 1;", `checkpoint: {strict: false}\n${SUITE}`);
    await gate.refuses(TRUTH, /exit code 1, expected 0/);
    await gate.write("test.mjs", PASSING);
    await gate.accepts(TRUTH);
  });

  it("refuses tests that print a success and exit with 1", async () => {
    await refused(`${PASSING} process.exitCode = 1;`, /exit code 1, expected 0/);
  });

  it("refuses tests that exit with 0 and print a failure", async () => {
    await refused('console.log("11 passed, 1 failed");', /node test\.mjs: .*matches .* 0 times/);
  });

  it("refuses a suite that runs no tests", async () => {
    await refused('console.log("0 passed, 0 failed");', /node test\.mjs: .*matches .* 0 times/);
  });

  it("refuses tests that never end, though they ignore SIGTERM", async () => {
    const stubborn = `${PASSING} process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`;
    const gate = await suite(stubborn, SUITE.replace("15000", "2500"));
    await gate.refuses(TRUTH, /node test\.mjs: it was stopped after 2500 ms/);
    await gate.write("test.mjs", PASSING);
    await gate.accepts(TRUTH);
  });

  it("refuses tests that print more than the output limit", async () => {
    await refused(`${PASSING} console.log("x".repeat(4 * 2 ** 20));`, /it wrote more than 1048576 bytes/);
  });

  it("terminates every process that the tests have started", async ({ skip }) => {
    skip(!LINUX, "only Linux tells in /proc whether a process runs");
    const stay = JSON.stringify("setInterval(() => {}, 1000)");
    const gate = await suite(`
      import { spawn } from "node:child_process";
      import { writeFileSync } from "node:fs";
      const child = spawn(process.execPath, ["-e", ${stay}], { stdio: "ignore" });
      writeFileSync("pid", String(child.pid));
      child.unref();
      process.exitCode = 1;
    `);
    await gate.refuses(TRUTH, /exit code 1/);
    const pid = Number(readFileSync(join(gate.project, "pid"), "utf8"));
    expect(pid).toBeGreaterThan(1);
    await expect.poll(() => isRunning(pid)).toBe(false);
    await gate.write("test.mjs", PASSING);
    await gate.accepts(TRUTH);
  });
});
