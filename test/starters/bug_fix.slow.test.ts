import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { initialise } from "../support/a-repository.js";
import { howOften } from "../support/how-often.js";
import { aStarter } from "./a-starter.js";

const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { add } from "../add.mjs";

test("adds two numbers", () => {
  assert.equal(add(2, 3), 5);
});
`;
const OTHER = `import assert from "node:assert/strict";
import { test } from "node:test";
import { add } from "../add.mjs";

test("adds nothing to zero", () => {
  assert.equal(add(0, 0), 0);
});
`;
const FILES = {
  "add.mjs": "export function add(a, b) {\n  return a - b;\n}\n",
  "test/other.test.mjs": OTHER,
  "package.json": '{ "type": "module" }\n',
};
// One process for all files takes half the time.
const COMMAND = "node --test --test-isolation=none";
const FLAGS = ["--allow-command", COMMAND];
const OPTIONS = { test_command: COMMAND };

const SHOWN = {
  bug: "add(2, 3) should be 5, and is -1",
  test_name: "adds two numbers",
  test: { file: "test/add.test.mjs", line: 5, quote: 'test("adds two numbers"' },
};
const CAUSE = {
  cause: { file: "add.mjs", line: 2, quote: "return a - b;" },
  why: "it subtracts the second number",
};
const FIX = {
  fix: "it adds the numbers, as its name says",
  changed: ["add.mjs"],
  test_name: "adds two numbers",
  cause_file: "add.mjs",
};
const test_file = "test/add.test.mjs";
const IN_SHORT = howOften(true, false);

describe("bug_fix", () => {
  it("is gone through by an honest agent, over the bin", async () => {
    const { start, pass, write, git, log } = await aStarter("bug_fix", { files: FILES, flags: FLAGS, bin: true });
    // Uncommitted work of the user's is left alone.
    await write("notes.txt", "mine");
    expect(await start(OPTIONS)).toMatchObject({ status: "success" });
    await write("test/add.test.mjs", TEST);
    await pass(1, SHOWN);
    await pass(2, CAUSE);
    await write("add.mjs", "export function add(a, b) {\n  return a + b;\n}\n");
    await pass(3, FIX);
    git("add", "add.mjs", "test");
    git("commit", "--quiet", "-m", "add adds");
    expect(await pass(4, { commit: git("rev-parse", "HEAD"), test_file })).toMatchObject({ workflow_complete: true });
    expect(log.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("asks for its command, and takes only one that the server allows", async () => {
    const { start } = await aStarter("bug_fix", { files: FILES, flags: FLAGS });
    expect(JSON.stringify(await start({}))).toMatch(/test_command.*is missing.*the command that runs all tests/);
    expect(JSON.stringify(await start({ test_command: "node --test" }))).toMatch(
      /no other arguments: node --test --test-isolation=none/,
    );
    expect(JSON.stringify(await start({ test_command: "node --test; true" }))).toMatch(/needs a shell/);
    expect(JSON.stringify(await start({ test_comand: "node --test" }))).toMatch(/Did you mean.*test_command/i);
  });

  it("refuses every lie", { timeout: 120_000 }, async () => {
    const { start, pass, lie, write, remove, git } = await aStarter("bug_fix", { files: FILES, flags: FLAGS });
    await write("notes.txt", "mine");
    await start(OPTIONS);

    await write("test/add.test.mjs", TEST.replace("add(2, 3), 5", "add(3, 2), 1"));
    await lie(1, SHOWN, /exit code 0, expected another/);
    await write("test/add.test.mjs", TEST.replace("=>", "= >"));
    await lie(1, SHOWN, /adds two numbers.* match .* 0 times; expected: at least 1/);
    await write("test/add.test.mjs", TEST.replace("../add.mjs", "../sum.mjs"));
    await lie(1, SHOWN, /0 times; expected: at least 1/);
    // The test that is named passes, and another one fails.
    await write("test/add.test.mjs", TEST);
    const passing = { ...SHOWN.test, file: "test/other.test.mjs", quote: 'test("adds nothing to zero"' };
    await lie(1, { ...SHOWN, test_name: "adds nothing to zero", test: passing }, /0 times; expected: at least 1/);
    await lie(1, { ...SHOWN, test: { ...SHOWN.test, line: 6 } }, /does not contain the quoted text/);
    await lie(1, { ...SHOWN, test: { ...SHOWN.test, line: 70 } }, /the file has 7 lines/);
    await lie(1, { ...SHOWN, test_name: "subtracts" }, /the quoted line must contain test_name/);
    await write("src/add.mjs", TEST.replace("../add.mjs", "../add.mjs"));
    await lie(1, { ...SHOWN, test: { ...SHOWN.test, file: "src/add.mjs" } }, /it must be in one of/);
    await remove("src");
    // A file that can't be loaded is not a failing test, even next to one.
    await write("test/broken.test.mjs", "test(");
    await lie(1, SHOWN, /SyntaxError.* 1 times; expected: at most 0/);
    await remove("test/broken.test.mjs");
    await write("package.json", '{ "type": "module", "scripts": {} }\n');
    await lie(1, SHOWN, /package.json was changed since the session was started/);
    await write("package.json", FILES["package.json"]);
    await write("sum.mjs", "export const sum = 1;\n");
    await lie(1, SHOWN, /changed: sum.mjs .since the session was started/);
    await remove("sum.mjs");
    await pass(1, SHOWN);

    await lie(2, { ...CAUSE, cause: { ...CAUSE.cause, line: 9 } }, /the file has 3 lines/);
    await lie(2, { ...CAUSE, cause: { ...CAUSE.cause, file: "sum.mjs" } }, /sum.mjs/);
    await lie(2, { ...CAUSE, cause: { ...CAUSE.cause, quote: "return b - a;" } }, /does not contain the quoted text/);
    await lie(2, { ...CAUSE, cause: { file: "add.mjs", line: 2 } }, /quote the text of this line/);
    await lie(2, { ...CAUSE, cause: SHOWN.test }, /it must not be in/);
    for (const quote of [" ".repeat(9), "\t\n", "\u200b".repeat(9), "\u2800\u3164\u00a0".repeat(4)])
      await lie(2, { ...CAUSE, cause: { ...CAUSE.cause, quote } }, /the quoted text has no visible character/);
    await pass(2, CAUSE);

    await lie(3, { ...FIX, changed: [] }, /the file with the cause must be among them/);
    await lie(3, FIX, /named, but not changed: add.mjs .*exit code 1, expected 0/);
    await write("add.mjs", "export function add(a, b) {\n  return a - -b;\n}\n");
    await write("test/add.test.mjs", TEST.replace("add(2, 3), 5", "add(2, 3), -1"));
    await lie(
      3,
      { ...FIX, changed: ["add.mjs", test_file] },
      /test\/add.test.mjs was changed since phase 1 was passed/,
    );
    await write("test/add.test.mjs", TEST.replace('test("adds', 'test.skip("adds'));
    await lie(3, { ...FIX, changed: ["add.mjs", test_file] }, /test\/add.test.mjs was changed/);
    await remove("test/add.test.mjs");
    await lie(3, { ...FIX, changed: ["add.mjs", test_file] }, /test\/add.test.mjs was deleted/);
    await write("test/add.test.mjs", TEST);
    // The fix breaks another test.
    await write("add.mjs", "export function add(a, b) {\n  return 5;\n}\n");
    await lie(3, FIX, /exit code 1, expected 0/);
    await write("add.mjs", "export function add(a, b) {\n  return a + b;\n}\n");
    await lie(3, { ...FIX, cause_file: "test/other.test.mjs" }, /it must be the file of phase 2/);
    await lie(3, { ...FIX, test_name: "adds nothing to zero" }, /it must be the test of phase 1/);
    await pass(3, FIX);

    const before = git("rev-parse", "HEAD");
    await lie(4, { commit: before, test_file }, /has no test.*add.test.mjs; commit this file, .*2 uncommitted files/);
    await lie(4, { commit: "main", test_file }, /'test_file' .*test.add.test.mjs was not looked up: a commit id has/);
    git("add", "add.mjs", "test");
    git("commit", "--quiet", "-m", "add adds");
    const commit = git("rev-parse", "HEAD");
    await write("debug.log", "left");
    await lie(4, { commit, test_file }, /1 uncommitted file: debug.log/);
    await remove("debug.log");
    await write("notes.txt", "changed");
    await lie(4, { commit, test_file }, /1 uncommitted file: notes.txt.*changed: notes.txt .since phase 3 was passed/);
    await write("notes.txt", "mine");
    await lie(4, { commit: before, test_file }, /is not the commit that is checked out/);
    await lie(4, { commit, test_file: "add.mjs" }, /it must be the file of phase 1/);
    await lie(4, { commit: commit.replace(/^...../, "00000"), test_file }, /there is no commit/);
    await write("add.mjs", "export function add(a, b) {\n  return 5;\n}\n");
    git("commit", "--quiet", "-am", "broken again");
    await lie(4, { commit, test_file }, /exit code 1, expected 0/);
    git("reset", "--quiet", "--hard", commit);
    await pass(4, { commit, test_file });
  });

  it("refuses a bug that was made to be fixed", { timeout: 60_000 }, async () => {
    const [right, wrong] = [FILES["add.mjs"].replace("-", "+"), FILES["add.mjs"]];
    const other = { "sub.mjs": "export function sub(a, b) {\n  return b - a;\n}\n" };
    const files = { ...FILES, ...other, "add.mjs": right };
    const { start, pass, lie, write, remove } = await aStarter("bug_fix", { files, flags: FLAGS });
    await start(OPTIONS);
    // The code, which is right, is made wrong for the test.
    await write("test/add.test.mjs", TEST);
    await write("add.mjs", wrong);
    await lie(1, SHOWN, /changed: add.mjs .since the session was started/);
    await write("add.mjs", right);
    // A helper of the test's own is the bug.
    await write("check.mjs", "export function add(a, b) {\n  return a - b;\n}\n");
    await write("test/add.test.mjs", TEST.replace("../add.mjs", "../check.mjs"));
    await lie(1, SHOWN, /changed: check.mjs .since the session was started/);
    await remove("check.mjs");
    // The test shows a bug, and code elsewhere is made wrong before its cause is named.
    const both = "assert.equal(sub(3, 2) + add(2, 3), 6)";
    const text = TEST.replace("assert.equal(add(2, 3), 5)", both);
    await write("test/add.test.mjs", `import { sub } from "../sub.mjs";\n${text}`);
    await pass(1, { ...SHOWN, test: { ...SHOWN.test, line: 6 } });
    await write("add.mjs", wrong);
    await lie(2, CAUSE, /changed: add.mjs .since the session was started/);
    await write("add.mjs", right);
    await pass(2, { ...CAUSE, cause: { ...CAUSE.cause, quote: "return a + b;" } });
    await write("add.mjs", wrong);
    await write("sub.mjs", other["sub.mjs"].replace("b - a", "a - b"));
    await write("add.mjs", right);
    await lie(3, { ...FIX, changed: ["add.mjs", "sub.mjs"] }, /nothing to put back: add.mjs did not change/);
  });

  // The verifiers' own tests have this one and the next in the short form: test/verifiers/git.test.ts, test/adversarial/git.slow.test.ts.
  it.skipIf(IN_SHORT)("refuses what git could hide", { timeout: 60_000 }, async () => {
    const ignored = { ".gitignore": ".phasegate/\nlocal/\nhidden.test.mjs\n" };
    const { start, pass, lie, write, remove, git } = await aStarter("bug_fix", {
      files: { ...FILES, ...ignored },
      flags: FLAGS,
    });
    await start(OPTIONS);
    // The test fails for a file that git ignores: it would pass without a fix.
    const local = TEST.replace("assert.equal(add(2, 3), 5)", 'assert.ok(existsSync("local/on"))');
    await write("test/hidden.test.mjs", `import { existsSync } from "node:fs";\n${local}`);
    await pass(1, { ...SHOWN, test: { ...SHOWN.test, file: "test/hidden.test.mjs", line: 6 } });
    await pass(2, CAUSE);
    await write("local/on", "");
    await lie(3, { ...FIX, changed: [] }, /the file with the cause must be among them/);
    await lie(3, FIX, /named, but not changed: add.mjs/);
    await write("add.mjs", "export function add(a, b) {\n  return a + b;\n}\n");
    await lie(3, FIX, /passes without the changes in add.mjs as well/);
    await remove("local");
    await remove("test/hidden.test.mjs");
    git("checkout", ".");

    // Another session, with a test of the bug that git ignores.
    await start(OPTIONS);
    await write("test/hidden.test.mjs", TEST);
    await pass(1, { ...SHOWN, test: { ...SHOWN.test, file: "test/hidden.test.mjs" } });
    await pass(2, CAUSE);
    // Flags of the index, and a stash.
    await write("add.mjs", "export function add(a, b) {\n  return a + b;\n}\n");
    git("update-index", "--assume-unchanged", "add.mjs");
    await lie(3, { ...FIX, changed: [] }, /the file with the cause must/);
    git("update-index", "--no-assume-unchanged", "--skip-worktree", "add.mjs");
    await pass(3, FIX);
    // Only the fix is committed: the test stays where git ignores it.
    const hidden = "test/hidden.test.mjs";
    await lie(4, { commit: git("rev-parse", "HEAD"), test_file: hidden }, /1 uncommitted file: add.mjs/);
    git("update-index", "--no-skip-worktree", "add.mjs");
    git("stash", "--quiet");
    await lie(4, { commit: git("rev-parse", "HEAD"), test_file: hidden }, /has no test\/hidden.test.mjs/);
    git("stash", "pop", "--quiet");
    git("commit", "--quiet", "-am", "add adds");
    const commit = () => git("rev-parse", "HEAD");
    await lie(4, { commit: commit(), test_file: hidden }, /has no test\/hidden.test.mjs/);
    git("add", "--force", hidden);
    git("commit", "--quiet", "-m", "its test", "--author", "Eve <eve@example.org>", "--date", "2001-01-01T00:00:00Z");
    await pass(4, { commit: commit(), test_file: hidden });
  });

  it.skipIf(IN_SHORT)(
    "counts what is in a nested repository, or refuses it by name",
    { timeout: 120_000 },
    async () => {
      const files = { ...FILES, "lib/sub.mjs": "export function sub(a, b) {\n  return b - a;\n}\n" };
      const { start, pass, lie, write, remove, git, project } = await aStarter("bug_fix", { files, flags: FLAGS });
      const [wrong, right] = [FILES["add.mjs"], FILES["add.mjs"].replace("-", "+")];
      await write("nested/add.mjs", wrong);
      const nested = await initialise(join(project, "nested"));
      await start(OPTIONS);
      await write(test_file, TEST);
      await write("nested/add.mjs", right);
      await lie(1, SHOWN, /changed: nested.add.mjs .since the session was started/);
      nested("commit", "--quiet", "-am", "second");
      await lie(1, SHOWN, /changed: nested .since the session was started/);
      nested("reset", "--quiet", "--hard", "HEAD~1");
      await pass(1, SHOWN);
      await pass(2, CAUSE);
      await write("add.mjs", right);
      // A new repository, and one around committed files.
      await write("hidden/settings.ini", "");
      await initialise(join(project, "hidden"));
      await lie(3, FIX, /changed, but not named: hidden .since this phase/);
      await write("hidden/more.ini", "");
      await lie(3, FIX, /changed, but not named: hidden, hidden.more.ini/);
      await remove("hidden");
      await initialise(join(project, "lib"));
      await write("lib/.gitignore", "*\n");
      await write("lib/new.mjs", "");
      await lie(3, FIX, /changed, but not named: lib.\.gitignore/);
      await remove("lib/.git");
      await remove("lib/.gitignore");
      await remove("lib/new.mjs");
      await pass(3, FIX);
      git("add", "add.mjs", "test");
      git("commit", "--quiet", "-m", "add adds");
      const commit = git("rev-parse", "HEAD");
      await write("nested/add.mjs", right);
      await lie(4, { commit, test_file }, /1 uncommitted file: nested.add.mjs/);
      nested("checkout", "--quiet", ".");
      // A commit that only names the repository has none of its files.
      git("rm", "--quiet", "--cached", "-r", "test");
      await initialise(join(project, "test"));
      git("add", "test");
      git("commit", "--quiet", "-m", "the test is elsewhere");
      await lie(4, { commit: git("rev-parse", "HEAD"), test_file }, /has no test.add.test.mjs/);
      await remove("test/.git");
      git("reset", "--quiet", "--hard", commit);
      await pass(4, { commit, test_file });

      // The cause is in the nested repository: its earlier state is not that of the project.
      await start(OPTIONS);
      await write("test/nested.test.mjs", TEST.replace("../add.mjs", "../nested/add.mjs").replace("two", "three"));
      const shown = { test_name: "adds three numbers", test: { ...SHOWN.test, file: "test/nested.test.mjs" } };
      await pass(1, { ...SHOWN, ...shown, test: { ...shown.test, quote: 'test("adds three numbers"' } });
      await pass(2, { ...CAUSE, cause: { ...CAUSE.cause, file: "nested/add.mjs" } });
      await write("nested/add.mjs", right);
      const fix = {
        ...FIX,
        test_name: "adds three numbers",
        changed: ["nested/add.mjs"],
        cause_file: "nested/add.mjs",
      };
      await lie(3, { ...fix, changed: ["add.mjs"] }, /the file with the cause must be among them/);
      await lie(3, fix, /nested.add.mjs can't be put back: nested is a repository of its own/);
    },
  );

  it("refuses a fix that is none: a new file keeps the test from running", { timeout: 60_000 }, async () => {
    const command = "sh run.sh";
    const failing = 'sh add.sh 2 3 | grep -qx 5 || { echo "not ok 1 - adds two numbers"; exit 1; }\n';
    const { start, pass, lie, write, remove, git } = await aStarter("bug_fix", {
      files: {
        "add.sh": "# $1 + $2\necho $(($1 - $2))\n",
        // No list of configuration files has it.
        "run.sh": "test -e settings.ini && exit 0; sh test/add.sh\n",
      },
      flags: ["--allow-command", command],
    });
    await start({ test_command: command });
    await write("test/add.sh", failing);
    await pass(1, { ...SHOWN, test: { file: "test/add.sh", line: 1, quote: "not ok 1 - adds two numbers" } });
    await pass(2, { ...CAUSE, cause: { file: "add.sh", line: 2, quote: "echo $(($1 - $2))" } });
    const fix = { ...FIX, cause_file: "add.sh", changed: ["add.sh", "settings.ini"] };
    await write("settings.ini", "");
    await write("add.sh", "# the sum of both\necho $(($1 - $2))\n");
    await lie(3, fix, /sh run.sh passes without the changes in add.sh as well/);
    await write("add.sh", "# $1 + $2\necho $(($1 + $2))\n");
    await lie(3, fix, /passes without the changes in add.sh as well/);
    await remove("settings.ini");
    await pass(3, { ...fix, changed: ["add.sh"] });
    // After the fix was shown it is taken back, and the new file is there again.
    await write("settings.ini", "");
    await write("add.sh", "# $1 + $2\necho $(($1 - $2))\n");
    git("add", ".");
    git("commit", "--quiet", "-m", "add adds");
    const done = () => ({ commit: git("rev-parse", "HEAD"), test_file: "test/add.sh" });
    await lie(4, done(), /changed: add.sh, settings.ini .since phase 3 was passed/);
    await remove("settings.ini");
    await write("add.sh", "# $1 + $2\necho $(($1 + $2))\n");
    git("commit", "--quiet", "-am", "it really does");
    expect(await pass(4, done())).toMatchObject({ workflow_complete: true });
  });
});
