import { spawnSync } from "node:child_process";
import { readdir, rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aHostileProject, HAS_STRACE, wholeFile } from "./a-hostile-project.js";

type Hostile = Awaited<ReturnType<typeof aHostileProject>>;

/** Runs a command, and checks that it has done nothing outside of the project, and nothing that the project wants. */
async function harmless(project: Hostile, args: readonly string[], stdin = "") {
  const before = await project.outside();
  const { code, output, outward } = await project.run(args, stdin);
  const { config: _, ...after } = await project.outside();
  expect(after, args.join(" ")).toEqual({ home: before.home, git: before.git, hooks: before.hooks });
  expect({ traces: await project.traces(), connections: project.connections, outward }, output).toEqual({
    traces: [],
    connections: [],
    outward: [],
  });
  expect(code, output).not.toBeNull();
  expect(output).not.toContain("s3cret");
  return { code, output };
}

const STOP = (root: string) => JSON.stringify({ hook_event_name: "Stop", session_id: "one", cwd: root });

describe.skipIf(process.platform === "win32")(
  `a repository of a stranger${HAS_STRACE ? "" : " (without strace)"}`,
  () => {
    it("would run its programs if git were asked", async () => {
      const { root, env, traces } = await aHostileProject();
      spawnSync("/usr/bin/git", ["status"], { cwd: root, env });
      expect(await traces()).toContain("evil");
    });

    it.each([
      ["init --dry-run", ["init", "--dry-run"], 1],
      ["init", ["init", "--yes", "--client", "claude,cursor,vscode,codex,gemini,opencode"], 1],
      ["init with hooks", ["init", "--yes", "--hooks"], 1],
      ["init --update", ["init", "--update"], 1],
      ["init --remove", ["init", "--remove"], 1],
      ["doctor", ["doctor"], 1],
      ["doctor --no-start", ["doctor", "--no-start", "--json"], 1],
      ["validate", ["validate", "workflows"], 0],
      ["sessions", ["sessions", "--state", ".phasegate"], 0],
      [
        "serve as a client starts it",
        ["serve", "--workflows", "workflows", "--state", ".phasegate", "--project", "."],
        0,
      ],
      ["serve of starters", ["serve", "--starters", "--state", ".phasegate", "--project", "."], 0],
    ])("does nothing by %s", async (_, args, code) => {
      expect((await harmless(await aHostileProject(), args)).code).toBe(code);
    });

    it("does nothing by the hook at the end of an agent, and its state is not written through a link", async () => {
      const project = await aHostileProject();
      expect((await harmless(project, ["hook", "stop", "--client", "claude"], STOP(project.root))).output).toBe("");
    });

    it("with a state that leads elsewhere writes nothing there", async () => {
      const project = await aHostileProject();
      await rename(join(project.root, ".phasegate"), join(project.root, "state"));
      await symlink(join(project.home, "empty"), join(project.root, ".phasegate"));
      await project.record({});
      for (const args of [
        ["serve"],
        ["serve", "--workflows", "workflows", "--state", ".phasegate", "--project", "."],
        ["serve", "--workflows", "workflows", "--state", "sqlite:.phasegate/s.db", "--project", "."],
        ["sessions"],
        ["doctor"],
      ]) {
        const { code, output } = await harmless(project, args);
        expect(code, output).not.toBe(0);
        expect(output).toContain(".phasegate in the project is a link");
      }
      await harmless(project, ["hook", "stop", "--client", "claude"], STOP(project.root));
      expect(await readdir(join(project.home, "empty"))).toEqual([]);
    });

    it("that brings a record of init gets nothing allowed and nothing deleted, before the user has seen it", async () => {
      const project = await aHostileProject();
      const windsurf = "~/.codeium/windsurf/mcp_config.json";
      const entry = { path: windsurf, kind: "property" as const, keys: ["mcpServers", "phasegate"] };
      const pieces = [{ ...entry, digest: "4f0c7e".padEnd(64, "0") }];
      await project.record({ pieces, folders: ["~/.codeium/windsurf", "~/.codeium"] });
      for (const args of [
        ["init", "--yes"],
        ["init", "--update"],
        ["init", "--remove"],
        ["init", "--dry-run"],
      ]) {
        const { code, output } = await harmless(project, args);
        expect(code).toBe(1);
        expect(output).toContain("gates may run: sh evil.sh");
        expect(output).toContain(windsurf);
        expect(output).toContain("run it again with --trust");
      }
      // Not even trust leads to a file outside of the project that this user's init has not written.
      expect((await harmless(project, ["init", "--remove", "--trust"])).code).toBe(0);

      for (const record of [
        { pieces: [wholeFile(".git/hooks/pre-commit", "x")] },
        { pieces: [wholeFile("~/notes.md", "mine\n")] },
        { folders: ["~/empty"] },
        { folders: [".git/hooks"] },
      ]) {
        await project.record(record);
        const { code, output } = await harmless(project, ["init", "--remove", "--trust"]);
        expect(code).toBe(1);
        expect(output).toMatch(/never (?:writes|makes)/);
      }
    });

    it("shows what its own gates run, and how they differ from the starter", async () => {
      const project = await aHostileProject();
      const { output } = await harmless(project, ["init", "--dry-run"]);
      expect(output).toContain(
        'workflows/bug_fix/ came with the project. Its gates run:\n    phase 1: command "sh evil.sh --all"',
      );
      expect(output).toContain("workflows/bug_fix/phases/1/gate-definition.yaml differs from the starter:");
      expect(output).toContain('+  fixed: {type: boolean, verify: {verifier: command, line: "sh evil.sh --all"}}');
    });

    it("shows the command that a client would start, and connects to no database of it", async () => {
      const { output } = await harmless(await aHostileProject(), ["doctor", "--client", "claude,codex,copilot"]);
      expect(output).toContain("Claude Code: not asked: it would start servers that your init did not write");
      expect(output).toContain(
        "Claude Code, .mcp.json, phasegate2: not started: your init did not write it: npx phasegate serve",
      );
      expect(output).toContain("--state postgres://ann:***@127.0.0.1");
      expect(output).toMatch(/Cursor, .cursor\/mcp.json can't be read|Codex, .codex\/config.toml can't be read/);
    });
  },
);
