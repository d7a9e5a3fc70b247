import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JsonObject } from "phasegate";
import { createVerifiers, type VerifiersOptions } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
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

/** Returns true if a process runs; false for a zombie. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

const STAY = "setInterval(() => {}, 1000);";
/** A script that starts a process which keeps running, prints its id and ends. */
const FORK = (options: string) => `
  import { spawn } from "node:child_process";
  const child = spawn(process.execPath, ["-e", ${JSON.stringify(STAY)}], ${options});
  console.log(child.pid);
  child.unref();
`;

describe("command", () => {
  it("accepts a command with the expected exit code, and records its output", async () => {
    const { run } = await withNode();
    const result = await run('console.log("12 passed"); console.error("warned");');
    expect(result).toEqual({
      ok: true,
      message: "node script.mjs exited as expected",
      ran: "node script.mjs",
      exit: 0,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      output: expect.arrayContaining(["12 passed", "warned"]),
    });
  });

  it("refuses another exit code than the expected one", async () => {
    const { run } = await withNode();
    expect(refused(await run("process.exit(3)"))).toContain("exit code 3, expected 0");
    expect(await run("process.exit(3)", { exit: 3 })).toMatchObject({ ok: true, exit: 3 });
    expect(refused(await run("", { exit: 1 }))).toContain("exit code 0, expected 1");
    expect(refused(await run('process.kill(process.pid, "SIGSEGV"); setInterval(() => {}, 9);'))).toMatch(
      /killed by SIG|exit code/,
    );
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
    const { run } = await withNode();
    const script = 'console.log("1 passed\\n2 passed")';
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
    const long = 'console.log("passed\\n".repeat(9000) + "12 in all")';
    const lines = 'output.split("\\n").exists(line, line.startsWith("12 in"))';
    expect(await run(long, { output: { rule: lines } })).toMatchObject({ ok: true });
    const nested = 'output.split("\\n").all(a, output.split("\\n").all(b, a != b))';
    expect(refused(await run(long, { output: { rule: nested } }))).toContain("was not run");
    // A matching output does not replace the exit code.
    expect(refused(await run(`${script}; process.exitCode = 1`, { output: { pattern: "passed" } }))).toContain(
      "code 1",
    );
  });

  it("runs only commands on the host's list", async () => {
    const { verify, check, write, root } = await withNode();
    await write("evil", "#!/bin/sh\nexit 0\n");
    await chmod(join(root, "evil"), 0o755);
    expect(() => check("command", { argv: [join(root, "evil")] })).toThrow("not on the host's list");
    for (const name of ["evil", "./evil", "sh", "/bin/sh", "../node", "toString", ""]) {
      expect(() => check("command", { argv: [name] })).toThrow("not on the host's list");
      expect(refused(await verify("command", { argv: [name] }))).toContain("not on the host's list");
    }
    expect(() => check("command", { argv: ["nod"] })).toThrow("did you mean 'node'?");
    expect(() => check("command", { argv: ["{evidence.tool}"] })).toThrow("can't be a placeholder");
    expect(() => check("command", { argv: [] })).toThrow("argv of command");
    expect(() => check("command", { argv: "node x" })).toThrow("argv of command");
    expect(() => check("command", { argv: ["node"], shell: true })).toThrow("no such parameter");
    expect(() => check("command", { argv: ["node"], cwd: ".." })).toThrow("refused");
    expect(() => check("command", { argv: ["node"], timeout_ms: 1_000_000 })).toThrow("allows 600000 ms");
    expect(() => check("command", { argv: ["node"], output: { pattern: "(" } })).toThrow("missing closing");
    for (const output of [{ pattern: "ok", rule: "true" }, { rule: "true", min: 1 }, { max: 0 }, {}]) {
      expect(() => check("command", { argv: ["node"], output })).toThrow(
        "output of command: output needs a pattern, with or without its number of matches, or a rule",
      );
    }
    expect(() => check("command", { argv: ["node"], output: { patern: "ok" } })).toThrow(/output of command: .*patern/);
    const rule = (text: string) => () => check("command", { argv: ["node"], output: { rule: text } });
    expect(rule("outputs == 'x'")).toThrow("output.rule of command: the rule");
    expect(rule("exit == '0'")).toThrow("a whole number can't be compared with a text (==)");
    expect(rule("value == 1")).toThrow("can't be run");
    check("command", { argv: ["node", "{evidence.file}"], cwd: "{target_file}", output: { pattern: "{name}" } });
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
    expect(Object.keys(got).filter((name) => !name.startsWith("__"))).toEqual(["PATH", "CI"]);
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
    const { run } = await withNode();
    const script = `process.on("SIGTERM", () => {}); process.on("SIGINT", () => {}); console.log(process.pid); ${STAY}`;
    const result = await run(script, { timeout_ms: 1500 });
    expect(refused(result)).toContain("stopped after 1500 ms");
    expect(result.exit).toBeUndefined();
    if (LINUX) await expect.poll(() => isRunning(Number(result.output?.[0]))).toBe(false);
  });

  it("is stopped at the limit of its output", async () => {
    const { run } = await withNode({ limits: { maxOutputBytes: 10_000 } });
    const flood =
      'const write = () => { while (process.stdout.write("x".repeat(1000) + "\\n")); }; process.stdout.on("drain", write); write();';
    const result = await run(flood);
    expect(refused(result)).toContain("wrote more than 10000 bytes");
    expect(result.output?.length).toBeLessThan(30);
    expect(await run('process.stdout.write("x".repeat(10000))')).toMatchObject({ ok: true });
  });

  it.for(['{ stdio: "inherit" }', '{ stdio: "ignore" }'])(
    "ends with all processes that it started (%s)",
    async (options, { skip }) => {
      skip(!LINUX, "only Linux tells in /proc whether a process runs");
      const { run } = await withNode();
      const result = await run(FORK(options));
      expect(result).toMatchObject({ ok: true });
      const pid = Number(result.output?.[0]);
      expect(pid).toBeGreaterThan(1);
      await expect.poll(() => isRunning(pid)).toBe(false);
    },
  );

  it("does not wait for a process that left its group and keeps the output open", async ({ skip }) => {
    skip(!LINUX, "the process is started as on Linux");
    const { run } = await withNode();
    const result = await run(FORK('{ stdio: "inherit", detached: true }'));
    expect(result).toMatchObject({ ok: true });
    process.kill(Number(result.output?.[0]), "SIGKILL");
  });

  it("is stopped with its process group when it is aborted", async () => {
    const { run } = await withNode();
    const signal = AbortSignal.timeout(500);
    await expect(run(`${FORK('{ stdio: "inherit" }')} ${STAY}`, {}, [], { signal })).rejects.toThrow("timeout");
    await expect(run("", {}, [], { signal })).rejects.toThrow("timeout");
  });

  it("escapes the output, and keeps its start and its end", async () => {
    const { run } = await withNode();
    const colours = await run(
      'console.log("\\u001b[31mred\\u001b[0m \\u001b]0;title\\u0007bell\\u0007 \\u202eabc\\u200b");',
    );
    expect(colours.output).toEqual(["red bell\\u0007 \\u202eabc\\u200b"]);
    const long = await run('for (let i = 1; i <= 100; i++) console.log(i + "y".repeat(500));');
    expect(long.output).toHaveLength(21);
    expect(long.output?.[10]).toBe("…");
    expect(long.output?.at(-1)).toMatch(/^100y+…$/);
    expect((await run("")).output).toEqual([]);
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
      found.command.check?.({ argv: ["true"] });
      await expect(createVerifiers({ projectRoot: root, commands: ["only-here"] })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
      // A path that the host gives is accepted.
      const named = await createVerifiers({ projectRoot: root, commands: { mine: join(root, "only-here") } });
      named.command.check?.({ argv: ["mine"] });
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
