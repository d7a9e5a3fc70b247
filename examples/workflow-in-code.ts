/**
 * A workflow composed in code: phases from a list, a gate that checks a file, and evidence that is typed for each
 * phase.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

/** A schema may be asynchronous: this one reads the file that the evidence names. */
const report = z
  .object({ path: z.literal("report.md"), findings: z.int().nonnegative() })
  .refine(async ({ path, findings }) => (await linesOf(path)) === findings, {
    message: "report.md does not have that many findings",
    path: ["findings"],
  });

async function linesOf(path: string): Promise<number> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line.startsWith("- ")).length;
}

const workflow = defineWorkflow({
  type: "audit",
  revision: "2026-01",
  name: "Audit",
  description: "Look at each area, then report",
  phases: [
    {
      number: 1,
      name: "Look",
      content: "# Look at every area",
      tasks: ["Security", "Speed", "Docs"].map((area) => ({ name: area, content: `# ${area}\n\nLook at it.` })),
      gate: { evidence: z.object({ areas: z.array(z.string()).length(3) }) },
    },
    { number: 2, name: "Report", content: "# Write report.md", gate: { evidence: report } },
  ],
});

const content = new MemoryContent({ workflows: [workflow] });
const engine = createEngine({ storage: new MemoryStorage(), content });
const { sessionId } = await engine.start({ workflowType: "audit", target: "." });
const session = engine.session(workflow, sessionId);

assert.equal((await session.phase()).phase.tasks.length, 3);
await session.completePhase(1, { areas: ["Security", "Speed", "Docs"] });

const lie = await session.completePhase(2, { path: "report.md", findings: 2 });
assert.deepEqual(!lie.passed && lie.problems.map(({ field }) => field), ["findings"]);

await writeFile("report.md", "- a slow query\n- a missing page\n");
const honest = await session.completePhase(2, { path: "report.md", findings: 2 });
assert.ok(honest.passed && honest.nextPhase === null);
console.log("A claim about a file was refused until the file was there.");
