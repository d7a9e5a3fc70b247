import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createVerifiers } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { COMMITTED_FILES, initialise } from "../support/a-repository.js";
import { howOften } from "../support/how-often.js";
import { isRunning } from "../support/is-running.js";
import { aProject, refused } from "./a-project.js";

const NAME = "fails_without";
const TEST = { line: "sh test.sh" };

/** A script that fails as long as `greet.sh` has its bug. */
const FILES = {
  "greet.sh": "echo helo\n",
  "test.sh": 'sh greet.sh | grep -q "^hello" || { echo "not ok 1 - greets"; exit 1; }\n',
};
const FIXED = "echo hello\n";

async function aRepository(files: Readonly<Record<string, string>> = FILES, commands = ["sh test.sh"]) {
  const env = Object.fromEntries(
    ["HOME", "CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const places = join(await temporaryFolder(), "places");
  const project = await aProject(files, { commands, env: { ...env, PATH: process.env.PATH ?? "", PLACES: places } });
  /** Returns where the script ran, as far as these folders are still there. */
  const left = async () =>
    (await readFile(places, "utf8"))
      .trim()
      .split("\n")
      .filter((place) => existsSync(place));
  const git = await initialise(project.root);
  const begin = async (params: object = TEST) => {
    const snapshot = (await project.snapshot(NAME, { ...params })) ?? null;
    return (value: string[] | undefined, more: object = {}, evidence = {}) =>
      project.verify(NAME, { ...params, ...more }, { snapshot, evidence, ...(value === undefined ? {} : { value }) });
  };
  return { ...project, git, begin, left };
}

/** The line of a script that writes where it runs. */
const PLACE = 'pwd >> "$PLACES"\n';

/** Returns a list of all files of a project with their sizes, times and modes. */
function listing(root: string): string {
  return execFileSync("find", [".", "-path", "./.git/index", "-prune", "-o", "-printf", "%p %s %T@ %m %l\\n"], {
    cwd: root,
    encoding: "utf8",
  });
}

/** A project of each kind, and what makes its tests pass without a fix. */
const PYTHON = {
  code: "add.py",
  bug: "def add(a, b):\n    return a - b\n",
  fix: "def add(a, b):\n    return a + b\n",
};
const CASE =
  "import unittest\nfrom add import add\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n";
interface Runner {
  readonly name: string;
  readonly needs: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  readonly command: string;
  readonly code: string;
  readonly bug: string;
  readonly fix: string;
  readonly trick: Readonly<Record<string, string>>;
  readonly output: { readonly pattern: string };
}
const ALL_RUNNERS: readonly Runner[] = [
  {
    name: "npm",
    needs: ["npm"],
    files: {
      "package.json": '{ "type": "module", "scripts": { "test": "node --test" } }\n',
      "test/add.test.js":
        'import assert from "node:assert";\nimport { test } from "node:test";\nimport { add } from "../add.js";\ntest("adds", () => assert.equal(add(2, 3), 5));\n',
    },
    command: "npm test",
    code: "add.js",
    bug: "export const add = (a, b) => a - b;\n",
    fix: "export const add = (a, b) => a + b;\n",
    trick: { ".npmrc": "ignore-scripts=true\nscript-shell=/bin/true\n" },
    output: { pattern: "^(?:# Subtest|not ok|✖).*adds" },
  },
  {
    ...PYTHON,
    name: "pytest",
    needs: ["python3", "-m", "pytest", "--version"],
    files: {
      "tests/test_add.py": "from add import add\n\ndef test_add():\n    assert add(2, 3) == 5\n",
      "test_other.py": "def test_other():\n    pass\n",
      "conftest.py": "",
    },
    command: "python3 -m pytest",
    trick: {
      "pytest.toml": '[pytest]\naddopts = ["--ignore=tests"]\n',
      "pytest.ini": "[pytest]\naddopts = --ignore=tests\n",
    },
    output: { pattern: "^FAILED tests/test_add.py::test_add" },
  },
  {
    ...PYTHON,
    name: "unittest",
    needs: ["python3"],
    files: { "test_add.py": CASE, ".gitignore": "__pycache__/\n" },
    command: "python3 -m unittest",
    trick: { "unittest.py": "" },
    output: { pattern: "^FAIL: test_add" },
  },
  {
    name: "make",
    needs: ["make"],
    files: {
      Makefile: "test: out\n\tgrep -q hello out\nout: greet.txt\n\tcp greet.txt out\n",
      ".gitignore": "/out\n",
      out: "old\n",
    },
    command: "make test",
    code: "greet.txt",
    bug: "helo\n",
    fix: "hello\n",
    trick: { GNUmakefile: "test:\n\ttrue\n" },
    output: { pattern: "Error 1" },
  },
  {
    name: "cargo",
    needs: ["cargo"],
    files: {
      "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
      ".gitignore": "/target\nCargo.lock\n",
      "tests/add.rs": "#[test]\nfn adds() {\n    assert_eq!(calc::add(2, 3), 5);\n}\n",
    },
    command: "cargo test --offline",
    code: "src/lib.rs",
    bug: "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n",
    fix: "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n",
    trick: { ".cargo/config.toml": "[target.'cfg(all())']\nrunner = \"true\"\n" },
    output: { pattern: "test adds \\.\\.\\. FAILED" },
  },
  {
    name: "go",
    needs: ["go", "version"],
    files: {
      "go.mod": "module calc\n\ngo 1.20\n",
      "add_test.go":
        'package calc\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Fatal("sum")\n\t}\n}\n',
    },
    command: "go test ./...",
    code: "add.go",
    bug: "package calc\n\nfunc Add(a, b int) int { return a - b }\n",
    fix: "package calc\n\nfunc Add(a, b int) int { return a + b }\n",
    trick: {
      "main_test.go":
        'package calc\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n',
    },
    output: { pattern: "^--- FAIL: TestAdd" },
  },
];

/** Returns true if this machine has what a runner needs. */
function isThere([program = "", ...args]: readonly string[]): boolean {
  try {
    execFileSync(program, args.length === 0 ? ["--version"] : args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const THERE = ALL_RUNNERS.filter(({ needs }) => isThere(needs));
/** Starting the others takes many times as long. */
const QUICK = ["npm", "make", "unittest"];
const RUNNERS = THERE.filter(({ name }) => howOften(QUICK.includes(name), true));

describe("fails_without", () => {
  it("passes for changes that make the difference, and touches nothing", async () => {
    const { root, write, begin, left } = await aRepository({ ...FILES, "test.sh": PLACE + FILES["test.sh"] });
    await write("notes.txt", "mine");
    await mkdir(join(root, "empty"));
    const without = await begin();
    await write("greet.sh", FIXED);
    const before = listing(root);
    const output = { pattern: "^not ok", count: 1 };
    expect(await without(["greet.sh"], { output })).toMatchObject({
      ok: true,
      message: "sh test.sh passes, and fails without the changes in greet.sh (since this phase was entered)",
    });
    expect(listing(root)).toBe(before);
    expect(await left()).toEqual([]);
  });

  it("refuses changes without which the command passes as well", async () => {
    const { write, begin, git } = await aRepository({ ...FILES, "all.sh": "sh test.sh\n" }, ["sh all.sh"]);
    const without = await begin({ line: "sh all.sh" });
    // The bug is still there: a new file keeps its test from running.
    await write("greet.sh", "echo helo # fixed\n");
    await write("all.sh", "test -e skip || sh test.sh\n");
    await write("skip", "");
    expect(refused(await without(["greet.sh"]))).toContain(
      "sh all.sh passes without the changes in greet.sh as well: they are not what makes the difference",
    );
    git("add", ".");
    git("commit", "--quiet", "-m", "fixed");
    expect(refused(await without(["greet.sh"]))).toContain("passes without the changes in greet.sh as well");
  });

  it("refuses a failure for another reason, a file that did not change, and a copy in which the command fails", async () => {
    const { write, begin } = await aRepository();
    const without = await begin();
    expect(refused(await without(["greet.sh"]))).toContain("nothing to put back: greet.sh did not change");
    await write("greet.sh", "echo hell\n");
    expect(refused(await without(["greet.sh"]))).toContain(
      "in a copy of the project with all changes, sh test.sh: exit code 1, expected 0",
    );
    await write("greet.sh", FIXED);
    expect(refused(await without(["greet.sh"], { output: { pattern: "ImportError" } }))).toMatch(
      /without the changes in greet.sh, sh test.sh: its output matches ImportError 0 times/,
    );
    const named = { output: { pattern: "^not ok", with: "test_name" } };
    expect(await without(["greet.sh"], named, { test_name: "greets" })).toMatchObject({ ok: true });
    expect(refused(await without(["greet.sh"], named, { test_name: "leaves" }))).toContain("0 times");
    expect(refused(await without(["../greet.sh"]))).toContain("../greet.sh");
  });

  it("puts back new, deleted, linked, executable and uncommitted files", async () => {
    const check = [
      'test "$(cat mine.txt)" = mine2 && test -e new.txt && test ! -e gone.txt',
      'test "$(readlink link)" = b && test ! -x run.sh',
    ].join(" && ");
    const files = { "gone.txt": "x", "run.sh": "x\n", a: "", b: "", "check.sh": `${check}\n` };
    const { root, write, begin, git } = await aRepository(files, ["sh check.sh"]);
    await symlink("a", join(root, "link"));
    await chmod(join(root, "run.sh"), 0o755);
    git("add", ".");
    git("commit", "--quiet", "-m", "second");
    await write("mine.txt", "mine");
    await write("large.bin", "x".repeat(100_000));
    const without = await begin({ line: "sh check.sh" });
    await write("mine.txt", "mine2");
    await write("large.bin", "y");
    await write("new.txt", "new");
    await rm(join(root, "gone.txt"));
    await rm(join(root, "link"));
    await symlink("b", join(root, "link"));
    await chmod(join(root, "run.sh"), 0o644);
    for (const file of ["mine.txt", "new.txt", "gone.txt", "link", "run.sh"]) {
      expect(await without([file]), file).toMatchObject({ ok: true });
    }
    expect(refused(await without(["large.bin"]))).toContain(
      "large.bin can't be put back: it was not committed, and too large to be recorded",
    );
  });

  it("copies folders that git ignores, links packages, and leaves out what tools write", async () => {
    const check = [
      "test -e data/seed.json && test -L node_modules/dep && test -e node_modules/@me/own/file",
      "test ! -e coverage && test -e src/coverage/kept && test -e ../project/outside/file",
      "touch data/left node_modules/.cache coverage && grep -q fixed code",
    ].join(" && ");
    const { root, base, write, begin } = await aRepository(
      {
        ".gitignore": "data/\nnode_modules/\n/coverage/\n",
        "check.sh": `${check}\n`,
        code: "bug\n",
        "src/coverage/kept": "",
        "own/file": "",
      },
      ["sh check.sh"],
    );
    await write("data/seed.json", "{}");
    await write("coverage/lcov.info", "");
    await write("node_modules/dep/index.js", "");
    await write("node_modules/.vite/deps", "");
    await mkdir(join(root, "node_modules/@me"));
    await symlink("../../own", join(root, "node_modules/@me/own"));
    await mkdir(join(base, "outside"));
    await writeFile(join(base, "outside/file"), "");
    await symlink("../outside", join(root, "outside"));
    const without = await begin({ line: "sh check.sh" });
    await write("code", "fixed\n");
    const before = listing(root);
    const done = await without(["code"]);
    expect(done, done.message).toMatchObject({ ok: true });
    expect(listing(root)).toBe(before);
  });

  describe("in a folder of a repository", () => {
    /** Begins in the folder `part`, and returns the check of `greet.sh`. */
    async function inPart(files: Readonly<Record<string, string>>) {
      const { root, write } = await aRepository({ "shared/lib.sh": "", ...inFolder("part", files) });
      const verifiers = await createVerifiers({ projectRoot: join(root, "part"), commands: ["sh test.sh"] });
      const session = { id: "a", workflowType: "w", target: "t", phase: 1 };
      const snapshot = (await verifiers.fails_without.snapshot?.({ params: TEST, session })) ?? null;
      const request = { params: TEST, evidence: {}, session, value: ["greet.sh"], snapshot };
      const check = () => verifiers.fails_without.verify(request, { signal: new AbortController().signal });
      return { write, check };
    }

    it("copies the whole repository", async () => {
      const { write, check } = await inPart(FILES);
      await write("part/test.sh", `test -e ../shared/lib.sh && ${FILES["test.sh"]}`);
      await write("part/greet.sh", FIXED);
      const done = await check();
      expect(done, done.message).toMatchObject({ ok: true });
    });

    it("puts the committed file back, and doesn't delete it", async () => {
      const { write, check } = await inPart({ "greet.sh": "echo old\n", "test.sh": "sh greet.sh\n" });
      await write("part/greet.sh", "echo new\n");
      expect(refused(await check())).toContain("passes without the changes in part/greet.sh as well");
    });
  });

  it("works next to nested repositories, whose files it doesn't put back", async () => {
    const { root, write, begin } = await aRepository();
    await write("nested/x.js", "x\n");
    await initialise(join(root, "nested"));
    const without = await begin();
    await write("greet.sh", FIXED);
    await write("nested/x.js", "y\n");
    expect(await without(["greet.sh"])).toMatchObject({ ok: true });
    expect(refused(await without(["nested/x.js"]))).toContain(
      "nested/x.js can't be put back: nested is a repository of its own",
    );
  });

  it("names each changed file that makes no difference, without tests and the like", async () => {
    const { write, begin } = await aRepository({ ...FILES, ...COMMITTED_FILES });
    const params = { ...TEST, files: "changed", except: ["**/*.md", "test.sh"] };
    const without = await begin(params);
    expect(await without(undefined)).toMatchObject({
      ok: true,
      message: expect.stringContaining("no file has changed"),
    });
    await write("greet.sh", FIXED);
    await write("a.md", "docs\n");
    await write("test.sh", `${FILES["test.sh"]}\n`);
    expect(await without(undefined)).toMatchObject({
      ok: true,
      message: expect.stringContaining("each of 1 changed files makes a difference"),
    });
    await write("greet.sh", "echo hell\n");
    expect(await without(undefined)).toMatchObject({
      ok: true,
      message: expect.stringContaining(
        "WARNING: not tried: in a copy of the project with all changes, sh test.sh: exit code 1",
      ),
    });
    await write("greet.sh", FIXED);
    await write("idle.sh", "exit 1\n");
    expect(await without(undefined)).toMatchObject({
      ok: true,
      message: expect.stringContaining("WARNING: no test depends on the changes in idle.sh"),
    });
    for (let index = 0; index < 12; index += 1) await write(`n${index}`, "n");
    expect(await without(undefined)).toMatchObject({ message: expect.stringContaining("4 more were not tried") });
  });

  it("says what keeps it from looking", async () => {
    const bare = await aProject(FILES, { commands: ["sh test.sh"] });
    const snapshot = (await bare.snapshot(NAME, TEST)) ?? null;
    expect(refused(await bare.verify(NAME, TEST, { value: ["greet.sh"], snapshot }))).toContain(
      "the project is not in a git repository",
    );
    const { begin, write, check, verify, left } = await aRepository();
    expect(refused(await verify(NAME, TEST, { value: ["greet.sh"] }))).toContain("was not recorded");
    await expect(check(NAME, { ...TEST, except: ["a"] })).rejects.toThrow("it goes with files: changed");
    await expect(check(NAME, { line: "sh other.sh" })).rejects.toThrow("not a command that the host allows");
    const slow = await begin();
    await write("test.sh", `${PLACE}sleep 30\n`);
    await write("greet.sh", FIXED);
    expect(refused(await slow(["greet.sh"], { timeout_ms: 300 }))).toContain("it was stopped after 300 ms");
    expect(await left()).toEqual([]);
  });

  it.each(RUNNERS)("tells a fix from a new configuration, with $name", { timeout: 120_000 }, async (runner) => {
    const { name, files, command, code, bug, fix, trick, output } = runner;
    const { write, begin, git } = await aRepository({ ...files, [code]: bug }, [command]);
    const without = await begin({ line: command, timeout_ms: 100_000, output });
    await write(code, fix);
    const done = await without([code]);
    expect(done, `${name}: ${JSON.stringify(done)}`).toMatchObject({ ok: true });
    git("checkout", ".");
    await write(code, `${bug}\n`);
    for (const [path, text] of Object.entries(trick)) await write(path, text);
    expect(refused(await without([code]))).toContain(`passes without the changes in ${code} as well`);
  });

  for (const { name, needs } of ALL_RUNNERS.filter((runner) => !THERE.includes(runner))) {
    it.skip(`tells a fix from a new configuration, with ${name} (skipped: ${needs[0]} can't be run here)`, () =>
      undefined);
  }

  it("leaves nothing when the process that checks is killed", { timeout: 30_000 }, async () => {
    const { root, write, git } = await aRepository({
      ...FILES,
      "test.sh": "echo $$ > ../part; mv ../part ../pid; sleep 60\n",
    });
    await write("greet.sh", FIXED);
    const before = listing(root);
    const temporary = join(root, "../temporary");
    await mkdir(temporary);
    const worker = [
      "--import",
      "./scripts/run-sources.mjs",
      "test/verifiers/copying-worker.ts",
      root,
      git("rev-parse", "HEAD"),
    ];
    const child = spawn(process.execPath, worker, { env: { ...process.env, TMPDIR: temporary }, stdio: "inherit" });
    await expect.poll(async () => (await findPid(temporary)) !== undefined, { timeout: 15_000 }).toBe(true);
    const pid = Number(await findPid(temporary));
    child.kill("SIGKILL");
    await once(child, "exit");
    await expect
      .poll(async () => (await readdir(temporary)).filter((name) => name.includes("copy")), { timeout: 5_000 })
      .toEqual([]);
    if (process.platform === "linux") await expect.poll(() => isRunning(pid)).toBe(false);
    expect(listing(root)).toBe(before);
  });
});

function inFolder(folder: string, files: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]));
}

async function findPid(temporary: string): Promise<string | undefined> {
  for (const name of await readdir(temporary)) {
    const path = join(temporary, name, "pid");
    if (existsSync(path)) return readFile(path, "utf8");
  }
  return undefined;
}
