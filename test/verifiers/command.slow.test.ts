import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JsonObject } from "phasegate";
import { createVerifiers, type VerifiersOptions } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { isRunning } from "../support/is-running.js";
import { type Ask, aProject, refused } from "./a-project.js";

type Options = Omit<VerifiersOptions, "projectRoot">;
const LINUX = process.platform === "linux";

/** Creates a project that may run node, and a function that runs a script in it. */
async function withNode(options: Options = {}) {
  const project = await aProject({}, { commands: { node: process.execPath }, ...options });
  const run = async (script: string, params: JsonObject = {}, args: readonly string[] = [], ask: Ask = {}) => {
    await project.write("script.mjs", script);
    return project.verify("command", { argv: ["node", "script.mjs", ...args], ...params }, ask);
  };
  return { ...project, run };
}

/** Creates a project that may run sh, which starts in a tenth of the time that node takes. */
async function withShell(options: Options = {}) {
  const project = await aProject({}, { commands: { sh: "/bin/sh" }, ...options });
  const run = async (script: string, params: JsonObject = {}, ask: Ask = {}) => {
    await project.write("script.sh", script);
    return project.verify("command", { argv: ["sh", "script.sh"], ...params }, ask);
  };
  return { ...project, run };
}

const STAY = "while :; do sleep 1; done";
/** A script that starts a process which keeps running, prints its id and ends. */
const FORK = (command: string) => `${command} & echo $!\n`;
const SHARED = "sleep 1000";
const SILENT = "sleep 1000 </dev/null >/dev/null 2>&1";

it.runIf(LINUX)("a command ends with the process that runs it, also where that does not wait for it", async () => {
  const folder = await temporaryFolder();
  const { status } = spawnSync(
    process.execPath,
    ["--import", "./scripts/run-sources.mjs", "test/verifiers/exiting-worker.ts", folder],
    { stdio: "ignore" },
  );
  expect(status).toBe(0);
  const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
  await expect.poll(() => isRunning(pid)).toBe(false);
});

describe("command", () => {
  it("accepts a command with the expected exit code, and records its output", async () => {
    const { run } = await withShell();
    const result = await run("echo 12 passed; echo warned >&2");
    expect(result).toEqual({
      ok: true,
      message: "sh script.sh passed",
      ran: "sh script.sh",
      exit: 0,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      output: expect.arrayContaining(["12 passed", "warned"]),
    });
  });

  it("refuses another exit code than the expected one", async () => {
    const { run } = await withShell();
    expect(refused(await run("exit 3"))).toContain("exit code 3, expected 0");
    expect(await run("exit 3", { exit: 3 })).toMatchObject({ ok: true, exit: 3 });
    expect(refused(await run("", { exit: 1 }))).toContain("exit code 0, expected 1");
    expect(refused(await run(`kill -SEGV $$; ${STAY}`))).toMatch(/killed by SIG|exit code/);
  });

  it("removes the project's path in every spelling from the output of commands and git", async () => {
    const base = join(await temporaryFolder(), "caf\u00e9 %20 o'b");
    await mkdir(base, { recursive: true });
    const real = await realpath(base);
    await symlink(base, `${base}-link`);
    const verifiers = await createVerifiers({ projectRoot: `${base}-link`, commands: { node: process.execPath } });
    const session = { id: "a", workflowType: "w", target: "t", phase: 1 };
    const script = `
      import { pathToFileURL } from "node:url";
      const here = process.cwd();
      const link = here + "-link";
      for (const place of [here, link, here.normalize("NFD")]) {
        console.log("plain " + place + "/x");
        console.log("url " + pathToFileURL(place + "/x"), encodeURIComponent(place));
        console.log("json " + JSON.stringify(place).replaceAll("/", "\\/"));
        console.log("coloured " + place.replace("caf", "\u001b[31mcaf\u001b[39m"));
        console.log("cut " + "-".repeat(199 - place.length / 2) + place);
      }
      process.exit(1);
    `;
    await writeFile(join(base, "script.mjs"), script);
    const request = { params: { argv: ["node", "script.mjs"] }, evidence: {}, session };
    const result = JSON.stringify(await verifiers.command.verify(request, { signal: new AbortController().signal }));
    expect(result).toContain("plain x");
    expect(result.normalize("NFC").toLowerCase()).not.toMatch(/caf\u00e9|caf%|cafe|o'b|o%27b/);
    await writeFile(join(base, ".git"), `gitdir: ${real}/.git-folder\n`);
    await mkdir(join(base, ".git-folder/objects"), { recursive: true });
    await writeFile(join(base, ".git-folder/HEAD"), "1".repeat(40));
    const git = await verifiers.git_clean.verify(
      { params: {}, evidence: {}, session },
      { signal: new AbortController().signal },
    );
    expect(git).toMatchObject({ ok: false, message: expect.stringContaining("could not read the repository") });
    expect(JSON.stringify(git)).not.toContain("caf");
  });

  it("checks the output against the gate's requirements", async () => {
    const { run } = await withShell();
    const script = "echo 1 passed; echo 2 passed";
    expect(await run(script, { output: { pattern: "^\\d passed$", count: 2 } })).toMatchObject({ ok: true });
    expect(refused(await run(script, { output: { pattern: "failed" } }))).toContain("matches failed 0 times");
    expect(await run(script, { output: { pattern: "failed", max: 0 } })).toMatchObject({ ok: true });
    for (const rule of [
      'output.contains("2 passed") && exit == 0',
      'output.matches("(?m)^2 passed$")',
      'output.split("\\n").exists_one(line, line.startsWith("1"))',
      "size(evidence) == 0",
    ]) {
      expect(await run(script, { output: { rule } })).toMatchObject({ ok: true });
    }
    const failed = 'output.contains("failed")';
    expect(refused(await run(script, { output: { rule: failed } }))).toContain(`the rule ${failed} doesn't hold`);
    expect(refused(await run(script, { output: { rule: "int(output) > 1" } }))).toContain(
      "can't be converted to a whole number",
    );
    const long = "yes passed | head -n 9000; echo 12 in all";
    const lines = 'output.split("\\n").exists(line, line.startsWith("12 in"))';
    expect(await run(long, { output: { rule: lines } })).toMatchObject({ ok: true });
    const nested = 'output.split("\\n").all(a, output.split("\\n").all(b, a != b))';
    expect(refused(await run(long, { output: { rule: nested } }))).toContain("was not run");
    // A matching output does not replace the exit code.
    expect(refused(await run(`${script}; exit 1`, { output: { pattern: "passed" } }))).toContain("code 1");
  });

  it("runs only commands on the host's list", async () => {
    const { verify, check, write, root } = await withNode();
    await write("evil", "#!/bin/sh\nexit 0\n");
    await chmod(join(root, "evil"), 0o755);
    await expect(check("command", { argv: [join(root, "evil")] })).rejects.toThrow("not on the host's list");
    for (const name of ["evil", "./evil", "sh", "/bin/sh", "../node", "toString", ""]) {
      await expect(check("command", { argv: [name] })).rejects.toThrow("not on the host's list");
      expect(refused(await verify("command", { argv: [name] }))).toContain("not on the host's list");
    }
    await expect(check("command", { argv: ["nod"] })).rejects.toThrow("did you mean 'node'?");
    await expect(check("command", { argv: ["{evidence.tool}"] })).rejects.toThrow("can't be a placeholder");
    await expect(check("command", { argv: [] })).rejects.toThrow("argv of command");
    await expect(check("command", { argv: "node x" })).rejects.toThrow("argv of command");
    await expect(check("command", { argv: ["node"], shell: true })).rejects.toThrow("no such parameter");
    await expect(check("command", { argv: ["node"], cwd: ".." })).rejects.toThrow("refused");
    await expect(check("command", { argv: ["node"], timeout_ms: 1_000_000 })).rejects.toThrow("allows 600000 ms");
    await expect(check("command", { argv: ["node"], output: { pattern: "(" } })).rejects.toThrow("missing closing");
    const outputs: JsonObject[] = [{ pattern: "ok", rule: "true" }, { rule: "true", min: 1 }, { max: 0 }, {}];
    for (const output of outputs) {
      await expect(check("command", { argv: ["node"], output })).rejects.toThrow(
        "output of command: output needs a pattern, with or without its number of matches, or a rule",
      );
    }
    await expect(check("command", { argv: ["node"], output: { patern: "ok" } })).rejects.toThrow(
      /output of command: .*patern/,
    );
    const rule = (text: string) => check("command", { argv: ["node"], output: { rule: text } });
    await expect(rule("outputs == 'x'")).rejects.toThrow("output.rule of command: the rule");
    await expect(rule("exit == '0'")).rejects.toThrow("a whole number can't be compared with a text (==)");
    await expect(rule("value == 1")).rejects.toThrow("can't be run");
    await check("command", { argv: ["node", "{evidence.file}"], cwd: "{target_file}", output: { pattern: "{name}" } });
  });

  it("passes arguments unchanged: no shell reads them", async () => {
    const { run, root } = await withNode();
    const nasty = ["; touch pwned", "$(touch pwned)", "`touch pwned`", "| cat", "a b", "*", "", "'", '"', "\n", "--x"];
    const result = await run("console.log(JSON.stringify(process.argv.slice(2)))", {}, nasty);
    expect(result.output?.join("\n")).toBe(JSON.stringify(nasty));
    expect(existsSync(join(root, "pwned"))).toBe(false);
    expect(refused(await run("", {}, ["a\0b"]))).toContain("NUL");
  });

  it("passes only the host's environment variables, and no stdin", async () => {
    process.env.PHASEGATE_SECRET = "secret";
    const { run } = await withNode({ env: { CI: "1" } });
    const env = await run("console.log(JSON.stringify(process.env))");
    const got: JsonObject = JSON.parse(env.output?.[0] ?? "");
    delete process.env.PHASEGATE_SECRET;
    // macOS adds its own.
    expect(Object.keys(got).filter((name) => !name.startsWith("__"))).toEqual([
      "PYTHONDONTWRITEBYTECODE",
      "PATH",
      "CI",
    ]);
    expect(got.PATH).toBe([...new Set([dirname(process.execPath), "/usr/bin", "/bin"])].join(":"));
    const stdin = await run('process.stdin.on("data", () => {}).on("end", () => console.log("ended"));');
    expect(stdin.output).toEqual(["ended"]);
  });

  it("runs in the project or a folder of it, and in no other", async () => {
    const { run, root, verify, base } = await withNode();
    await mkdir(join(root, "sub"));
    await mkdir(join(base, "out"));
    await symlink("../out", join(root, "exit"));
    await symlink("sub", join(root, "alias"));
    // Agents do not learn the path of the project: it is shown as `.`.
    expect((await run("console.log(process.cwd())")).output).toEqual(["."]);
    await writeFile(join(root, "sub", "s.mjs"), "console.log(process.cwd())");
    const inside = (cwd: string) => verify("command", { argv: ["node", "s.mjs"], cwd });
    expect((await inside("sub")).output).toEqual(["sub"]);
    expect((await inside("alias")).output).toEqual(["sub"]);
    for (const cwd of ["exit", "..", "/", "none", "script.mjs"]) expect(refused(await inside(cwd))).not.toBe("");
  });

  it("is stopped at its time limit, even if it ignores SIGTERM", async () => {
    const { run } = await withShell();
    const script = `trap "" TERM INT; echo $$; ${STAY}`;
    const result = await run(script, { timeout_ms: 400 });
    expect(refused(result)).toContain("stopped after 400 ms");
    expect(result.exit).toBeUndefined();
    if (LINUX) await expect.poll(() => isRunning(Number(result.output?.[0]))).toBe(false);
  });

  it("is stopped at the limit of its output", async () => {
    const { run } = await withShell({ limits: { maxOutputBytes: 10_000 } });
    const result = await run('yes "$(printf %01000d 0)"');
    expect(refused(result)).toContain("wrote more than 10000 bytes");
    expect(result.output?.length).toBeLessThan(30);
    expect(await run("printf %010000d 0")).toMatchObject({ ok: true });
  });

  it.for([SHARED, SILENT])("ends with all processes that it started (%s)", async (command, { skip }) => {
    skip(!LINUX, "only Linux tells in /proc whether a process runs");
    const { run } = await withShell();
    const result = await run(FORK(command));
    expect(result).toMatchObject({ ok: true });
    const pid = Number(result.output?.[0]);
    expect(pid).toBeGreaterThan(1);
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it("does not wait for a process that left its group and keeps the output open", async ({ skip }) => {
    skip(!LINUX, "the process is started as on Linux");
    const { run } = await withShell();
    // It waits until the other has left: before that, it would be killed with the group.
    const leaves = `setsid sh -c 'echo $$; touch left; exec ${SHARED}' & until [ -e left ]; do sleep 0.01; done`;
    const result = await run(leaves);
    expect(isRunning(Number(result.output?.[0]))).toBe(true);
    expect(result).toMatchObject({ ok: true });
    process.kill(Number(result.output?.[0]), "SIGKILL");
  });

  it("is stopped with its process group when it is aborted", async () => {
    const { run } = await withShell();
    const signal = AbortSignal.timeout(200);
    await expect(run(FORK(SHARED) + STAY, {}, { signal })).rejects.toThrow("timeout");
    await expect(run("", {}, { signal })).rejects.toThrow("timeout");
  });

  it("escapes the output, and keeps its start and its end", async () => {
    const { run } = await withShell();
    const colours = await run(
      String.raw`printf "\033[31mred\033[0m \033]0;title\007bell\007 \342\200\256abc\342\200\213\n"`,
    );
    expect(colours.output).toEqual(["red bell\\u0007 \\u202eabc\\u200b"]);
    const long = await run('y="$(printf %0500d 0 | tr 0 y)"; for i in $(seq 100); do echo "$i$y"; done');
    expect(long.output).toHaveLength(40);
    expect(long.output?.[2]).toBe("…");
    expect(long.output?.at(-1)).toMatch(/^100y+…$/);
    expect((await run("")).output).toEqual([]);
  });

  it("keeps of a long output the lines that tell of a failure, up to a limit, and the last ones", async () => {
    const { run } = await withShell();
    const said = "for i in $(seq 20); do echo $i; done; echo 'not ok 2 - joins words'; echo \"  error: 'no'\"; ";
    const { output } = await run(`${said} seq 30 60; echo '✖ late'; seq 70 80`);
    expect(output).toEqual(["not ok 2 - joins words", "  error: 'no'", "✖ late", "…", "79", "80"]);
    const many = await run("seq 20; for i in $(seq 500); do echo error $i; echo fine; done");
    expect(many.output?.length).toBeLessThanOrEqual(40);
    expect(many.output?.at(-1)).toBe("fine");
  });

  it("reports that it cannot be started, without paths", async () => {
    const { root, run, verify } = await withNode({ commands: ["/bin/true"] });
    await expect(run("", {}, [])).resolves.toMatchObject({ ok: false });
    const long = { argv: ["/bin/true", "x".repeat(5_000_000)] };
    const error = await verify("command", long).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "INTERNAL", message: "the command can't be started (E2BIG)" });
    expect(JSON.stringify(error)).not.toContain(root);
  });
});

describe("the host's list of commands", () => {
  it("finds names on the host's PATH, but never in the project", async () => {
    const { root } = await aProject();
    await writeFile(join(root, "only-here"), "#!/bin/sh\n");
    await chmod(join(root, "only-here"), 0o755);
    await symlink(root, join(dirname(root), "link"));
    const before = process.env.PATH;
    process.env.PATH = `${root}:${dirname(root)}/link:.:/usr/bin:/bin`;
    try {
      const found = await createVerifiers({ projectRoot: root, commands: ["true"] });
      await found.command.check?.({ argv: ["true"] });
      await expect(createVerifiers({ projectRoot: root, commands: ["only-here"] })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
      // A path that the host gives is accepted.
      const named = await createVerifiers({ projectRoot: root, commands: { mine: join(root, "only-here") } });
      await named.command.check?.({ argv: ["mine"] });
    } finally {
      process.env.PATH = before;
    }
  });

  it.each([["no-such-command"], ["./relative"], ["/no/such/file"], [""], ["/etc/passwd"], ["/usr"]])(
    "refuses %j",
    async (name) => {
      const { root } = await aProject();
      await expect(createVerifiers({ projectRoot: root, commands: [name] })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
    },
  );
});

describe("a whole command", () => {
  const line = (text: string, commands: Options["commands"] = ["sh ok.sh 'a b'", "true"]) =>
    aProject({ "ok.sh": 'echo "$#: $1"\n' }, { commands }).then(({ verify }) => verify("command", { line: text }));

  it("runs with exactly the arguments that the host allows", async () => {
    expect(await line('sh   ok.sh "a b"')).toMatchObject({ ok: true, ran: 'sh ok.sh "a b"', output: ["1: a b"] });
    expect(await line("true")).toMatchObject({ ok: true });
    expect(refused(await line("sh ok.sh a b"))).toContain('no other arguments: sh ok.sh "a b", true');
    expect(refused(await line("sh ok.sh"))).toContain("is not a command that the host allows");
    expect(refused(await line("true false"))).toContain('--allow-command "true false"');
  });

  it("is never an interpreter alone, which succeeds on its empty input; a gate may name it with a script", async () => {
    for (const name of ["sh", "node"]) {
      const alone = refused(await line(name, ["sh", "node", "true"]));
      expect(alone).toContain(`"${name}" is not a command that the host allows`);
      expect(alone).toContain("no other arguments: true (");
    }
    const { verify } = await aProject({ "ok.sh": "" }, { commands: ["sh"] });
    expect(await verify("command", { argv: ["sh", "ok.sh"] })).toMatchObject({ ok: true });
  });

  it("may be named with another executable, and allows a gate the same arguments", async () => {
    const { verify } = await aProject({ "ok.sh": "" }, { commands: { "shell ok.sh": "/bin/sh" } });
    expect(await verify("command", { line: "shell ok.sh" })).toMatchObject({ ok: true });
    expect(await verify("command", { argv: ["shell", "ok.sh"] })).toMatchObject({ ok: true });
    expect(refused(await verify("command", { argv: ["shell", "-c", "exit"] }))).toContain("not on the host's list");
  });

  it.each([
    ["sh ok.sh; true", "needs a shell"],
    ["sh ok.sh > out", "needs a shell"],
    ["sh $(ok.sh)", "needs a shell"],
    ["sh 'ok.sh", "a quotation mark without its partner"],
    ["  ", "the command is empty"],
  ])("refuses %j", async (text, reason) => {
    expect(refused(await line(text))).toContain(reason);
    await expect(aProject({}, { commands: [text] })).rejects.toThrow(reason);
  });

  it("comes from an option, and not from evidence", async () => {
    const { check } = await aProject({}, { commands: ["true"] });
    await check("command", { line: "{options.test_command}" });
    await expect(check("command", { line: "{evidence.command}" })).rejects.toThrow("one option: {options.NAME}");
    await expect(check("command", { line: "true {options.name}" })).rejects.toThrow("one option: {options.NAME}");
    await expect(check("command", { line: "true", argv: ["true"] })).rejects.toThrow("give either argv or line");
    await expect(check("command", {})).rejects.toThrow("give either argv or line");
  });
});

describe("output of a command", () => {
  it("is held against several patterns, of the lines with a text of the evidence, too", async () => {
    const { run } = await withShell();
    const output: JsonObject[] = [
      { pattern: "^not ok", with: "test_name" },
      { pattern: "SyntaxError", max: 0 },
    ];
    const ask = { evidence: { test_name: "adds" } };
    const ended = (script: string) => run(`${script}; exit 7`, { exit: "nonzero", output }, ask);
    expect(await ended("echo not ok 1 - adds")).toMatchObject({ ok: true, exit: 7 });
    expect(refused(await ended("echo not ok 1 - other; echo ok 2 - adds"))).toContain(
      'of its output, the lines with "adds" match ^not ok 0 times',
    );
    expect(refused(await ended("echo not ok 1 - adds; echo SyntaxError"))).toContain("SyntaxError 1 times");
    expect(refused(await run("exit 0", { exit: "nonzero" }))).toContain("exit code 0, expected another one");
    expect(refused(await run("exit 0", { output: { pattern: ".", with: "none" } }))).toContain("needs a text in");
  });
});
