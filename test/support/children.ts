/** A workflow whose second phase is another one: a review of what the first gives, or of each of its files. */
import { createEngine, defineWorkflow, type Engine, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import type { ChildGateInput } from "../../src/workflow/workflow-input.js";

export const review = defineWorkflow({
  ...{ type: "review", revision: "1", name: "Review", description: "Looks at one file." },
  options: z.object({ depth: z.string().default("short") }),
  phases: [
    { name: "Read it", content: "Read {options.depth}.", gate: { fields: { lines: { type: "integer" } } } },
    { name: "Verdict", content: "Say it.", gate: { fields: { approved: { type: "boolean" } } } },
  ],
});

/** A workflow whose second phase is a review: of what it gives, or of each of the files. */
export function parentOf(gate: Partial<ChildGateInput>) {
  const reviewed: ChildGateInput = { workflow: "review", ...gate };
  return defineWorkflow({
    ...{ type: "feature", revision: "1", name: "Feature", description: "Builds and has it reviewed." },
    phases: [
      { name: "Build", content: "Build.", gate: { fields: { files: { type: "list" }, main: { type: "string" } } } },
      { name: "Review", content: "Have it reviewed.", gate: reviewed },
      {
        name: "Ship",
        content: "Ship.",
        gate: { fields: { ok: { type: "boolean" } }, crossFieldValidation: ["has(artifacts.review)"] },
      },
    ],
  });
}

export const EACH = { forEach: "artifacts.build.files", target: { rule: "item" } };
export const MAIN = {
  target: { rule: "artifacts.build.main" },
  options: { depth: { rule: '"deep: " + session.target' } },
};

export function engineWith(gate: Partial<ChildGateInput>, storage: StorageAdapter = new MemoryStorage()): Engine {
  return createEngine({ storage, content: new MemoryContent({ workflows: [parentOf(gate), review] }) });
}

/** Returns a session in its second phase. */
export async function built(
  gate: Partial<ChildGateInput>,
  files: readonly string[] = ["src/a.ts", "src/b.ts"],
  storage?: StorageAdapter,
) {
  const engine = engineWith(gate, storage);
  const { sessionId } = await engine.start({ workflowType: "feature", target: "src" });
  const session = engine.session(sessionId);
  await session.completePhase(1, { files, main: "src/main.ts" });
  return { engine, session };
}

export async function complete(engine: Engine, sessionId: string, lines = 7): Promise<void> {
  await engine.session(sessionId).completePhase(1, { lines });
  await engine.session(sessionId).completePhase(2, { approved: true });
}
