import { describe, expect, it } from "vitest";
import { aStarter } from "./a-starter.js";

const FILES = {
  "greet.sh": "echo hello\n",
  "check.sh": 'sh greet.sh | grep -q "^hello" && ! grep -q rm greet.sh\n',
  "README.md": "# Greet\n",
};
const FLAGS = ["--allow-command", "sh check.sh"];
const OPTIONS = { test_command: "sh check.sh" };

const CLEAR = {
  goal: "the greeting names the world, too",
  done_when: ["sh greet.sh prints hello, world"],
  places: [{ file: "greet.sh", line: 1, quote: "echo hello" }],
};
const PLAN = { files: ["greet.sh", "README.md"], steps: ["change the greeting", "say so in the README"] };
const CHANGED = ["greet.sh", "README.md"];
const REVIEW = { summary: "The greeting names the world; look at the comma, which is new.", changed: CHANGED };

describe("small_change", () => {
  it("refuses every lie, and lets an honest agent through", { timeout: 60_000 }, async () => {
    const { start, pass, lie, submit, write, remove, git, decide } = await aStarter("small_change", {
      files: FILES,
      flags: FLAGS,
    });
    await write("notes.txt", "mine");
    expect(await start(OPTIONS)).toMatchObject({ status: "success" });

    await lie(1, { ...CLEAR, places: [{ file: "greet.sh", line: 4, quote: "echo" }] }, /the file has 1 lines/);
    await lie(1, { ...CLEAR, places: ["greet.sh:1"] }, /quote the text of this line/);
    await lie(1, { ...CLEAR, places: [{ ...CLEAR.places[0], quote: "printf hello" }] }, /not contain the quoted text/);
    await lie(1, { ...CLEAR, places: [] }, /0 of at least 1 places/);
    await write("greet.sh", "echo hello, world\n");
    await lie(1, { ...CLEAR, places: [{ file: "greet.sh", line: 1, quote: "echo hello" }] }, /changed: greet.sh/);
    git("commit", "--quiet", "-am", "early");
    await lie(1, CLEAR, /changed: greet.sh/);
    git("reset", "--quiet", "--hard", "HEAD~1");
    await pass(1, CLEAR);

    await lie(2, { ...PLAN, files: [] }, /files/);
    await write("new.sh", "echo\n");
    await lie(2, PLAN, /changed: new.sh/);
    await remove("new.sh");
    await pass(2, PLAN);

    await lie(3, { changed: CHANGED }, /named, but not changed: greet.sh, README.md/);
    await lie(3, { changed: [] }, /not planned in phase 2, or none/);
    await write("greet.sh", "echo goodbye\n");
    await write("README.md", "# Greet the world\n");
    await lie(3, { changed: CHANGED }, /exit code 1, expected 0/);
    await write("greet.sh", "echo hello, world\n");
    await write("check.sh", "exit 0\n");
    await lie(3, { changed: CHANGED }, /changed, but not named: check.sh/);
    await lie(3, { changed: [...CHANGED, "check.sh"] }, /not planned in phase 2/);
    git("commit", "--quiet", "-am", "hidden");
    await lie(3, { changed: CHANGED }, /changed, but not named: check.sh/);
    git("reset", "--quiet", "--soft", "HEAD~1");
    await write("check.sh", FILES["check.sh"]);
    await pass(3, { changed: CHANGED });

    await write("extra.txt", "");
    await lie(4, REVIEW, /changed, but not named: extra.txt/);
    await remove("extra.txt");
    const held = await submit(4, REVIEW);
    expect(held).toMatchObject({ awaiting_approval: true });
    // The test asks for a greeting that begins with hello, with or without the world.
    expect(JSON.stringify(held)).toContain("WARNING: no test depends on the changes in greet.sh");
    // Nobody has approved yet.
    expect(await submit(5, { commit: git("rev-parse", "HEAD") })).toMatchObject({ status: "error" });
    expect(await submit(4, { ...REVIEW, approved: true })).toMatchObject({ awaiting_approval: true });
    await decide("deny", "--note", "the comma is wrong");
    await write("greet.sh", "echo hello world\n");
    expect(await submit(4, REVIEW)).toMatchObject({ awaiting_approval: true });
    await decide("approve");

    await write("greet.sh", "echo hello, all\n");
    git("commit", "--quiet", "-am", "greet");
    await lie(5, { commit: git("rev-parse", "HEAD") }, /changed: greet.sh \(since phase 4 was passed\)/);
    await write("greet.sh", "echo hello world\n");
    await lie(5, { commit: git("rev-parse", "HEAD") }, /1 uncommitted file: greet.sh/);
    await lie(5, { commit: "0123456789" }, /there is no commit/);
    git("commit", "--quiet", "-am", "greet the world");
    expect(await pass(5, { commit: git("rev-parse", "HEAD") })).toMatchObject({ workflow_complete: true });
  });

  it("neither asks for a report that the check writes, nor blames it", { timeout: 60_000 }, async () => {
    const writing = { ...FILES, "check.sh": `date +%N > report.xml\n${FILES["check.sh"]}` };
    const { start, pass, lie, submit, write, git, decide } = await aStarter("small_change", {
      files: writing,
      flags: FLAGS,
    });
    await start(OPTIONS);
    await pass(1, CLEAR);
    await pass(2, PLAN);
    await write("README.md", "# Greet the world\n");
    await lie(3, { changed: CHANGED }, /named, but not changed: greet.sh \(/);
    await write("greet.sh", "echo hello, world\n");
    const passed = await pass(3, { changed: CHANGED });
    expect(JSON.stringify(passed)).toContain("sh check.sh passed; it wrote report.xml");
    await lie(4, { ...REVIEW, changed: ["greet.sh"] }, /changed, but not named: README.md \(/);
    expect(await submit(4, REVIEW)).toMatchObject({ awaiting_approval: true });
    await decide("approve");
    git("commit", "--quiet", "-am", "greet the world");
    expect(await pass(5, { commit: git("rev-parse", "HEAD") })).toMatchObject({ workflow_complete: true });
  });
});
