import { chmod, mkdir, readdir, rm } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { FileStorage } from "phasegate/fs";
import { PostgresStorage } from "phasegate/postgres";
import { SqliteStorage } from "phasegate/sqlite";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Finding } from "../../src/cli/doctor-checks.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { livedIn } from "../support/house.js";
import { emptyDatabase, runSql } from "../support/postgres.js";
import { writeFiles } from "../support/write-files.js";
import { answering } from "./answering.js";
import { BIN } from "./bin.js";
import { run } from "./run-cli.js";
import { FAULTY, SMALL } from "./workflow-folders.js";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** The arguments of a server on the usual places of a project. */
const SERVE = ["serve", "--workflows", "workflows", "--state", ".phasegate", "--project", "."];

/** A placeholder of a client. */
const variable = (name: string) => `\${${name}}`;

/** Makes a project of files; workflows are below `workflows/`. No file of this machine's home is read. */
async function aProject(files: Readonly<Record<string, unknown>> = {}, workflows = SMALL): Promise<string> {
  const project = await temporaryFolder();
  vi.stubEnv("HOME", project);
  vi.stubEnv("USERPROFILE", project);
  const texts = Object.entries(files).map(([path, content]) => {
    return [path, typeof content === "string" ? content : JSON.stringify(content)];
  });
  const placed = Object.entries(workflows).map(([path, text]) => [`workflows/${path}`, text]);
  await writeFiles(project, Object.fromEntries([...placed, ...texts]));
  return project;
}

/** Runs the doctor, and returns its findings; those of a check if one is named. */
async function examined(project: string, args: readonly string[] = [], check?: Finding["check"]) {
  const { code, stdout, stderr } = await run("doctor", "--project", project, "--json", "--trust", ...args);
  expect(stderr).toBe("");
  const { findings, worst }: { findings: Finding[]; worst: string } = JSON.parse(stdout);
  return { code, worst, findings: findings.filter((found) => check === undefined || found.check === check) };
}

/** A configuration of Claude Code with one server. */
const claude = (server: object) => ({ ".mcp.json": { mcpServers: { phasegate: server } } });

/** The configuration of a server that is a script, in which it is phasegate by its name. */
const script = (text: string) => claude({ command: process.execPath, args: ["-e", text] });

describe("phasegate doctor", () => {
  it("finds nothing wrong where everything works, and starts the server as the client does", async () => {
    const project = await aProject(claude({ command: process.execPath, args: [BIN, ...SERVE] }));
    const { code, worst, findings } = await examined(project);
    expect({ code, worst }).toEqual({ code: 0, worst: "ok" });
    expect(findings.map(({ check }) => check)).toEqual([
      ...["node", "sdk", "clients", "state", "workflows", "approvers", "chromium"],
    ]);
    const [node, , client, state, workflow, approvers] = findings;
    expect(node?.message).toBe(`Node ${process.versions.node}`);
    expect(client?.server).toMatchObject({ tools: ["pos_workflow"] });
    expect(client?.server?.tokens).toBeGreaterThan(300);
    expect(client?.server?.tokens).toBeLessThan(700);
    expect(client?.message).toMatch(
      /^Claude Code, \.mcp\.json, phasegate: starts phasegate [\d.]+ in [\d.]+ s, with 1 tool \(pos_workflow\) in \d+ tokens$/,
    );
    // The server has made it.
    expect(state?.message).toMatch(/^\.phasegate: opens, survives a power failure/);
    expect(workflow?.message).toBe("workflows/small: can be started");
    expect(approvers?.message).toBe("none, and no gate needs one");
  });

  it("prints each finding with its fix, and the worst one is its exit code", async () => {
    const project = await aProject({}, FAULTY);
    const { code, stdout } = await run("doctor", "--project", project);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ok {7}node {7}Node /);
    expect(stdout).toMatch(
      /\nwarning {2}clients {4}no client of this project starts phasegate\n {20}fix: Run phasegate init\.\n/,
    );
    expect(stdout).toMatch(
      /\nproblem {2}workflows {2}workflows\/small: can't be started: 1 error\n {20}fix: Run phasegate/,
    );
    expect(stdout).toMatch(/\n1 problem, 1 warning\n$/);
    await rm(join(project, "workflows"), { recursive: true });
    const none = await examined(project, [], "workflows");
    expect(none.findings).toMatchObject([{ status: "problem", message: "workflows: there is no such folder" }]);
  });

  it("names a record of init that can't be used", async () => {
    const project = await aProject({ ".phasegate-init.json": "{ broken" });
    const { code, findings } = await examined(project, [], "setup");
    expect({ code, findings }).toMatchObject({
      code: 1,
      findings: [
        {
          status: "problem",
          message: ".phasegate-init.json can't be used: it is not JSON",
          fix: expect.stringContaining("Restore it from git"),
        },
      ],
    });
  });

  it("finds the project as init does, if it has neither a repository nor a client", async () => {
    const root = await temporaryFolder();
    const small = Object.fromEntries(Object.entries(SMALL).map(([path, text]) => [`workflows/${path}`, text]));
    await writeFiles(root, { "package.json": "{}", "src/deep/a.js": "", ...small });
    vi.spyOn(process, "cwd").mockReturnValue(join(root, "src/deep"));
    expect((await run("doctor")).stdout).toContain("workflows/small: can be started");
  });

  it("finds the project around the folder that it is started in", async () => {
    const project = await aProject(claude({ command: "none" }));
    vi.spyOn(process, "cwd").mockReturnValue(join(project, "workflows/small"));
    const { stdout } = await run("doctor", "--no-start", "--trust");
    expect(stdout).toContain("ok       clients    Claude Code, .mcp.json, phasegate: not started, by --no-start\n");
    vi.spyOn(process, "cwd").mockReturnValue(await temporaryFolder());
    expect((await run("doctor")).stdout).toContain("no client of this project starts phasegate");
  });
});

describe("the clients' configurations", () => {
  const at = (root: string) => [...SERVE.slice(0, 2), join(root, "workflows"), "--state", join(root, ".phasegate")];
  const server = (root: string) => ({ command: "phasegate", args: at(root) });

  it.each([
    ["Claude Code", ".mcp.json", { mcpServers: { phasegate: server("") } }],
    ["Cursor", ".cursor/mcp.json", { mcpServers: { gates: server(variable("workspaceFolder")) } }],
    [
      "VS Code",
      ".vscode/mcp.json",
      `{ // "servers": {}\n "servers": { "a": ${JSON.stringify(server(variable("workspaceFolder")))}, }, /* } */ }`,
    ],
    [
      "Codex",
      ".codex/config.toml",
      `[mcp_servers.phasegate]\ncommand = "npx"\nargs = ${JSON.stringify(["phasegate", ...at("")])}\n`,
    ],
    ["Gemini CLI", ".gemini/settings.json", { mcpServers: { phasegate: server(variable("GATES:-.")) } }],
    ["opencode", "opencode.json", { mcp: { phasegate: { type: "local", command: ["npx", "phasegate", ...at("")] } } }],
    [
      "opencode",
      ".opencode/opencode.jsonc",
      { mcp: { servers: { phasegate: { command: ["phasegate", ...at("")] } } } },
    ],
    ["Windsurf", "~/.codeium/windsurf/mcp_config.json", { mcpServers: { phasegate: server(variable("env:HOME")) } }],
  ])("of %s are read, with the options of the server", async (title, path, config) => {
    const project = await aProject({ [path.replace("~/", "")]: config });
    const { findings } = await examined(project, ["--no-start"]);
    const [client] = findings.filter(({ check }) => check === "clients");
    expect(client?.message).toMatch(new RegExp(`^${title}, ${path.replace(/[.~]/g, "[$&]")}, \\w+: not started`));
    const [state, workflow] = findings.filter(({ check }) => check === "state" || check === "workflows");
    expect([state?.message, workflow?.message]).toEqual([
      ".phasegate: does not exist yet; the first start makes it",
      "workflows/small: can be started",
    ]);
  });

  it("may give the options as variables", async () => {
    const env = {
      PHASEGATE_WORKFLOWS: "workflows",
      PHASEGATE_STATE: `sqlite:${variable("NAME:-sessions")}.db`,
      PHASEGATE_PROJECT: ".",
    };
    const project = await aProject(claude({ command: "npx", args: ["phasegate", "serve"], env }));
    vi.stubEnv("PHASEGATE_STATE", "elsewhere");
    const { findings } = await examined(project, ["--no-start", "--state", "sqlite:other.db"], "state");
    expect(findings).toMatchObject([{ message: expect.stringMatching(/other\.db: does not exist yet/) }]);
    vi.stubEnv("PHASEGATE_STATE", undefined);
    const configured = await examined(project, ["--no-start"]);
    expect(configured.findings.map(({ message }) => message)).toContain(
      "sqlite:sessions.db: does not exist yet; the first start makes it",
    );
  });

  it("are reported if they can't be read, and servers of others are not started", async () => {
    const other = {
      command: process.execPath,
      args: ["-e", "require('fs').writeFileSync('started', '')", "/home/ann/phasegate"],
    };
    const project = await aProject({
      ".mcp.json": '{ "mcpServers": { ',
      ".codex/config.toml": "a = = b",
      ".cursor/mcp.json": { mcpServers: { other } },
      ".vscode/mcp.json": { servers: [] },
    });
    const { code, findings } = await examined(project, [], "clients");
    expect(code).toBe(1);
    expect(findings).toMatchObject([
      { status: "problem", message: expect.stringMatching(/^Claude Code, \.mcp\.json can't be read: ./) },
      { status: "problem", message: expect.stringMatching(/^Codex, \.codex\/config\.toml can't be read: ./) },
    ]);
    expect(await readdir(project)).not.toContain("started");
    expect(JSON.stringify(findings)).not.toContain("other");
  });

  it.each([
    [{ url: "http://127.0.0.1/phasegate" }, /reached at http/],
    [{ httpUrl: "http://127.0.0.1/phasegate" }, /reached at http/],
    [{ type: "local", command: "phasegate", enabled: false }, /switched off/],
    [{ command: "phasegate", disabled: true }, /switched off/],
    [{ args: ["serve"] }, /it has no command/],
    [{}, /it has no command/],
    [
      { command: "phasegate", args: ["--state", variable("input:state")] },
      /only the client can fill in \$\{input:state\}/,
    ],
    [{ command: "phasegate", env: { KEY: variable("NOT_SET_ANYWHERE") } }, /only the client can fill in/],
  ])("with %j is not started", async (config, message) => {
    const { findings } = await examined(await aProject(claude(config)), [], "clients");
    expect(findings).toHaveLength(1);
    expect(findings[0]?.status).not.toBe("ok");
    expect(findings[0]?.message).toMatch(message);
  });

  it.each([
    ["does not start", claude({ command: "no-such-command" }), /there is no command no-such-command on the PATH$/],
    [
      "is another one",
      script(answering({ serverInfo: { name: "other" }, tools: [] })),
      /starts other, which is not phasegate$/,
    ],
    ["has no tools", script(answering({ tools: [] })), /starts phasegate 1 in [\d.]+ s, but it has no tools$/],
  ])("lead to a problem if the server %s", async (_, files, message) => {
    const { code, findings } = await examined(await aProject(files), [], "clients");
    expect({ code, findings }).toMatchObject({ code: 1, findings: [{ status: "problem", fix: expect.any(String) }] });
    expect(findings[0]?.message).toMatch(message);
  });

  it.each([
    { url: "https://me:SECRET@h/phasegate" },
    {
      command: process.execPath,
      args: ["-e", answering({ serverInfo: { name: "other" }, tools: [] }), "postgres://u:SECRET@h/db"],
    },
  ])("are reported without the passwords in them: %j", async (config) => {
    const { findings } = await examined(await aProject(claude(config)), [], "clients");
    expect(JSON.stringify(findings)).toContain(":***@h");
    expect(JSON.stringify(findings)).not.toContain("SECRET");
  });

  it("lead to a command to run by hand that a shell reads as the client has it", async () => {
    const args = ["serve", "--allow-command", "npm test", "--allow-command", "echo $HOME"];
    const project = await aProject(claude({ command: "no-such-command", args }));
    const { findings } = await examined(project, [], "clients");
    expect(findings[0]?.fix).toBe(
      `Run it by hand: no-such-command serve --allow-command "npm test" --allow-command 'echo $HOME'`,
    );
  });

  it("are given up after --timeout", async () => {
    const project = await aProject(script("process.stdin.resume()"));
    const { findings } = await examined(project, ["--timeout", "1"], "clients");
    expect(findings[0]?.message).toMatch(/it did not answer within 1 second$/);
  });
});

describe("the state", () => {
  const messages = async (project: string, state: string) => {
    const { findings } = await examined(
      project,
      ["--no-start", "--workflows", join(project, "workflows"), "--state", state],
      "state",
    );
    return findings.map(({ status, message }) => `${status}: ${message}`);
  };

  it("is opened, with the number of its sessions and what it survives", async () => {
    const project = await aProject();
    await livedIn(await FileStorage.open(join(project, "files")));
    await livedIn(await SqliteStorage.open(join(project, "s.db")));
    expect(await messages(project, join(project, "files"))).toEqual([
      expect.stringMatching(/^ok: files: opens, survives a power failure/),
    ]);
    expect(await messages(project, `sqlite:${join(project, "s.db")}`)).toEqual([
      expect.stringMatching(/^ok: sqlite:s\.db: opens, survives a power failure/),
    ]);
    expect(await messages(project, `SQLITE:${join(project, "s.db")}`)).toEqual([
      expect.stringMatching(/^ok: sqlite:s\.db: opens, survives a power failure/),
    ]);
    expect(await messages(project, "SQLITE::memory:")).toEqual([
      expect.stringMatching(/^warning: SQLITE::memory:: opens, but is lost with its process/),
    ]);
    expect(await messages(project, "sqlite::memory:")).toEqual([
      expect.stringMatching(/^warning: sqlite::memory:: opens, but is lost with its process/),
    ]);
  });

  it("is a problem if it can't be opened", async () => {
    const project = await aProject({ file: "text", "folder/a": "" });
    const of = (state: string) => messages(project, state);
    expect(await of(join(project, "file"))).toEqual([expect.stringMatching(/^problem: file: .*is a file/)]);
    expect(await of(join(project, "folder"))).toEqual([
      expect.stringMatching(/^problem: folder: there are no sessions/),
    ]);
    expect(await of(`sqlite:${join(project, "file")}`)).toEqual([expect.stringMatching(/^problem: sqlite:file: /)]);
    expect(await of("mysql:x")).toEqual(["problem: mysql:x: unknown kind of state mysql: mysql:x"]);
    await mkdir(join(project, "empty"));
    expect(await of(join(project, "empty"))).toEqual(["ok: empty: does not exist yet; the first start makes it"]);
    const [postgres] = await of("postgres://ann:secret@127.0.0.1:1/x");
    expect(postgres).toMatch(/^problem: postgres:\/\/ann:\*\*\*@127\.0\.0\.1:1\/x: /);
    expect(postgres).not.toContain("secret");
  });

  it("may be in PostgreSQL", async () => {
    const [project, url] = [await aProject(), await emptyDatabase()];
    const shown = url.replace(/:[^:@]+@/, ":***@");
    expect((await messages(project, url))[0]).toMatch(/^problem: .*has version 0 of the tables/);
    await (await PostgresStorage.open({ url })).close();
    await expect(messages(project, url)).resolves.toEqual([
      expect.stringMatching(/: opens, (?:survives a power failure|but may lose its last commits)/),
    ]);
    await runSql(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`);
    expect(await messages(project, url)).toEqual([
      `warning: ${shown}: opens, but may lose its last commits in a power failure`,
    ]);
  });

  it("is a problem if another program holds its lock", async () => {
    const project = await aProject();
    const file = join(project, "s.db");
    await (await SqliteStorage.open(file)).close();
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    expect(await messages(project, `sqlite:${file}`)).toEqual([
      "problem: sqlite:s.db: the database is locked by another program",
    ]);
    other.exec("ROLLBACK");
    other.close();
  });

  it("should be read by its owner only, and be ignored by git", async () => {
    const project = await aProject({ ".gitignore": "ignored/\n" });
    const { execFileSync } = await import("node:child_process");
    execFileSync("git", ["init", "--quiet"], { cwd: project });
    for (const name of ["open", "ignored"]) await (await FileStorage.open(join(project, name))).close();
    await chmod(join(project, "open"), 0o755);
    expect((await messages(project, join(project, "open"))).slice(1)).toEqual([
      "warning: open: other users can read it",
      "warning: open: git does not ignore it",
    ]);
    expect(await messages(project, join(project, "ignored"))).toHaveLength(1);
  });
});

describe("workflows and approvers", () => {
  const asking = (approval: string) => ({
    ...SMALL,
    "small/phases/2/gate-definition.yaml": `approval: ${approval}\n`,
  });
  const KEY = `ed25519:${"A".repeat(43)}`;
  const status = async (project: string, check: Finding["check"], args: readonly string[] = []) => {
    const { findings } = await examined(project, ["--no-start", ...args], check);
    return findings.map(({ status: how, message, fix }) => [`${how}: ${message}`, fix]);
  };

  it("are checked as a start does, with the options of the server", async () => {
    const gate = "verify: [{verifier: command, argv: [npm, test]}]\n";
    const files = { ...SMALL, "small/phases/2/gate-definition.yaml": gate };
    const project = await aProject(claude({ command: "phasegate", args: SERVE }), files);
    const [[message, fix] = []] = await status(project, "workflows");
    expect(message).toBe("problem: workflows/small: can't be started: 1 error");
    // The command is for the folder in which doctor was run.
    expect(fix).toMatch(/^Run phasegate validate (\S+): .*npm/);
    const folder = /^Run phasegate validate (\S+): /.exec(fix ?? "")?.[1] ?? "";
    expect(resolve(folder)).toBe(join(project, "workflows"));
    const allowed = await aProject(claude({ command: "phasegate", args: [...SERVE, "--allow-command", "npm"] }), files);
    expect(await status(allowed, "workflows")).toEqual([["ok: workflows/small: can be started", undefined]]);
  });

  it("lead to a warning if they are open, or if there are none", async () => {
    const { "small/phases/2/gate-definition.yaml": _, ...open } = SMALL;
    expect(await status(await aProject({}, open), "workflows")).toEqual([
      ["warning: workflows/small: can be started, with 1 warning", expect.stringContaining("phase 2 requires nothing")],
    ]);
    const empty = await aProject({}, {});
    await mkdir(join(empty, "workflows"));
    expect(await status(empty, "workflows")).toEqual([
      [
        "warning: workflows: there is no workflow in it",
        `Run phasegate new NAME --in ${relative(process.cwd(), join(empty, "workflows"))}`,
      ],
    ]);
  });

  it("include routed workflows", async () => {
    const project = await aProject();
    await run("new", "fix", "--routed", "--in", join(project, "routed"));
    const args = ["--routed", join(project, "routed")];
    expect(await status(project, "workflows", args)).toEqual([["ok: routed/fix: can be started", undefined]]);
  });

  it("need somebody who can approve", async () => {
    const project = await aProject({ "keys.json": { ann: KEY } }, asking("Well?"));
    const given = ["--approvers", join(project, "keys.json")];
    const [[message, fix] = []] = await status(project, "approvers");
    expect(message).toBe("warning: small, phase 2 needs an approval that nobody can give");
    expect(fix).toContain("phasegate keygen");
    expect(await status(project, "approvers", given)).toEqual([["ok: ann", undefined]]);
    const named = await aProject({ "keys.json": { ann: KEY } }, asking("{prompt: Well?, approvers: [bob, eve]}"));
    const [[other] = []] = await status(named, "approvers", ["--approvers", join(named, "keys.json")]);
    expect(other).toBe("warning: small, phase 2 needs an approval that nobody can give: it asks for bob or eve");
  });

  it("may have an approver without a signature", async () => {
    const unsigned = claude({ command: "phasegate", args: [...SERVE, "--allow-unsigned-approvals"] });
    const project = await aProject(unsigned, asking("Well?"));
    expect(await status(project, "approvers")).toEqual([["ok: the client's user approves, unsigned", undefined]]);
  });

  it.each([
    ["[]", /is not a file of approvers/],
    ['{"ann": "ssh-ed25519 AAAA"}', /approvers\."ann" is no Ed25519 public key/],
    [undefined, /can't be read/],
  ])("have a file of approvers that is right, unlike %s", async (text, message) => {
    const project = await aProject(text === undefined ? {} : { "keys.json": text });
    const { code, findings } = await examined(project, ["--approvers", join(project, "keys.json")], "approvers");
    expect(code).toBe(1);
    expect(findings[0]?.message).toMatch(message);
  });
});

describe("clients that are asked by --client", () => {
  const SERVER = { command: process.execPath, args: [BIN, ...SERVE] };
  const FILES = {
    ...claude(SERVER),
    ".gemini/settings.json": { mcpServers: { phasegate: SERVER } },
    ".github/mcp.json": { mcpServers: { phasegate: SERVER } },
    "opencode.json": { mcp: { phasegate: { type: "local", command: [SERVER.command, ...SERVER.args] } } },
  };

  /** Puts programs of these names on the PATH, which print a text as a client does. */
  async function installed(programs: Readonly<Record<string, string>>) {
    const folder = await temporaryFolder();
    const script = (text: string) => `#!/bin/sh\n[ "$*" = "mcp list" ] || exit 9\n${text}\n`;
    await writeFiles(folder, Object.fromEntries(Object.entries(programs).map(([name, text]) => [name, script(text)])));
    for (const name of Object.keys(programs)) await chmod(join(folder, name), 0o755);
    vi.stubEnv("PATH", `${folder}:/usr/bin:/bin`);
  }

  /** Returns what is found about a client that is asked. */
  async function asked(client: string, project: string, ...args: string[]) {
    const { findings } = await examined(project, ["--no-start", "--client", client, ...args], "clients");
    return findings.filter(({ message }) => message.includes("mcp list:"));
  }

  const printing = (text: string) => `cat <<'END'\n${text}\nEND`;

  it.each([
    [
      "claude",
      "Checking MCP server health…\n\nphasegate: node main.js serve - ✔ Connected",
      "ok",
      "connected to phasegate",
    ],
    ["claude", "phasegate: node main.js serve - ✘ Failed to connect", "problem", "not connected: ✘ Failed to connect"],
    ["claude", "other: node other.js phasegate - ✔ Connected", "problem", "does not have phasegate"],
    ["gemini", "✓ phasegate: node main.js (stdio) - Connected", "ok", "connected to phasegate"],
    ["gemini", "✗ phasegate: node main.js (stdio) - Disconnected", "problem", "not connected: Disconnected"],
    ["gemini", "No MCP servers configured.", "problem", "does not have phasegate"],
    [
      "opencode",
      "●  \u001b[32m✓ phasegate \u001b[90mconnected\u001b[0m\n│      node main.js",
      "ok",
      "connected to phasegate",
    ],
    ["copilot", "Workspace servers:\n  phasegate (local)", "ok", "does not say whether it connects"],
  ])("%s that says %j: %s", async (client, said, status, message) => {
    const project = await aProject(FILES);
    await installed({ [client]: printing(said) });
    expect(await asked(client, project)).toEqual([expect.objectContaining({ status })]);
    expect((await asked(client, project))[0]?.message).toContain(message);
  });

  it("are problems if they fail, take too long, write without end or are not installed", async () => {
    const project = await aProject(FILES);
    await installed({ claude: "echo no folder >&2; exit 3", gemini: "exec sleep 600", opencode: "exec yes" });
    const found = await asked("claude,gemini,opencode,copilot", project, "--timeout", "1");
    expect(found).toMatchObject([
      { status: "problem", message: "Claude Code, claude mcp list: it ended with exit code 3: no folder" },
      { status: "problem", message: "Gemini CLI, gemini mcp list: it did not answer within 1 second" },
      { status: "problem", message: "opencode, opencode mcp list: it writes without end" },
      { status: "problem", message: expect.stringContaining("there is no such program on the PATH") },
    ]);
  });

  it("are not started from the project, unasked, without a configuration, or for one of somebody else", async () => {
    const project = await aProject(FILES);
    const mark = join(project, "started");
    await installed({ claude: `touch '${mark}'`, codex: `touch '${mark}'` });
    await examined(project, ["--no-start"]);
    const { findings } = await examined(project, ["--no-start", "--client", "codex"], "clients");
    expect(findings.at(-1)).toMatchObject({
      status: "problem",
      message: "Codex: no file in the project names phasegate for it",
      fix: "Run phasegate init --client codex",
    });
    const { stdout } = await run("doctor", "--project", project, "--client", "claude");
    expect(stdout).toContain("Claude Code: not asked: it would start servers that your init did not write");
    await writeFiles(project, { "bin/gemini": `#!/bin/sh\ntouch '${mark}'\n` });
    await chmod(join(project, "bin/gemini"), 0o755);
    vi.stubEnv("PATH", `${join(project, "bin")}:/usr/bin:/bin`);
    expect(await asked("gemini", project)).toMatchObject([{ message: expect.stringContaining("no such program") }]);
    expect(await readdir(project)).not.toContain("started");
  });
});
