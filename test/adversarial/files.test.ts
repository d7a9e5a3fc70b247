import { execFileSync } from "node:child_process";
import { link, mkdir, rm, symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "vitest";
import { writeFiles } from "../support/write-files.js";
import { aGate, lieThenTruth } from "./a-gate.js";

const FILE = "evidence_schema:\n  report: {type: string, description: path of the report, verify: file_exists}\n";
const TRUTH = { report: "docs/report.md" };
const files = { "docs/report.md": "# Report\n\n## Results\n\n12 of 12 passed\n" };

/** Starts a session at a gate that requires a report, in a project that does not have it yet. */
const withoutReport = (gate = FILE) => aGate({ gate, files: { "docs/other.md": "# Other\n\nSomething else\n" } });

describe("a gate that requires a file", () => {
  it("lets an honest agent through", async () => {
    await (await aGate({ gate: FILE, files })).accepts(TRUTH);
  });

  it("refuses a missing file, and accepts it once it exists", async () => {
    const gate = await withoutReport();
    await gate.refuses(TRUTH, /there is no file docs\/report\.md/);
    await writeFiles(gate.project, files);
    await gate.accepts(TRUTH);
  });

  it("refuses an empty file", async () => {
    const gate = await withoutReport();
    await gate.write("docs/report.md", "");
    await gate.refuses(TRUTH, /docs\/report\.md.*the file is too small/);
    await writeFiles(gate.project, files);
    await gate.accepts(TRUTH);
  });

  it("refuses a huge sparse file without data", async () => {
    const gate = await withoutReport(
      FILE.replace("verify: file_exists", "verify: {verifier: file_exists, min_bytes: 5000}"),
    );
    await gate.write("docs/report.md", "# Report");
    await truncate(join(gate.project, "docs/report.md"), 2 ** 40);
    await gate.refuses(TRUTH, /docs\/report\.md.*at least 5000: holes/);
    await gate.write("docs/report.md", "All of it passed.\n".repeat(500));
    await gate.accepts(TRUTH);
  });

  it.each<[string, readonly string[]]>([
    ["with another spelling", ["docs/report.md", "./docs/report.md"]],
    ["with another separator", ["docs/report.md", "docs//./report.md"]],
    ["with the same path twice", ["docs/report.md", "docs/report.md"]],
    ["by a hard link", ["docs/report.md", "docs/again.md"]],
    ["in a folder that is a link", ["docs/report.md", "alias/report.md"]],
  ])("refuses one file in place of two, %s", async (_, lie) => {
    const list = "evidence_schema:\n  reports: {type: list, validator: 'lambda x: len(x) == 2', verify: file_exists}\n";
    const gate = await aGate({ gate: list, files: { ...files, "docs/other.md": "# Other\n" } });
    await link(join(gate.project, "docs/report.md"), join(gate.project, "docs/again.md"));
    await symlink("docs", join(gate.project, "alias"));
    await gate.refuses({ reports: lie }, /docs\/report\.md is named twice|is the same file as docs\/report\.md/);
    await gate.accepts({ reports: ["docs/report.md", "docs/other.md"] });
  });

  it("refuses a folder in place of a file", async () => {
    const gate = await withoutReport();
    await mkdir(join(gate.project, "docs/report.md"));
    await gate.refuses(TRUTH, /docs\/report\.md.*a folder, not a file/);
    await rm(join(gate.project, "docs/report.md"), { recursive: true });
    await writeFiles(gate.project, files);
    await gate.accepts(TRUTH);
  });

  it("refuses the path of a file that ends like a folder's", async () => {
    const gate = await aGate({ gate: FILE, files });
    await gate.refuses({ report: "docs/report.md/" }, /docs\/report\.md.*ends like the path of a folder/);
    await gate.refuses({ report: "docs/report.md/." }, /docs\/report\.md.*ends like the path of a folder/);
    await gate.accepts(TRUTH);
  });

  it("finds a forbidden line after an unusual line end", async () => {
    const gate = await aGate({
      gate: 'evidence_schema:\n  report: {type: string, verify: {verifier: file_matches, pattern: "^- \\\\[ \\\\]", max: 0}}\n',
      files,
      engine: { limits: { maxAttempts: 10 } },
    });
    for (const end of ["\r", "\u2028", "\u2029", "\u0085", "\v", "\f"]) {
      await gate.write("docs/report.md", `# Report${end}- [ ] not done\n`);
      await gate.refuses(TRUTH, /docs\/report\.md has 1 matching lines/);
    }
    await writeFiles(gate.project, files);
    await gate.accepts(TRUTH);
  });

  it("refuses a link to a good file in the project", async () => {
    const gate = await withoutReport();
    await symlink("other.md", join(gate.project, "docs/report.md"));
    await gate.refuses(TRUTH, /docs\/report\.md.*it is a symbolic link/);
    await rm(join(gate.project, "docs/report.md"));
    await writeFiles(gate.project, files);
    await gate.accepts(TRUTH);
  });

  it("refuses a link to a good file outside of the project", async () => {
    const gate = await withoutReport();
    await writeFiles(gate.base, { "secret.md": "good, but not yours" });
    await symlink(join(gate.base, "secret.md"), join(gate.project, "docs/report.md"));
    await gate.refuses(TRUTH, /docs\/report\.md.*it is a symbolic link/);
    await rm(join(gate.project, "docs/report.md"));
    await writeFiles(gate.project, files);
    await gate.accepts(TRUTH);
  });

  it("refuses a good file in a linked folder outside of the project", async () => {
    const gate = await withoutReport();
    await writeFiles(gate.base, { "elsewhere/report.md": "good, but not yours" });
    await symlink(join(gate.base, "elsewhere"), join(gate.project, "exit"));
    await gate.refuses({ report: "exit/report.md" }, /the path "exit" is refused: it does not lead to a place inside/);
    await writeFiles(gate.project, files);
    await gate.accepts(TRUTH);
  });

  it("refuses a path that leads out of the project, and an absolute path", async () => {
    const gate = await aGate({ gate: FILE, files, engine: { limits: { maxAttempts: 9 } } });
    await writeFiles(gate.base, { "secret.md": "good, but not yours" });
    for (const report of ["../secret.md", "docs/../../secret.md", "/etc/hostname", "docs/report.md\0.txt"]) {
      await gate.refuses({ report }, /report.*refused|report.*NUL/is);
    }
    await gate.accepts(TRUTH);
  });

  it("refuses a FIFO in place of a file, without waiting for a writer", async () => {
    const gate = await withoutReport();
    execFileSync("mkfifo", [join(gate.project, "docs/report.md")]);
    await gate.refuses(TRUTH, /docs\/report\.md.*not a regular file/);
    await rm(join(gate.project, "docs/report.md"));
    await writeFiles(gate.project, files);
    await gate.accepts(TRUTH);
  });

  it("refuses another file whose name only resembles the right one", async () => {
    await lieThenTruth({ gate: FILE, files }, { report: "docs/rep\u043ert.md" }, /there is no file docs/, TRUTH);
  });
});

const PLACED = `
evidence_schema: {team: {type: string, description: whose report it is}}
verify: {verifier: file_exists, path: "teams/{evidence.team}/report.md"}
`;

describe("a gate that puts evidence into a path", () => {
  it("refuses evidence that leads out of the project, and lets an honest agent through", async () => {
    const gate = await aGate({ gate: PLACED, files: { "teams/ours/report.md": "# Ours\n" } });
    await writeFiles(gate.base, { "report.md": "good, but not yours" });
    await gate.refuses({ team: "../.." }, /the path "teams\/\.\.\/\.\.\/report\.md" is refused/);
    await gate.refuses({ team: "{target_file}" }, /there is no file teams/);
    await gate.accepts({ team: "ours" });
  });
});

const RESULTS = `
evidence_schema:
  report:
    type: string
    description: path of the report
    verify: {verifier: file_matches, pattern: "^[0-9]+ of [0-9]+ passed$"}
`;

describe("a gate that requires a line in a file", () => {
  it("refuses a report without the line, and lets an honest agent through", async () => {
    const gate = await aGate({ gate: RESULTS, files: { "docs/report.md": "all of them passed\n" } });
    await gate.refuses(TRUTH, /docs\/report\.md.*0 lines|docs\/report\.md.*match/);
    await writeFiles(gate.project, files);
    await gate.accepts(TRUTH);
  });

  it("refuses a line in letters that only resemble the right ones", async () => {
    const gate = await aGate({
      gate: RESULTS,
      files: { "docs/report.md": "12 of 12 p\u0430ssed\n１２ of １２ passed\n" },
    });
    await gate.refuses(TRUTH, /docs\/report\.md/);
    await writeFiles(gate.project, files);
    await gate.accepts(TRUTH);
  });
});
