/**
 * A bug is shown by a test that fails for the right reason, and fixed without a change of the tests:
 * `examples/workflows/bug_fix_v1`.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createEngine, MemoryStorage } from "phasegate";
import { FileContent } from "phasegate/fs";
import { createVerifiers } from "phasegate/verify";

await mkdir("project/test", { recursive: true });
const write = (path: string, text: string) => writeFile(`project/${path}`, text);
const engine = createEngine({
  storage: new MemoryStorage(),
  content: new FileContent({ roots: [fileURLToPath(new URL("workflows", import.meta.url))] }),
  verifiers: await createVerifiers({ projectRoot: "project", commands: { node: process.execPath } }),
});
const { sessionId } = await engine.start({ workflowType: "bug_fix_v1", target: "add.mjs" });
const show = () => engine.session(sessionId).completePhase(1, { bug: "add(2, 2) is 0" });
const fix = () => engine.session(sessionId).completePhase(2, { cause: "it subtracts" });

await write("add.mjs", "export const add = (a, b) => a - b;\n");
await write("test/bug.test.mjs", "assert.(");
const broken = await show();
assert.ok(!broken.passed && broken.problems[0]?.message.includes("its output matches"), "a syntax error shows no bug");

const test =
  'import assert from "node:assert/strict";\nimport { add } from "../add.mjs";\n\nassert.equal(add(2, 2), 4);\n';
await write("test/bug.test.mjs", test);
assert.ok((await show()).passed);

await write("test/bug.test.mjs", test.replace("4", "0"));
const weakened = await fix();
assert.ok(!weakened.passed);
for (const { message, output = [] } of weakened.verification ?? []) console.log([message, ...output].join("\n  "));

await write("test/bug.test.mjs", test);
await write("add.mjs", "export const add = (a, b) => a + b;\n");
assert.ok((await fix()).passed);
await engine.close();
