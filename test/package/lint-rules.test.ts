import { expect, test } from "vitest";
import { plant, runTool } from "./run-tool.js";

const BIOME = "node_modules/@biomejs/biome/bin/biome";

test.each([
  ["zod by name", 'import { z } from "zod";\n\nexport const schema = z.string();\n', "noRestrictedImports"],
  ["zod's default", 'import z from "zod";\n\nexport const schema = z.string();\n', "noRestrictedImports"],
  ["a type of zod by name", 'import type { ZodType } from "zod";\n\nexport type A = ZodType;\n', "noRestrictedImports"],
  ["zod handed on", 'export { z } from "zod";\n', "noRestrictedImports"],
  ["zod's other doors", 'import * as z from "zod/v4";\n\nexport const schema = z.string();\n', "noRestrictedImports"],
  ["any", "export function anything(value: any): void {\n  void value;\n}\n", "noExplicitAny"],
  ["an export of everything", 'export * from "./names.js";\n', "noReExportAll"],
  ["a default export", "export default 1;\n", "noDefaultExport"],
  ["a value assumed to be there", "export const first = (list: string[]) => list[0]!.length;\n", "noNonNullAssertion"],
  ["single quotes", "export const name = 'gate';\n", "format"],
  ["four spaces", "export function name() {\n    return 1;\n}\n", "format"],
])("%s is refused", (_what, code, rule) => {
  const { status, output } = lint(code);
  expect(output).toContain(rule);
  expect(status).not.toBe(0);
});

test.each([
  ["zod as a namespace", 'import * as z from "zod";\n\nexport const schema = z.string();\n'],
  ["zod's types as a namespace", 'import type * as z from "zod";\n\nexport type A = z.ZodType;\n'],
  ["a line of 120 characters", `export const text = "${"x".repeat(97)}";\n`],
])("%s is fine", (_what, code) => {
  expect(lint(code)).toMatchObject({ status: 0 });
});

function lint(code: string) {
  return runTool(
    BIOME,
    ["ci", "--colors=off", "--vcs-enabled=false", "src"],
    plant({ "src/planted.ts": code }, ["biome.jsonc", "scripts/effects.grit"]),
  );
}
