import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { createEngine, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { onTestFinished } from "vitest";
import { recordText, type SetupRecord } from "../../src/setup/record.js";
import { digest } from "../../src/workflow/json.js";
import { BIN } from "../cli/bin.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { treeOf } from "../setup/a-project.js";
import { twoPhases } from "../support/workflows.js";
import { writeFiles } from "../support/write-files.js";

/** The names of programs that commands of phasegate, or git, may look for. */
const PROGRAMS = [
  "git",
  "node",
  "npx",
  "npm",
  "yarn",
  "sh",
  "xdg-open",
  "chromium",
  "google-chrome",
  "phasegate",
  "claude",
  "codex",
];
const HOOKS = ["pre-commit", "post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction"];
const variable = (name: string) => `\${${name}}`;

/** Whether what a process does can be recorded here. */
export const HAS_STRACE =
  process.platform === "linux" && spawnSync("strace", ["-o", "/dev/null", process.execPath, "-e", ""]).status === 0;

/**
 * Makes a repository as somebody could have left it to be cloned or unpacked: everything in it that names a program, a server or
 * another file leads to one that leaves a trace.
 */
export async function aHostileProject() {
  const base = await temporaryFolder();
  const at = (name: string) => join(base, name);
  const [root, home, config, traces] = [at("project"), at("home"), at("config"), at("traces")];
  await writeFiles(home, {
    "notes.md": "mine\n",
    ".bashrc": "# mine\n",
    ".codeium/windsurf/mcp_config.json": JSON.stringify({ mcpServers: { phasegate: { command: "mine" } } }),
  });
  await mkdir(join(home, "empty"));
  await mkdir(traces);
  const server = createServer((socket) => {
    connections.push("a connection");
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const connections: string[] = [];

  const evil = (name: string) => `#!/bin/bash\nPATH=/usr/bin:/bin; : > ${JSON.stringify(join(traces, name))}\n`;
  await mkdir(root);
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  for (const name of PROGRAMS) {
    for (const folder of ["", "bin/", "node_modules/.bin/"]) {
      await writeFiles(root, { [`${folder}${name}`]: evil(`${folder.replaceAll("/", "-")}${name}`) });
      await chmod(join(root, folder, name), 0o755);
    }
  }
  for (const name of HOOKS) {
    await writeFiles(root, { [`.git/hooks/${name}`]: evil(`hook-${name}`) });
    await chmod(join(root, ".git/hooks", name), 0o755);
  }
  await writeFiles(root, { "evil.sh": evil("evil"), "included.config": `[core]\n\tpager = ${root}/evil.sh\n` });
  await chmod(join(root, "evil.sh"), 0o755);
  const gitConfig = [
    ...["[core]", "repositoryformatversion = 0", `fsmonitor = ${root}/evil.sh`, `sshCommand = ${root}/evil.sh`],
    ...[`pager = ${root}/evil.sh`, `editor = ${root}/evil.sh`, `hooksPath = ${root}/.git/hooks`],
    ...[
      "[diff]",
      `external = ${root}/evil.sh`,
      '[filter "evil"]',
      `clean = ${root}/evil.sh`,
      `smudge = ${root}/evil.sh`,
    ],
    ...["[alias]", `check-ignore = !${root}/evil.sh`, "[include]", `path = ${root}/included.config`],
    ...["[credential]", `helper = !${root}/evil.sh`, "[gpg]", `program = ${root}/evil.sh`],
  ].join("\n");
  const start = { command: "sh", args: ["-c", evil("mcp"), "serve"] };
  const postgres = `postgres://ann:${variable("env:SECRET")}@127.0.0.1:${port}/db`;
  const args = ["phasegate", "serve", "--state", postgres, "--hash-key-file", "/dev/zero", "--approvers", "/dev/zero"];
  const own = { command: "npx", args: ["phasegate", "serve", "--state", "module:./evil.mjs"] };
  await writeFiles(root, {
    "evil.mjs": `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(join(traces, "module"))}, "");\n`,
    ".git/config": `${gitConfig}\n`,
    ".gitattributes": "* filter=evil diff=evil\n",
    "a.md": "a\n",
    ".mcp.json": JSON.stringify({
      mcpServers: { phasegate: start, phasegate2: { command: "npx", args }, phasegate3: own },
    }),
    ".vscode/mcp.json": JSON.stringify({ servers: { phasegate: { command: `${root}/evil.sh`, args: ["serve"] } } }),
    ".npmrc": `git=${root}/evil.sh\nscript-shell=${root}/evil.sh\n`,
    "workflows/bug_fix/metadata.json": JSON.stringify({
      ...{ workflow_type: "bug_fix", name: "Fix", description: "Fixes", version: "1.0.0", category: "code" },
      phases: [{ phase_number: 1, phase_name: "Fix" }],
    }),
    "workflows/bug_fix/phases/1/phase.md": "# Phase 1: Fix\n\nFix it.\n",
    "workflows/bug_fix/phases/1/gate-definition.yaml":
      'evidence_schema:\n  fixed: {type: boolean, verify: {verifier: command, line: "sh evil.sh --all"}}\n',
  });
  const links = {
    ".gitignore": ".git/config",
    "CLAUDE.md": ".git/config",
    "AGENTS.md": join(home, "notes.md"),
    "GEMINI.md": "/dev/zero",
    "package.json": "/dev/zero",
    "Cargo.toml": "/dev/zero",
    ".cursor": home,
    ".claude": join(home, "empty"),
    ".codex": "/dev",
    "opencode.json": "/dev/zero",
    logs: home,
  };
  for (const [name, target] of Object.entries(links)) await symlink(target, join(root, name));
  execFileSync("mkfifo", [join(root, "pyproject.toml"), join(root, "Makefile")]);

  // A state with an unfinished session, so that the hook has something to note.
  const storage = await FileStorage.open(join(root, ".phasegate"));
  const engine = createEngine({ storage, content: new MemoryContent({ workflows: [twoPhases] }) });
  await engine.start({ workflowType: "two_phases", target: "a.md" });
  await engine.close();
  await symlink(join(home, ".bashrc"), join(root, ".phasegate/stop-hook.json"));

  const env = {
    PATH: [".", "bin", "", join(root, "node_modules/.bin"), process.env.PATH].join(delimiter),
    HOME: home,
    USERPROFILE: home,
    XDG_CONFIG_HOME: config,
    SECRET: "s3cret",
    PGPASSWORD: "s3cret",
    // Node's own cache of compiled code.
    NODE_DISABLE_COMPILE_CACHE: "1",
  };
  const outside = async () => ({
    home: await treeOf(home),
    config: await treeOf(config).catch(() => ({})),
    git: await readFile(join(root, ".git/config"), "utf8"),
    hooks: await readdir(join(root, ".git/hooks")),
  });
  return {
    ...{ root, home, env, outside, connections },
    /** The programs of the project that have run. */
    traces: () => readdir(traces),
    /** Puts a record into the project: as init writes it, with these choices and pieces. */
    record: (record: Partial<SetupRecord>) =>
      writeFile(join(root, ".phasegate-init.json"), recordText(aRecord(record))),
    /** Runs the bin in the project. Returns what it printed, and what it did outside of it, if that can be recorded. */
    run: async (args: readonly string[], stdin = "", wait = 20_000) => {
      const log = at("strace.log");
      const traced = [
        "-f",
        "-qq",
        "-s",
        "300",
        "-e",
        "trace=execve,connect,openat,open,creat,unlink,unlinkat,rename",
        "-o",
        log,
      ];
      const [command = "", ...words] = [...(HAS_STRACE ? ["strace", ...traced] : []), process.execPath, BIN, ...args];
      const path = HAS_STRACE ? "/usr/bin/strace" : command;
      const child = spawn(path, words, { cwd: root, env });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
      child.stdin.on("error", () => {}).end(stdin);
      const timer = setTimeout(() => child.kill("SIGKILL"), wait);
      const [code] = await once(child, "close");
      clearTimeout(timer);
      const calls = HAS_STRACE ? (await readFile(log, "utf8")).split("\n") : [];
      return { code, output, outward: calls.filter((call) => isOutward(call, [root, config])) };
    },
  };
}

function aRecord(record: Partial<SetupRecord>): SetupRecord {
  const choices = { clients: ["claude"], starters: ["bug_fix"], hooks: true, testCommand: "sh evil.sh" };
  return { format: 1, choices, folders: [], files: {}, pieces: [], ...record };
}

/** A recorded piece that is a whole file with a text. */
export function wholeFile(path: string, text: string) {
  return { path, kind: "file" as const, digest: digest(text) };
}

/** Checks whether a line of strace tells of another program, a connection, or a write outside of these folders. */
function isOutward(call: string, folders: readonly string[]): boolean {
  if (/ = -1 E/.test(call)) return false;
  if (/^\d+ +execve\(/.test(call)) return !call.includes(`execve(${JSON.stringify(process.execPath)}`);
  if (/^\d+ +connect\(/.test(call)) return true;
  const changes = /^\d+ +(?:unlink|unlinkat|rename|creat)\(/.test(call) || /O_WRONLY|O_RDWR|O_CREAT/.test(call);
  const [, path = ""] = /"([^"]*)"/.exec(call) ?? [];
  // Through an open folder, whose own path was checked: what is in other folders is compared as well.
  return changes && ![...folders, "/proc/self/fd/", "/dev/null", "/dev/tty"].some((one) => path.startsWith(one));
}
