import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { resultLines } from "../../src/cli/attempts.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { gatedFiles } from "../support/verified.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";

const GATE = `evidence_schema: {report: {type: string, verify: file_exists}}
verify: {verifier: command, argv: [checker, check.mjs], exit: 0}
`;
const CHECK = "const { CI, HOME } = process.env; console.log('CI=' + CI + ' HOME=' + HOME); process.exit(1);\n";

/** Creates a folder of workflows, a project, and the flags of a server on both. */
async function host(gate = GATE) {
  const root = await temporaryFolder();
  await writeFiles(join(root, "workflows", "checked"), gatedFiles("checked", [gate]));
  const project = join(root, "project");
  await mkdir(project);
  await writeFile(join(project, "check.mjs"), CHECK);
  const state = join(root, "state");
  return { root, project, state, flags: ["--workflows", join(root, "workflows"), "--state", state] };
}

const START = { action: "start", workflow_type: "checked", target_file: "a.ts" };

describe("phasegate serve without the verifiers of a workflow", () => {
  it.each([
    [GATE, [], ["file_exists", "command"], "give --project"],
    [
      "evidence_schema: {done: {type: boolean}}\nverify: [ticket_is_open, git_clean]\n",
      ["--project"],
      ["ticket_is_open"],
      "only a host that registers them can start it",
    ],
  ])("says at its start and in the list that it is not ready, and why: %#", async (gate, flags, missing, remedy) => {
    const { project, flags: places } = await host(gate);
    const { ask, log } = await connectToServe([...places, ...flags.flatMap((flag) => [flag, project])]);
    expect(await ask({ action: "list_workflows" })).toEqual({
      ...{ status: "success", action: "list_workflows", count: 1, total: 1 },
      workflows: [
        expect.objectContaining({
          workflow_type: "checked",
          not_ready: `its gates need verifiers that this host lacks: ${missing.join(", ")}. Tell the person who runs it.`,
        }),
      ],
    });
    expect(await ask(START)).toMatchObject({ code: "DEFINITION_INVALID" });
    await vi.waitFor(() => expect(log).toContainEqual(expect.objectContaining({ msg: "workflows" })));
    const msg = `not ready: its gates need verifiers that are missing; ${remedy}`;
    expect(log).toContainEqual(
      expect.objectContaining({ level: "warn", workflowType: "checked", verifiers: missing, msg }),
    );
    expect(log).toContainEqual(expect.objectContaining({ msg: "workflows", workflows: [] }));
  });
});

describe("phasegate serve with verifiers", () => {
  it("reads the project, and runs allowed commands with allowed environment variables", async () => {
    const { project, flags, state } = await host();
    const allow = [
      "--allow-command",
      `checker=${process.execPath}`,
      "--allow-env",
      "CI",
      "--allow-host",
      "example.org",
    ];
    const env = { CI: "yes", HOME: "/secret" };
    const { ask, client } = await connectToServe([...flags, "--project", project, ...allow], env);
    const { session_id } = await ask(START);
    expect(
      await ask({ action: "complete_phase", session_id, phase: 1, evidence: { report: "report.md" } }),
    ).toMatchObject({
      code: "GATE_FAILED",
      verification: [
        { verifier: "file_exists", ok: false },
        { verifier: "command", ok: false, exit: 1, output: ["CI=yes HOME=undefined"] },
      ],
    });
    await client.close();
    const { code, stdout } = await run("show", String(session_id), "--state", state);
    expect(code).toBe(0);
    expect(stdout).toContain("✗ file_exists for report: report.md");
    expect(stdout).toMatch(
      /✗ command: checker check\.mjs \(1\) {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ, sha256 [\da-f]{12}\n/,
    );
    expect(stdout).toContain("    CI=yes HOME=undefined\n");
    const { stdout: json } = await run("show", String(session_id), "--state", state, "--json");
    expect(JSON.parse(json)).toMatchObject({ phases: [{ attempts: [{ verification: [{}, { exit: 1 }] }, {}] }] });
  });

  it("shows the time, the digest, what was found and the last lines of a check that passed; of one that failed what failed", () => {
    const at = "2026-03-04T05:06:07.000Z";
    const met = {
      verifier: "command",
      ok: true,
      message: "node passed",
      exit: 0,
      digest: "ab".repeat(32),
      output: ["a", "b", "c"],
      at,
    };
    const lines = resultLines(met, new PassThrough());
    const first = "✓ command (0)  2026-03-04 05:06:07Z, sha256 abababababab";
    expect(lines).toEqual([first, "    node passed", "    b", "    c"]);
    const output = [
      ...Array.from({ length: 30 }, (_, index) => `ok ${index}`),
      "not ok 31 - sums",
      "Expected: 5",
      "1 failed",
    ];
    const failed = resultLines({ ...met, ok: false, exit: 1, output }, new PassThrough());
    expect(failed).toContain("    not ok 31 - sums");
    expect(resultLines({ ...met, ok: false, output }, new PassThrough(), true)).toHaveLength(35);
  });

  it("starts no workflow whose verifiers are missing", async () => {
    const { project, flags } = await host();
    const without = await connectToServe(flags);
    expect(await without.ask(START)).toMatchObject({
      code: "DEFINITION_INVALID",
      remediation: expect.stringContaining("phasegate serve: --project"),
    });
    const { ask } = await connectToServe([...flags, "--project", project]);
    expect(await ask(START)).toMatchObject({ code: "DEFINITION_INVALID", error: expect.stringContaining("checker") });
  });

  it("checks rules when the workflow starts, and runs them at the gate", async () => {
    const rule = (text: string) =>
      `evidence_schema: {done: {type: boolean}}\nverify: {verifier: json_value, path: r.json, pointer: "", rule: "${text}"}\n`;
    const sound = await host(rule("value.failed == 0"));
    await writeFile(join(sound.project, "r.json"), '{"failed": 1}');
    const { ask } = await connectToServe([...sound.flags, "--project", sound.project]);
    const { session_id } = await ask(START);
    const complete = { action: "complete_phase", session_id, phase: 1, evidence: { done: true } };
    expect(await ask(complete)).toMatchObject({ code: "GATE_FAILED" });
    await writeFile(join(sound.project, "r.json"), '{"failed": 0}');
    expect(await ask(complete)).toMatchObject({ checkpoint_passed: true });
    const wrong = await host(rule("valu.failed == 0"));
    const other = await connectToServe([...wrong.flags, "--project", wrong.project]);
    expect(await other.ask(START)).toMatchObject({
      code: "DEFINITION_INVALID",
      error: expect.stringContaining('phase 1: "json_value": rule of json_value: the rule'),
    });
  });

  it("names the flag that would allow a command, and requires --project", async () => {
    const { project, flags } = await host();
    const { ask, client } = await connectToServe([...flags, "--project", project]);
    expect(await ask(START)).toMatchObject({
      code: "DEFINITION_INVALID",
      error: expect.stringContaining("(phasegate serve: --allow-command checker)"),
    });
    await client.close();
    for (const allowed of [
      ["--allow-command", "node"],
      ["--allow-host", "example.org"],
      ["--allow-env", "CI"],
    ]) {
      const { code, stderr } = await run("serve", ...flags, ...allowed);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`${allowed[0]} needs --project`)]);
    }
  });

  it.each([
    ["--allow-command", "=/bin/true", "Write it as NAME, NAME=/absolute/path or"],
    ["--allow-command", "npm=", "Write it as NAME, NAME=/absolute/path or"],
    ["--allow-env", "CI=1", "Give only the variable's name"],
    ["--allow-host", "", "must not be empty"],
  ])("refuses %s %j", async (flag, value, words) => {
    const { flags } = await host();
    const { code, stderr } = await run("serve", ...flags, flag, value);
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });
});

describe("phasegate validate", () => {
  it("reports invalid rules of verifiers, with their lines", async () => {
    const { root } = await host(
      [
        "evidence_schema: {done: {type: boolean}}",
        "verify:",
        '  - {verifier: json_value, path: r.json, pointer: "", rule: "valu > 1"}',
        '  - {verifier: json_value, path: r.json, pointer: "", rule: "value > 1"}',
        "  - {verifier: command, argv: [node], output: {rule: exits == 0}}",
        '  - {verifier: command, argv: [node], output: {rule: "output == \\"a\\" && x"}}',
      ].join("\n"),
    );
    const { code, stdout } = await run("validate", join(root, "workflows"));
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /gate-definition\.yaml:3:62: error: rule of json_value: the rule "valu > 1".*Did you mean value\?/,
    );
    expect(stdout).toMatch(/gate-definition\.yaml:5:54: error: output\.rule of command: .*Did you mean exit\?/);
    // Written in another form than the parser's, it has no line of its own.
    expect(stdout).toMatch(/gate-definition\.yaml: error: output\.rule of command/);
    expect(stdout).toContain("3 errors");
  });

  it("warns of verifiers that `serve` lacks", async () => {
    const { root } = await host("evidence_schema: {done: {type: boolean}}\nverify: [file_exist, git_clean]\n");
    const { code, stdout } = await run("validate", join(root, "workflows"));
    expect(code).toBe(0);
    expect(stdout).toContain('phase 1 names the verifier "file_exist", which phasegate serve does not have');
    expect(stdout).toContain('Did you mean "file_exists"?');
    expect(stdout).toContain("0 errors, 3 warnings\n");
  });

  it("knows a host's own verifiers by --verifier, also if those of serve are known", async () => {
    const gate =
      "evidence_schema: {done: {type: boolean}}\nverify: [ticket_is_open, {verifier: ticket_is_closd, id: 1}]\n";
    const { root, project } = await host(gate);
    const validate = (...flags: string[]) => run("validate", join(root, "workflows"), ...flags);
    const names = ["--verifier", "ticket_is_open", "--verifier", "ticket_is_closed"];
    const { code, stdout } = await validate(...names);
    expect(code).toBe(0);
    expect(stdout).not.toContain('"ticket_is_open"');
    expect(stdout).toMatch(
      /"ticket_is_closd".*\n[\s\S]*hint: Did you mean "ticket_is_closed"\?.* --verifier ticket_is_closd/,
    );
    expect(await validate(...names, "--project", project)).toMatchObject({ code: 1 });
    const all = ["--verifier", "ticket_is_open", "--verifier", "ticket_is_closd"];
    expect(await validate(...all, "--project", project)).toMatchObject({ code: 0 });
  });
});
