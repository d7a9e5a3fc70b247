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

test("code without a source is left alone", () => {
  const folder = plant({ "README.md": "```ts\nconst x = 1;\n```\n\n```sh\nnpm install\n```\n" });
  expect(runTool(SCRIPT, [], folder)).toEqual({ status: 0, output: "0 snippets, 0 wrong\n" });
});
