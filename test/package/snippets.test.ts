import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { plant, runTool } from "./run-tool.js";

const SCRIPT = "scripts/sync-snippets.mjs";
const EXAMPLE =
  "// #region start\nfunction main() {\n  // #region inner\n  return 1;\n  // #endregion inner\n}\n// #endregion start\n";
const page = (body: string, region = "start") =>
  `# Page\n\n\`\`\`ts source=examples/x.ts#${region}\n${body}\`\`\`\n\nText.\n`;

test("a snippet that is what its region says is fine, without markers and indentation", () => {
  const folder = plant({
    "examples/x.ts": EXAMPLE,
    "README.md": page("function main() {\n  return 1;\n}\n"),
    "docs/page.md": page("return 1;\n", "inner"),
  });
  expect(runTool(SCRIPT, [], folder)).toEqual({ status: 0, output: "2 snippets, 0 wrong\n" });
});

test("a snippet that has drifted is refused with its line, and --write fixes it and nothing else", () => {
  const folder = plant({ "examples/x.ts": EXAMPLE, "README.md": page("return 2;\n", "inner") });
  const before = runTool(SCRIPT, [], folder);
  expect(before.output).toContain("README.md:3:");
  expect(before.status).toBe(1);
  expect(runTool(SCRIPT, ["--write"], folder).status).toBe(0);
  expect(readFileSync(join(folder, "README.md"), "utf8")).toBe(page("return 1;\n", "inner"));
  expect(runTool(SCRIPT, [], folder).status).toBe(0);
});

test("a region or a file that isn't there is refused, with --write too", () => {
  const missing = plant({ "examples/x.ts": EXAMPLE, "README.md": page("", "gone") });
  expect(runTool(SCRIPT, ["--write"], missing)).toMatchObject({
    status: 1,
    output: expect.stringContaining("has no region gone"),
  });
  const noFile = plant({ "README.md": page("") });
  expect(runTool(SCRIPT, [], noFile)).toMatchObject({
    status: 1,
    output: expect.stringContaining("there is no examples/x.ts"),
  });
});

const LIST = "scripts/snippets-without-source.json";
const JSON_PAGE = '# Page\n\n```json\n{ "a": 1 }\n```\n';

test("code without a source is refused with its line, also in a folder of docs/ and without --write", () => {
  const folder = plant({ "docs/design/page.md": "# Page\n\n```ts\nconst x = 1;\n```\n" });
  for (const args of [[], ["--write"]]) {
    const { status, output } = runTool(SCRIPT, args, folder);
    expect(output).toContain("docs/design/page.md:3: ts code comes from no file that is run");
    expect(status).toBe(1);
  }
});

test("what is run straight from the pages needs no source", () => {
  const blocks = ["sh", "json call", "json file=a/b.json", "text output"].map((info) => `\`\`\`${info}\nx\n\`\`\`\n`);
  const folder = plant({ "README.md": `# Page\n\n${blocks.join("\n")}` });
  expect(runTool(SCRIPT, [], folder)).toEqual({ status: 0, output: "0 snippets, 0 wrong\n" });
  const other = plant({ "README.md": "# Page\n\n```sh call\nx\n```\n" });
  expect(runTool(SCRIPT, [], other)).toMatchObject({
    status: 1,
    output: expect.stringContaining("README.md:3: sh code"),
  });
});

test("a drawing of a folder has only what is in the folder", () => {
  const page = (last: string) =>
    `\`\`\`text folder=examples/w\nroot/\n  a/            the first\n    b/c.md\n  ${last}\n\`\`\`\n`;
  const files = { "examples/w/a/b/c.md": "", "examples/w/d.md": "" };
  const fine = plant({ ...files, "README.md": page("d.md   the last one") });
  expect(runTool(SCRIPT, [], fine)).toEqual({ status: 0, output: "0 snippets, 0 wrong\n" });
  const { status, output } = runTool(SCRIPT, [], plant({ ...files, "README.md": page("e.md") }));
  expect([status, output]).toEqual([1, expect.stringContaining("README.md:1: there is no examples/w/e.md")]);
  const odd = runTool(SCRIPT, [], plant({ ...files, "README.md": page("d.md, e.md") }));
  expect(odd).toMatchObject({
    status: 1,
    output: expect.stringContaining('"d.md, e.md" is not a path with a comment'),
  });
});

test("JSON and drawings of something else need no source as often as they are counted", () => {
  const counted = (count: number) => JSON.stringify({ "README.md": { json: count } });
  const once = plant({ "README.md": JSON_PAGE, [LIST]: counted(1) });
  expect(runTool(SCRIPT, [], once)).toEqual({ status: 0, output: "0 snippets, 0 wrong\n" });
  for (const [text, count] of [
    [JSON_PAGE, 0],
    [JSON_PAGE, 2],
    [JSON_PAGE + JSON_PAGE, 1],
  ] as const) {
    const { status, output } = runTool(SCRIPT, [], plant({ "README.md": text, [LIST]: counted(count) }));
    expect(output).toMatch(/^README\.md: [12] snippets in json have no source; .* counts [012]$/m);
    expect(status).toBe(1);
  }
  const drawing = plant({ "README.md": "```\na -> b\n```\n", [LIST]: "{}" });
  expect(runTool(SCRIPT, [], drawing).output).toContain("1 snippets in text have no source");
  const gone = plant({ "README.md": "# Page\n", [LIST]: JSON.stringify({ "docs/gone.md": { sh: 1 } }) });
  expect(runTool(SCRIPT, [], gone).output).toContain("there is no page docs/gone.md");
});

test("a source must be an example or a test, or named by one", () => {
  const page = "```sql source=test/storage/documented/x.sql\nSELECT 1;\n```\n";
  const files = { "docs/page.md": page, "test/storage/documented/x.sql": "SELECT 1;\n" };
  expect(runTool(SCRIPT, [], plant(files))).toMatchObject({
    status: 1,
    output: expect.stringContaining("docs/page.md:1: nothing runs test/storage/documented/x.sql"),
  });
  const named = plant({ ...files, "test/storage/x.test.ts": 'read("documented/x.sql");\n' });
  expect(runTool(SCRIPT, [], named)).toEqual({ status: 0, output: "1 snippets, 0 wrong\n" });
});
