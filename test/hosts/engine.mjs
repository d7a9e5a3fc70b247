/** The engine of all hosts. */
// #region engine
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

const release = defineWorkflow({
  ...{ type: "release", revision: "1", name: "Release", description: "Test, then ship" },
  phases: [
    { number: 1, name: "Test", content: "Run the tests.", gate: { evidence: z.object({ passed: z.int().min(1) }) } },
    { number: 2, name: "Ship", content: "Tag it.", gate: { evidence: z.object({ tag: z.string().min(2) }) } },
  ],
});
export const engine = createEngine({
  storage: new MemoryStorage(),
  content: new MemoryContent({ workflows: [release] }),
});
// #endregion engine
