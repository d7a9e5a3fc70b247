import { exec } from "node:child_process";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { runBin } from "../cli/bin.js";
import { aProject } from "./a-project.js";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
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
