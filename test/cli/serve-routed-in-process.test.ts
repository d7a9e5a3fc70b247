import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { runCli } from "../../src/cli/cli.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { GARDENS } from "./routed-folders.js";
import { run } from "./run-cli.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

async function gardens() {
  const root = await temporaryFolder();
  await writeFiles(join(root, "routed"), GARDENS);
  return { root, flags: ["--routed", join(root, "routed"), "--state", join(root, "state")] };
}

/** Starts the server on streams of the test. */
async function serve(...more: string[]) {
  const { root, flags } = await gardens();
  const terminal = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const ended = runCli(["serve", ...flags, ...more], terminal);
  const send = (message: object) => terminal.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const call = (id: number, name: string, input: object) =>
    send({ id, method: "tools/call", params: { name, arguments: input } });
  const answers = (): Record<string, unknown>[] =>
    String(terminal.stdout.read() ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  return { ...terminal, root, ended, send, call, answers };
}

const INITIALIZE = {
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

describe("routed workflows, served in this process", () => {
  it("can be listed and started; events are written to the log and its file", async () => {
    vi.stubEnv("USE_STUB_AI_CLIENT", "true");
    vi.stubEnv("ORCHESTRATOR_LOG_FILE", "garden.log");
    vi.stubEnv("LOG_LEVEL", "WARNING");
    const folder = await temporaryFolder();
    const logs = join(folder, "logs");
    const { stdin, stderr, ended, send, call, answers } = await serve("--log-dir", logs, "--log-level", "info");
    send(INITIALIZE);
    call(1, "start_workflow", { workflow_name: "GARDEN", idempotency_key: "k" });
    call(2, "start_workflow", { workflow_name: "SHARED" });
    stdin.end();
    expect(await ended).toBe(0);
    const answered = answers();
    const [started, broken] = [1, 2].map((id) => answered.find((message) => message.id === id));
    expect(started).toMatchObject({ result: { structuredContent: { next_step: { step_name: "Dig" } } } });
    expect(broken).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining('"error_code":"DEFINITION_NOT_FOUND"') }] },
    });
    const said = String(stderr.read());
    expect(said).toContain('"msg":"broken workflow"');
    expect(said).toContain('"msg":"started"');
    expect(readFileSync(join(logs, "garden.log"), "utf8")).toBe(said);
    expect(readFileSync(join(logs, "ai_interactions.log"), "utf8")).toBe("");
  });

  it("use the log level of LOG_LEVEL if nothing else sets it", async () => {
    vi.stubEnv("LOG_LEVEL", "critical");
    const { stdin, stderr, ended } = await serve("--decider", "sampling");
    stdin.end();
    expect(await ended).toBe(0);
    expect(stderr.read()).toBeNull();
  });

  it("are served over HTTP on this machine", async () => {
    const { stderr, ended } = await serve("--http", "0", "--decider", "linear");
    let said = "";
    stderr.on("data", (chunk) => {
      said += String(chunk);
    });
    await vi.waitFor(() => expect(said).toContain('"url"'));
    const url = /"url":"([^"]+)"/.exec(said)?.[1] ?? "";
    expect(await (await fetch(`${url}/workflows/list`)).json()).toMatchObject({ workflows: ["GARDEN"] });
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ workflow_name: "GARDEN" });
    const started = await fetch(`${url}/workflows/start`, { method: "POST", headers, body });
    expect(await started.json()).toMatchObject({ next_step: { step_name: "Dig" } });
    process.emit("SIGTERM", "SIGTERM");
    expect(await ended).toBe(0);
  });

  it("are not served if the log file cannot be written", async () => {
    const { root, flags } = await gardens();
    await writeFiles(root, { file: "x" });
    expect(await run("serve", ...flags, "--log-dir", join(root, "file"))).toMatchObject({ code: 3 });
  });
});

describe("phasegate validate with routed workflows", () => {
  it("shows problems with their lines, and hints", async () => {
    const { root } = await gardens();
    const folder = join(root, "routed");
    const { code, stdout } = await run("validate", folder);
    expect(code).toBe(1);
    expect(stdout).toMatch(/SHARED\/steps\/wash\.md:7: error: the include .* is refused/);
    expect(stdout).toMatch(/> 7 \| \{\{file:/);
    expect(stdout).toMatch(/ok {6}GARDEN\nbroken {2}SHARED\n2 workflows: 2 errors, 0 warnings\n$/);
    expect(await run("validate", folder, "--include-root", "shared")).toMatchObject({ code: 0 });
  });

  it("accepts the folder of a single workflow, and warns of unknown verifiers", async () => {
    const { root } = await gardens();
    const folder = join(root, "routed/GARDEN");
    expect(await run("validate", folder)).toMatchObject({ code: 0, stdout: expect.stringContaining("ok      GARDEN") });
    const gate = "---\ngate:\n  verify:\n    - verifier: file_exist\n      params: {path: bed.md}\n---\n";
    await writeFiles(root, { "routed/GARDEN/steps/dig.md": `${gate}${GARDENS["GARDEN/steps/dig.md"]}` });
    const { stdout } = await run("validate", folder);
    expect(stdout).toMatch(/the step Dig names the verifier "file_exist"/);
    expect(stdout).toContain('Did you mean "file_exists"?');
  });

  it("recognizes a phased workflow with an index.md, and both kinds in one folder", async () => {
    const { SMALL } = await import("./workflow-folders.js");
    const { root } = await gardens();
    const folder = join(root, "routed");
    await writeFiles(folder, { ...SMALL, "small/index.md": "# About\n" });
    const { stdout } = await run("validate", folder, "--include-root", ".", "--json");
    const { workflows } = JSON.parse(stdout);
    expect(workflows).toMatchObject([{ type: "GARDEN" }, { type: "SHARED" }, { type: "small", status: "ready" }]);
  });
});
