import { exec } from "node:child_process";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { parse as parseToml } from "smol-toml";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { runBin } from "../cli/bin.js";
import { type Answer, answerOf } from "../mcp/connect-in-memory.js";
import { initialise } from "../support/a-repository.js";
import { installPacked, PACKAGE } from "../support/install-packed.js";
import { aProject } from "./a-project.js";

const SDK = "node_modules/@modelcontextprotocol/server";

test("the bin sets a project up; what it wrote starts the server, answers the hook, and is taken back", async () => {
  const project = await aProject({ "package.json": '{"scripts": {"test": "node --test"}}', "src/a.ts": "" });
  const { root, home, starters } = project;
  await mkdir(join(root, dirname(SDK)), { recursive: true });
  await symlink(PACKAGE, join(root, "node_modules/phasegate"), "junction");
  await symlink(join(PACKAGE, SDK), join(root, SDK), "junction");
  const before = await readFile(join(root, "package.json"), "utf8");
  const init = (...args: string[]) => runBin(["init", "--project", root, ...args], { env: { HOME: home } });
  expect(await init("--client", "claude", "--hooks", "--starters-from", starters)).toMatchObject({
    code: 0,
    stderr: "",
  });

  const doctor = () => runBin(["doctor", "--project", root], { env: { HOME: home, ...pathOf(process.execPath) } });
  expect((await doctor()).stdout).toMatch(/Claude Code, \.mcp\.json, phasegate: starts phasegate/);
  const written = await project.read(".mcp.json");
  // What a later commit of somebody else changes is not started.
  await project.write({ ".mcp.json": written.replace('"serve"', '"serve", "--allow-command", "sh"') });
  expect((await doctor()).stdout).toContain(
    "Claude Code, .mcp.json, phasegate: not started: your init did not write it",
  );
  await project.write({ ".mcp.json": written });

  const { mcpServers } = JSON.parse(await readFile(join(root, ".mcp.json"), "utf8"));
  const { command, args } = mcpServers.phasegate;
  const client = new Client({ name: "test", version: "1" });
  onTestFinished(() => client.close());
  await client.connect(
    new StdioClientTransport({ command, args, cwd: root, stderr: "ignore", env: pathOf(process.execPath) }),
  );
  const start = { action: "start", workflow_type: "bug_fix", target_file: "src/a.ts" };
  const { structuredContent } = await client.callTool({ name: "pos_workflow", arguments: start });
  expect(structuredContent).toMatchObject({ status: "success", session_id: expect.any(String) });

  const settings = JSON.parse(await readFile(join(root, ".claude/settings.json"), "utf8"));
  const sent = { hook_event_name: "Stop", session_id: "one", cwd: join(root, "src"), stop_hook_active: false };
  const stopped = await inShell(settings.hooks.Stop[0].hooks[0].command, JSON.stringify(sent), {
    ...pathOf(process.execPath),
    CLAUDE_PROJECT_DIR: root,
    HOME: home,
  });
  expect(JSON.parse(stopped)).toMatchObject({ decision: "block", reason: expect.stringContaining('"get_phase"') });
  await client.close();

  expect(await init("--remove")).toMatchObject({ code: 0 });
  expect(await project.read("package.json")).toBe(before);
  for (const path of [".mcp.json", ".claude", "workflows", "CLAUDE.md", ".gitignore", ".phasegate-init.json"]) {
    await expect(project.read(path)).rejects.toThrow("ENOENT");
  }
});

const FILES = {
  "package.json": '{ "type": "module", "scripts": { "test": "node --test" } }\n',
  "add.js": "export function add(a, b) {\n  return a - b;\n}\n",
  "test/add.test.js": `import assert from "node:assert/strict";
import { test } from "node:test";
import { add } from "../add.js";

test("adds two numbers", () => {
  assert.equal(add(2, 3), 5);
});
`,
};

const PACKED = "an agent fixes a bug through the server that a client starts from what the packed package has written";
// Eleven processes one after the other, on a machine that may have others to run.
test(PACKED, { timeout: 120_000 }, async () => {
  const { root, home, write } = await aProject(FILES);
  await installPacked(root, ["@modelcontextprotocol/server"]);
  await write({ ".gitignore": "node_modules/\n" });
  const git = await initialise(root);
  const bin = join(root, "node_modules/phasegate/dist/cli/main.js");
  const flags = ["--client", "claude,codex,vscode", "--test-command", "node --test --test-isolation=none"];
  const env = { HOME: home };
  expect(await runBin(["init", "--project", root, ...flags], { env, script: bin })).toMatchObject({ code: 0 });
  git("add", ".");
  git("commit", "--quiet", "-m", "phasegate");

  const read = (path: string) => readFile(join(root, path), "utf8");
  const claude = JSON.parse(await read(".mcp.json")).mcpServers.phasegate;
  const { ask, client } = await connectIn(root, claude);
  const submit = async (phase: number, evidence: object) =>
    ask({ action: "complete_phase", session_id, phase, evidence });
  const { session_id, status } = await ask({ action: "start", workflow_type: "bug_fix" });
  expect(status).toBe("success");
  const shown = { file: "test/add.test.js", line: 5, quote: 'test("adds two numbers"' };
  const bug = { bug: "add(2, 3) should be 5, and is -1", test_name: "adds two numbers", test: shown };
  expect(await submit(1, bug)).toMatchObject({ status: "success" });
  const cause = { file: "add.js", line: 2, quote: "return a - b;" };
  expect(await submit(2, { cause, why: "it subtracts the second number" })).toMatchObject({ status: "success" });

  const same = { test_name: bug.test_name, cause_file: cause.file };
  const fix = { fix: "it adds the numbers, as its name says", changed: ["add.js"], ...same };
  const lie = await submit(3, fix);
  expect(lie).toMatchObject({ code: "GATE_FAILED" });
  expect(JSON.stringify(lie)).toContain("adds two numbers");
  await write({ "add.js": FILES["add.js"].replace("a - b", "a + b") });
  expect(await submit(3, fix)).toMatchObject({ status: "success" });
  git("commit", "--quiet", "-am", "add adds");
  const end = { commit: git("rev-parse", "HEAD"), test_file: "test/add.test.js" };
  expect(await submit(4, end)).toMatchObject({ workflow_complete: true });
  await client.close();

  // The other clients start the same server on the same sessions.
  const codex = parseToml(await read(".codex/config.toml"));
  const vscode = JSON.parse((await read(".vscode/mcp.json")).replaceAll(/\$\{workspaceFolder\}/g, () => root)).servers
    .phasegate;
  for (const configured of [entryOf(codex), vscode]) {
    const other = await connectIn(root, configured);
    expect(await other.ask({ action: "get_state", session_id })).toMatchObject({ session_status: "completed" });
    await other.client.close();
  }
});

/** A server, as clients name it in their configurations. */
interface Configured {
  readonly command: string;
  readonly args: string[];
}

function entryOf(config: unknown): Configured {
  return z.object({ mcp_servers: z.object({ phasegate: configuredSchema }) }).parse(config).mcp_servers.phasegate;
}

const configuredSchema = z.object({ command: z.string(), args: z.array(z.string()) });

/** Starts a server in a project as a client does, and connects the official client to it. */
async function connectIn(root: string, { command, args }: Configured) {
  const client = new Client({ name: "test", version: "1" });
  onTestFinished(() => client.close());
  const env = pathOf(process.execPath);
  await client.connect(new StdioClientTransport({ command, args, cwd: root, stderr: "ignore", env }));
  const ask = async (input: Answer) => answerOf(await client.callTool({ name: "pos_workflow", arguments: input }));
  return { client, ask };
}

/** Returns an environment in which `node` is this one. */
function pathOf(node: string): Record<string, string> {
  return { PATH: [dirname(node), process.env.PATH ?? ""].join(process.platform === "win32" ? ";" : ":") };
}

function inShell(command: string, input: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = exec(command, { env, cwd: "/" }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    );
    child.stdin?.end(input);
  });
}
