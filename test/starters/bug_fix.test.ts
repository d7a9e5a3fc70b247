import { describe, expect, it } from "vitest";
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
const FIX = { fix: "it adds the numbers, as its name says" };

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
    expect(await pass(4, { commit: git("rev-parse", "HEAD") })).toMatchObject({ workflow_complete: true });
    expect(log.filter(({ level }) => level === "error")).toEqual([]);
  });

  it("asks for its command, and takes only one that the server allows", async () => {
    const { start } = await aStarter("bug_fix", { files: FILES, flags: FLAGS });
    expect(JSON.stringify(await start({}))).toMatch(/test_command.*is missing.*the command that runs all tests/);
    expect(JSON.stringify(await start({ test_command: "node --test" }))).toMatch(
      /it allows node --test --test-isolation=none/,
    );
    expect(JSON.stringify(await start({ test_command: "node --test; true" }))).toMatch(/needs a shell/);
    expect(JSON.stringify(await start({ test_comand: "node --test" }))).toMatch(/Did you mean.*test_command/i);
  });

  it("refuses every lie", { timeout: 60_000 }, async () => {
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
    await pass(1, SHOWN);

    await lie(2, { ...CAUSE, cause: { ...CAUSE.cause, line: 9 } }, /the file has 3 lines/);
    await lie(2, { ...CAUSE, cause: { ...CAUSE.cause, file: "sum.mjs" } }, /sum.mjs/);
    await lie(2, { ...CAUSE, cause: { ...CAUSE.cause, quote: "return b - a;" } }, /does not contain the quoted text/);
    await lie(2, { ...CAUSE, cause: { file: "add.mjs", line: 2 } }, /quote the text of this line/);
    await lie(2, { ...CAUSE, cause: SHOWN.test }, /it must not be in/);
    await pass(2, CAUSE);

    await lie(3, FIX, /exit code 1, expected 0/);
    await write("test/add.test.mjs", TEST.replace("add(2, 3), 5", "add(2, 3), -1"));
    await lie(3, FIX, /test\/add.test.mjs was changed since phase 1 was passed/);
    await write("test/add.test.mjs", TEST.replace('test("adds', 'test.skip("adds'));
    await lie(3, FIX, /test\/add.test.mjs was changed/);
    await remove("test/add.test.mjs");
    await lie(3, FIX, /test\/add.test.mjs was deleted/);
    await write("test/add.test.mjs", TEST);
    // The fix breaks another test.
    await write("add.mjs", "export function add(a, b) {\n  return 5;\n}\n");
    await lie(3, FIX, /exit code 1, expected 0/);
    await write("add.mjs", "export function add(a, b) {\n  return a + b;\n}\n");
    await pass(3, FIX);

    const before = git("rev-parse", "HEAD");
    await lie(4, { commit: before }, /2 uncommitted files/);
    git("add", "add.mjs", "test");
    git("commit", "--quiet", "-m", "add adds");
    const commit = git("rev-parse", "HEAD");
    await write("debug.log", "left");
    await lie(4, { commit }, /1 uncommitted file: debug.log/);
    await remove("debug.log");
    await write("notes.txt", "changed");
    await lie(4, { commit }, /1 uncommitted file: notes.txt/);
    await write("notes.txt", "mine");
    await lie(4, { commit: commit.replace(/^...../, "00000") }, /there is no commit/);
    await write("add.mjs", "export function add(a, b) {\n  return 5;\n}\n");
    git("commit", "--quiet", "-am", "broken again");
    await lie(4, { commit }, /exit code 1, expected 0/);
    git("reset", "--quiet", "--hard", commit);
    await pass(4, { commit });
  });
});
