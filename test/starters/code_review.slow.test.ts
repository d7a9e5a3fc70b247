import { describe, expect, it } from "vitest";
import { aStarter } from "./a-starter.js";

const FILES = { "add.mjs": "export const add = (a, b) => a + b;\n", "old.mjs": "export {};\n", "README.md": "# Add\n" };
const SUBTRACTS = "export const add = (a, b) => {\n  return a - b;\n};\n";

const READ = { files: ["add.mjs", "old.mjs", "sub.mjs"], purpose: "it adds subtraction, and removes what is old" };
const FINDING = {
  file: "add.mjs",
  line: 2,
  quote: "return a - b;",
  severity: "high",
  problem: "add(2, 3) is -1 and not 5",
};
const FOUND = { findings: [FINDING], clean: ["old.mjs", "sub.mjs"] };
const DECISION = { file: "add.mjs", line: 2, decision: "fix", reason: "every sum is wrong but that with 0" };
const REPORT = { report: "review.md", changed: ["review.md"], places: ["add.mjs:2"] };

describe("code_review", () => {
  it("refuses every lie, and lets an honest agent through", { timeout: 60_000 }, async () => {
    const { start, pass, lie, write, remove, git } = await aStarter("code_review", { files: FILES });
    git("checkout", "--quiet", "-b", "change");
    await write("add.mjs", SUBTRACTS);
    await write("sub.mjs", "export const sub = (a, b) => a - b;\n");
    await remove("old.mjs");
    git("add", ".");
    git("commit", "--quiet", "-m", "subtract");
    expect(JSON.stringify(await start({}))).toMatch(/base.*is missing/);
    expect(JSON.stringify(await start({ base: "--output=x" }))).toMatch(
      /is not the name of a tag, a branch or a commit/,
    );
    expect(await start({ base: "main" })).toMatchObject({ status: "success" });

    await lie(1, { ...READ, files: ["add.mjs", "sub.mjs"] }, /1 of 3 changed files are missing: old.mjs/);
    await lie(1, { ...READ, files: [...READ.files, "README.md"] }, /not changed: README.md/);
    await lie(1, { ...READ, files: [] }, /3 of 3 changed files are missing/);
    // A base that is moved makes the difference no smaller.
    git("branch", "--quiet", "-f", "main", "change");
    await lie(1, { ...READ, files: [] }, /3 of 3 changed files are missing/);
    await write("add.mjs", FILES["add.mjs"]);
    await lie(1, READ, /1 uncommitted file: add.mjs/);
    await write("add.mjs", SUBTRACTS);
    await pass(1, READ);

    const found = (change: object) => ({ ...FOUND, findings: [{ ...FINDING, ...change }] });
    await lie(2, found({ line: 40 }), /the file has 3 lines/);
    await lie(2, found({ quote: "return b - a;" }), /does not contain the quoted text/);
    await lie(2, found({ file: "README.md", line: 1, quote: "# Add" }), /not in phase 1/);
    await lie(2, found({ problem: "bad" }), /a problem in words/);
    await lie(2, found({ severity: "awful" }), /severity/);
    await lie(2, { findings: [], clean: ["old.mjs", "sub.mjs"] }, /each file of phase 1 has findings, or is in clean/);
    await lie(2, { ...FOUND, clean: ["add.mjs", ...FOUND.clean] }, /and not both/);
    await write("add.mjs", FILES["add.mjs"]);
    await lie(2, { findings: [], clean: READ.files }, /changed: add.mjs/);
    await write("add.mjs", SUBTRACTS);
    await pass(2, FOUND);

    const decided = (change: object) => ({ decisions: [{ ...DECISION, ...change }] });
    await lie(3, { decisions: [] }, /each finding of phase 2 needs one decision/);
    await lie(3, decided({ line: 1 }), /each finding of phase 2 needs one decision/);
    await lie(3, { decisions: [DECISION, { ...DECISION, line: 3 }] }, /there are no others/);
    await lie(3, { decisions: [DECISION, { ...DECISION, decision: "drop" }] }, /needs one decision/);
    await lie(3, decided({ decision: "maybe" }), /fix, later or drop/);
    await lie(3, decided({ reason: "so" }), /a reason in words/);
    await pass(3, decided({}));

    await lie(4, REPORT, /review.md/);
    await write("review.md", "All is well.\n");
    await lie(4, REPORT, /does not contain add.mjs:2/);
    await write("review.md", "add.mjs:20: add(2, 3) is -1. Fix it.\n");
    await lie(4, REPORT, /does not contain add.mjs:2/);
    await lie(4, { ...REPORT, places: ["review"] }, /a finding of phase 2 is missing/);
    await lie(4, { ...REPORT, report: "add.mjs", changed: ["add.mjs"] }, /the report is a Markdown file of its own/);
    const respelt = { report: "./review.md", changed: ["./review.md"] };
    await lie(4, { ...REPORT, ...respelt }, /write review.md in place of .\/review.md/);
    await write("review.md", "add.mjs:2: add(2, 3) is -1. Fix it.\n");
    await write("add.mjs", FILES["add.mjs"]);
    await lie(4, REPORT, /changed, but not named: add.mjs/);
    await lie(4, { ...REPORT, changed: ["review.md", "add.mjs"] }, /only the report may have changed/);
    await write("add.mjs", SUBTRACTS);
    expect(await pass(4, REPORT)).toMatchObject({ workflow_complete: true });
  });

  it("refuses to review nothing", async () => {
    const { start, lie } = await aStarter("code_review", { files: FILES });
    await start({ base: "main" });
    await lie(1, { ...READ, files: [] }, /no file differs/);
  });
});
