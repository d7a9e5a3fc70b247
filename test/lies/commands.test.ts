import { existsSync, readFileSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { aGate } from "./a-gate.js";

const SUITE = `
evidence_schema: {tests_pass: {type: boolean, description: the whole suite}}
verify:
  verifier: command
  argv: [node, test.mjs]
  timeout_ms: 3000
  output: {pattern: "^[1-9][0-9]* passed, 0 failed$"}
`;
const TRUTH = { tests_pass: true };
const PASSING = 'console.log("12 passed, 0 failed");';
const LINUX = process.platform === "linux";

/** A gate that runs the project's tests, which are this script. */
const suite = (script: string, gate = SUITE) =>
  aGate({ gate, files: { "test.mjs": script }, verifiers: { commands: { node: process.execPath } } });

/** The tests are this script, and the agent says that they pass; then they are mended. */
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
    const answer = await gate.refuses(TRUTH, /node test\.mjs: it ended with exit code 1, and 0 is wanted/);
    expect(JSON.stringify(answer)).toContain("11 passed, 1 failed");
    await gate.write("test.mjs", PASSING);
    await gate.accepts(TRUTH);
  });

  it("refuses tests that print a success and end with 1", async () => {
    await refused(`${PASSING} process.exitCode = 1;`, /exit code 1, and 0 is wanted/);
  });

  it("refuses tests that end with 0 and print a failure", async () => {
    await refused('console.log("11 passed, 1 failed");', /node test\.mjs: .*matches .* 0 times/);
  });

  it("refuses tests that run nothing", async () => {
    await refused('console.log("0 passed, 0 failed");', /node test\.mjs: .*matches .* 0 times/);
  });

  it("refuses tests that never end, though they ignore SIGTERM", async () => {
    const stubborn = `${PASSING} process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`;
    await refused(stubborn, /node test\.mjs: it was stopped after 3000 ms/);
  });

  it("refuses tests that bury what they say under megabytes", async () => {
    await refused(`${PASSING} console.log("x".repeat(4 * 2 ** 20));`, /it wrote more than 1048576 bytes/);
  });

  it.runIf(LINUX)("leaves nothing running that the tests have forked", async () => {
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

const NAMED = `
evidence_schema: {file: {type: string, description: a test file of yours}}
verify: {verifier: command, argv: [node, check.mjs, "{evidence.file}"]}
`;
const CHECK = `
  import { appendFileSync, existsSync } from "node:fs";
  appendFileSync("asked", JSON.stringify(process.argv.slice(2)) + "\\n");
  process.exitCode = existsSync(process.argv[2]) ? 0 : 1;
`;

describe("a gate that puts evidence into a command", () => {
  const named = () =>
    aGate({ gate: NAMED, files: { "check.mjs": CHECK }, verifiers: { commands: { node: process.execPath } } });
  const TRUE = { file: "check.mjs" };

  it("lets an honest agent through", async () => {
    await (await named()).accepts(TRUE);
  });

  it("refuses evidence that would be an option", async () => {
    const gate = await named();
    await gate.refuses({ file: "--upload-pack=touch pwned" }, /would be read as an option: it begins with '-'/);
    await gate.refuses({ file: "-e" }, /would be read as an option: it begins with '-'/);
    expect(existsSync(join(gate.project, "asked"))).toBe(false);
    await gate.accepts(TRUE);
  });

  it("takes evidence that would be a second command for one argument", async () => {
    const gate = await named();
    const evil = "check.mjs; touch pwned #";
    await gate.refuses({ file: evil }, /exit code 1/);
    await gate.refuses({ file: "$(touch pwned)" }, /exit code 1/);
    expect(existsSync(join(gate.project, "pwned"))).toBe(false);
    expect(readFileSync(join(gate.project, "asked"), "utf8").split("\n")[0]).toBe(JSON.stringify([evil]));
    await gate.accepts(TRUE);
  });

  it("refuses evidence with a NUL in it, which would cut it off", async () => {
    const gate = await named();
    await gate.refuses({ file: "check.mjs\0--evil" }, /NUL/);
    await gate.accepts(TRUE);
  });
});

describe("the host's list of commands", () => {
  const ALLOWED = SUITE.replace("argv: [node", "argv: [git")
    .replace("test.mjs]", "--version]")
    .replace(/ {2}output.*\n/, "");
  const evil = "#!/bin/sh\ntouch pwned\nexit 0\n";

  it("takes no command of the same name that lies in the project, though it comes first on the PATH", async () => {
    const path = process.env.PATH ?? "";
    onTestFinished(() => {
      process.env.PATH = path;
    });
    const gate = await aGate({ gate: ALLOWED, verifiers: { commands: ["git"] } });
    await writeFile(join(gate.project, "git"), evil);
    await chmod(join(gate.project, "git"), 0o755);
    process.env.PATH = `${gate.project}:.:${path}`;
    await gate.accepts(TRUTH);
    expect(existsSync(join(gate.project, "pwned"))).toBe(false);
  });

  it.each(["./git", "sh", "/bin/sh", "../git", "{evidence.tool}"])("starts no workflow that wants %s", async (name) => {
    const gate = ALLOWED.replace("[git", `["${name}"`);
    const started = aGate({ gate, files: { git: evil }, verifiers: { commands: ["git"] } });
    await expect(started).rejects.toThrow(/not on the host's list of commands \(git\)|can't be a placeholder/);
  });
});
