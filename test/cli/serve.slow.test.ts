import { spawn } from "node:child_process";
import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Answer } from "../mcp/connect-in-memory.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { howOften } from "../support/how-often.js";
import { writeFiles } from "../support/write-files.js";
import { BIN, runBin } from "./bin.js";
import { run } from "./run-cli.js";
import { connectToBin, connectToServe } from "./serve-client.js";
import { FAULTY, SMALL } from "./workflow-folders.js";

/** Creates a folder with a workflow, and names a folder for sessions. */
async function host(files: Readonly<Record<string, string>> = SMALL) {
  const root = await temporaryFolder();
  const [workflows, state] = [join(root, "workflows"), join(root, "state")];
  await writeFiles(workflows, files);
  return { root, workflows, state, flags: ["--workflows", workflows, "--state", state] };
}

const INITIALIZE = {
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

function lines(...messages: object[]): string {
  return messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join("");
}

function toolCall(id: number, input: Answer): object {
  return { id, method: "tools/call", params: { name: "pos_workflow", arguments: input } };
}

function parsed(text: string): Answer[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

describe("phasegate serve", () => {
  it("serves a session over stdio that a second server continues", async () => {
    const { flags } = await host();
    const first = await connectToBin(flags);
    const { session_id } = await first.ask({ action: "start", workflow_type: "small", target_file: "a.ts" });
    const lie = { action: "complete_phase", session_id, phase: 1, evidence: { tests_pass: false } };
    expect(await first.ask(lie)).toMatchObject({ checkpoint_passed: false, problems: [{ problem: "claimed_false" }] });
    await first.client.close();
    const second = await connectToServe(flags);
    const honest = { ...lie, evidence: { tests_pass: true } };
    expect(await second.ask(honest)).toMatchObject({ checkpoint_passed: true });
    expect(await second.ask({ action: "get_state", session_id, brief: true })).toMatchObject({ current_phase: 2 });
  });

  it("ignores the variables of a server over HTTP on stdio", async () => {
    const { flags } = await host();
    const { ask } = await connectToServe(flags, { PHASEGATE_TOKENS: "missing.json", PHASEGATE_QUOTA: "sessions=1" });
    for (const target_file of ["a.ts", "b.ts"]) {
      expect(await ask({ action: "start", workflow_type: "small", target_file })).toMatchObject({ status: "success" });
    }
  });

  it("reads all settings from the environment, and prefers flags", async () => {
    const { root, workflows, state } = await host();
    await writeFiles(join(root, "more"), { "other/metadata.json": "{" });
    const env = {
      PHASEGATE_WORKFLOWS: [workflows, join(root, "more")].join(delimiter),
      PHASEGATE_STATE: state,
      PHASEGATE_PROJECT: root,
      PHASEGATE_LOG_LEVEL: "debug",
      PHASEGATE_TOOL_NAME: "from_environment",
      PHASEGATE_ACTIONS: "list_workflows,start,complete_phase",
      PHASEGATE_MAX_ATTEMPTS: "1",
    };
    const { client, log, ask } = await connectToServe(["--tool-name", "pos_workflow"], env);
    const { tools } = await client.listTools();
    expect(tools[0]).toMatchObject({
      name: "pos_workflow",
      inputSchema: { properties: { action: { enum: ["list_workflows", "start", "complete_phase"] } } },
    });
    expect(await ask({ action: "list_workflows" })).toMatchObject({
      workflows: [{ workflow_type: "small" }, { workflow_type: "other", broken: true, error: expect.any(String) }],
    });
    const { session_id } = await ask({ action: "start", workflow_type: "small", target_file: "a.ts" });
    expect(await ask({ action: "complete_phase", session_id, phase: 1, evidence: {} })).toMatchObject({
      session_status: "failed",
      attempts_left: 0,
    });
    // The workflows are read for the log once the client has what it waits for.
    await expect
      .poll(() => log.map(({ level, msg }) => `${level} ${msg}`), { timeout: 20_000 })
      .toEqual(
        expect.arrayContaining(["warn broken workflow", "info workflows", "info started", "debug phaseEntered"]),
      );
    expect(log.find(({ msg }) => msg === "gateFailed")).toMatchObject({
      problems: [{ field: "tests_pass", problem: "missing" }],
    });
  });

  it("restricts targets to the project folder, even through links", async () => {
    const { root, flags } = await host();
    await mkdir(join(root, "project"));
    await symlink(root, join(root, "project", "out"));
    const { ask } = await connectToServe([...flags, "--project", join(root, "project")]);
    const start = { action: "start", workflow_type: "small" };
    const refused = await ask({ ...start, target_file: "out/a.ts" });
    expect(refused).toMatchObject({ status: "error", code: "PATH_REFUSED" });
    expect(JSON.stringify(refused)).not.toContain(root);
    expect(await ask({ ...start, target_file: "new/a.ts" })).toMatchObject({ status: "success" });
  });

  it("writes only protocol messages to stdout, and answers all calls before its input ended", async () => {
    const { flags } = await host(FAULTY);
    const calls = [toolCall(1, { action: "list_workflows" }), toolCall(2, { action: "nonsense" })];
    const input = lines(INITIALIZE, { method: "notifications/initialized" }, ...calls);
    const { code, stdout, stderr } = await runBin(["serve", ...flags, "--log-level", "trace"], { stdin: input });
    expect(code).toBe(0);
    const answers = parsed(stdout).sort((one, other) => Number(one.id) - Number(other.id));
    expect(answers).toMatchObject([
      { jsonrpc: "2.0", id: 0 },
      { jsonrpc: "2.0", id: 1, result: { isError: false } },
      {
        jsonrpc: "2.0",
        id: 2,
        result: { isError: true, content: [{ text: expect.stringContaining('"status":"error"') }] },
      },
    ]);
    expect(parsed(stderr).at(-1)).toMatchObject({ level: "info", msg: "stopped", reason: "input ended" });
  });

  it("answers although nobody reads its log", async () => {
    const { flags } = await host();
    const child = spawn(process.execPath, [BIN, "serve", ...flags]);
    onTestFinished(() => void child.kill("SIGKILL"));
    let written = "";
    child.stdout.on("data", (chunk) => {
      written += String(chunk);
    });
    await new Promise((started) => child.stderr.once("data", started));
    await new Promise((closed) => child.stderr.once("close", closed).destroy());
    // A refused call is logged, and so is the end.
    const refused = [1, 2].map((id) => toolCall(id, { action: "start", workflow_type: "none", target_file: "a.ts" }));
    child.stdin.end(lines(INITIALIZE, { method: "notifications/initialized" }, ...refused));
    expect(await new Promise((done) => child.on("close", done))).toBe(0);
    expect(parsed(written)).toHaveLength(3);
  });

  it.each(howOften(["SIGTERM"], ["SIGTERM", "SIGINT"]) satisfies NodeJS.Signals[])(
    "ends properly on %s: completed calls are answered",
    async (signal) => {
      const { flags, state } = await host();
      const child = spawn(process.execPath, [BIN, "serve", ...flags]);
      onTestFinished(() => void child.kill("SIGKILL"));
      const starts = Array.from({ length: 80 }, (_, index) =>
        toolCall(index + 1, { action: "start", workflow_type: "small", target_file: `src/${index}.ts` }),
      );
      let written = "";
      child.stdout.on("data", (chunk) => {
        written += String(chunk);
        if (written.includes('"id":5}') && !child.killed) child.kill(signal);
      });
      child.stdin.write(lines(INITIALIZE, { method: "notifications/initialized" }, ...starts));
      const code = await new Promise((done) => child.on("close", done));
      expect(code).toBe(0);
      const answered = parsed(written).filter(({ id }) => typeof id === "number" && id > 0).length;
      const sessions = JSON.parse((await run("sessions", "--state", state, "--json")).stdout);
      expect(answered).toBeGreaterThanOrEqual(5);
      expect(sessions.count).toBe(answered);
    },
  );

  it("accepts evidence up to the engine's size limit", async () => {
    const { flags } = await host();
    const { ask } = await connectToServe(flags);
    const { session_id } = await ask({ action: "start", workflow_type: "small", target_file: "a.ts" });
    const evidence = { tests_pass: true, log: "é".repeat(4_500_000) };
    const complete = { action: "complete_phase", session_id, phase: 1 };
    expect(await ask({ ...complete, evidence: { ...evidence, more: "x".repeat(3_000_000) } })).toMatchObject({
      code: "EVIDENCE_TOO_LARGE",
    });
    expect(await ask({ ...complete, evidence })).toMatchObject({ checkpoint_passed: true });
  });

  it("supports the newest protocol, with subscriptions", async () => {
    const { flags, workflows } = await host();
    const { client, ask } = await connectToServe(
      [...flags, "--poll", "1"],
      {},
      { versionNegotiation: { mode: "auto" } },
    );
    expect(client.getProtocolEra()).toBe("modern");
    const changes: string[] = [];
    client.setNotificationHandler("notifications/resources/list_changed", ({ method }) => void changes.push(method));
    const subscription = await client.listen({ resourcesListChanged: true });
    await client.listTools();
    expect(await ask({ action: "nonsense" })).toMatchObject({ status: "error", error_type: "ValueError" });
    await ask({ action: "start", workflow_type: "small", target_file: "a.ts" });
    await vi.waitFor(() => expect(changes).toHaveLength(1));
    // The server compares with its first look, which it takes half a second after it has begun.
    let edits = 0;
    const edit = async () => {
      edits += 1;
      await writeFiles(workflows, { [`later_${edits}/metadata.json`]: "{" });
      expect(changes.length).toBeGreaterThan(1);
    };
    await vi.waitFor(edit, { timeout: 9000, interval: 1500 });
    await subscription.close();
  });

  it("names a folder that is missing, or not a folder", async () => {
    const { root, workflows, state } = await host();
    const nowhere = join(root, "nowhere");
    const missing = await run("serve", "--workflows", workflows, nowhere, "--state", state);
    expect(missing).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining(nowhere) });
    const project = await run("serve", "--workflows", workflows, "--state", state, "--project", nowhere);
    expect(project).toMatchObject({ code: 3, stderr: expect.stringContaining("the project folder can't be read") });
    await writeFiles(root, { file: "" });
    const file = await run("serve", "--workflows", workflows, "--state", join(root, "file"));
    expect(file).toMatchObject({ code: 3, stdout: "" });
    expect(file.stderr).toMatch(/^phasegate: error: .*\n {2}hint: .*\n$/);
  });

  it("lets agents search the standards that it is given, with or without workflows", async () => {
    const { root, flags } = await host();
    await writeFiles(join(root, "standards"), {
      "tests.md": "# Tests\n\n## Names\n\nName a test after its rule.\n",
      "phases/1/phase.md": "# Phase 1\n\nName nothing.\n",
    });
    const { client, log } = await connectToServe([...flags, "--standards", join(root, "standards")]);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["pos_workflow", "search_standards"]);
    const search = { name: "search_standards", arguments: { query: "how to name a test" } };
    expect(await client.callTool(search)).toMatchObject({
      isError: false,
      structuredContent: { status: "success", results: [{ file: "tests.md", headings: "Tests" }] },
    });
    expect(await client.callTool({ ...search, arguments: { words: "x" } })).toMatchObject({ isError: true });
    expect(log).toContainEqual(expect.objectContaining({ msg: "standards", files: 2 }));
    const alone = await connectToServe([], { PHASEGATE_STANDARDS: join(root, "standards") });
    expect((await alone.client.listTools()).tools.map(({ name }) => name)).toEqual(["search_standards"]);
  });

  it.each([
    ["search_standards(query='naming')", "small/phases/2/phase.md"],
    ["🔍 **MUST-SEARCH**: how tests are named", "small/phases/2/task-1-name.md"],
  ])(
    "warns of texts that ask for a search, if it has no standards, and the session says what counts: %s",
    async (order, path) => {
      const { root, flags } = await host({ ...SMALL, [path]: `# Two\n\n${order}\n` });
      const asks = expect.objectContaining({
        level: "warn",
        workflowType: "small",
        msg: expect.stringContaining("a search"),
      });
      const without = await connectToServe(flags);
      await expect.poll(() => without.log, { timeout: 20_000 }).toContainEqual(asks);
      const start = { action: "start", workflow_type: "small", target_file: "a.ts" };
      expect(await without.ask(start)).toMatchObject({
        missing_tools: expect.stringMatching(
          /ask for a search .* does not have: search the files .* counts as the search/,
        ),
      });
      await without.client.close();
      const searching = await connectToServe([...flags, "--standards", root]);
      expect(await searching.ask(start)).not.toHaveProperty("missing_tools");
      await expect
        .poll(() => searching.log, { timeout: 20_000 })
        .toContainEqual(expect.objectContaining({ msg: "workflows" }));
      expect(searching.log).not.toContainEqual(asks);
    },
  );

  it("reads texts through a search whose index is kept, and that sees edits", async () => {
    const { root, workflows, flags } = await host({
      ...SMALL,
      "small/phases/1/task-1-saw.md": "# Task 1: Saw\n\nSaw it.\n",
    });
    const [index, start] = [join(root, "index"), { action: "start", workflow_type: "small", target_file: "a.ts" }];
    const first = await connectToServe([...flags, "--rag", index]);
    const indexed = (log: readonly Answer[]) => log.find(({ msg }) => msg === "rag");
    expect(indexed(first.log)).toMatchObject({ level: "info", files: 3, changed: 3 });
    const { session_id } = await first.ask(start);
    const task = { action: "get_task", session_id, phase: 1, task_number: 1 };
    expect(await first.ask(task)).toMatchObject({ task_content: { content: "# Task 1: Saw\n\nSaw it.\n" } });
    await writeFiles(workflows, { "small/phases/1/task-1-saw.md": "# Task 1: Saw\n\nSaw it in two.\n" });
    expect(await first.ask(task)).toMatchObject({ task_content: { content: "# Task 1: Saw\n\nSaw it in two.\n" } });
    await first.client.close();
    expect(await readdir(index)).toHaveLength(1);
    const second = await connectToServe([...flags, "--rag", index]);
    expect(indexed(second.log)).toMatchObject({ files: 3, changed: 0 });
  });

  it("refuses an index in the project that goes through a link", async () => {
    const { root, flags } = await host();
    await mkdir(join(root, "project"));
    await symlink(root, join(root, "project", "linked"));
    const place = join(root, "project", "linked", "index");
    const refused = await run("serve", ...flags, "--project", join(root, "project"), "--rag", place);
    expect(refused).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("the folder of --rag is refused: linked"),
    });
    expect(await readdir(root)).not.toContain("index");
    const unused = await run("serve", "--standards", root, "--rag", place);
    expect(unused).toMatchObject({ code: 2, stderr: expect.stringContaining("--rag is for phased workflows") });
  });

  it.each([["--rag"], ["--standards"]])("says how to install the index of %s if it is missing", async (option) => {
    vi.doMock("@orama/orama", () => {
      throw new Error("not installed");
    });
    onTestFinished(() => vi.doUnmock("@orama/orama"));
    const { root, flags } = await host();
    const refused = await run("serve", ...flags, option, root);
    expect(refused).toMatchObject({ code: 3, stdout: "" });
    expect(refused.stderr).toContain("npm install @orama/orama@latest");
  });

  it("explains how to install the MCP SDK if it is missing", async () => {
    const { root, flags } = await host();
    const modules = join(root, "node_modules");
    await mkdir(join(modules, "phasegate"), { recursive: true });
    await cp("dist", join(modules, "phasegate", "dist"), { recursive: true });
    await cp("package.json", join(modules, "phasegate", "package.json"));
    for (const name of await readdir("node_modules")) {
      if (name !== "@modelcontextprotocol" && !name.startsWith(".")) {
        await symlink(resolve("node_modules", name), join(modules, name));
      }
    }
    const script = join(modules, "phasegate", "dist", "cli", "main.js");
    const refused = await runBin(["serve", ...flags], { script });
    expect(refused).toMatchObject({ code: 3, stdout: "" });
    expect(refused.stderr).toContain("npm install @modelcontextprotocol/server");
    expect(await runBin(["validate", "--help"], { script })).toMatchObject({ code: 0 });
  });
});
