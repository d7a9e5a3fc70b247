import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { expect, it } from "vitest";

it("of many checks with long outputs, the log keeps a bounded part of all together", async () => {
  const checks = Array.from({ length: 300 }, (_, at) => ({ verifier: "long", params: { at } }));
  const workflow = defineWorkflow({
    ...{ type: "long", revision: "1", name: "Long", description: "Has many checks." },
    phases: [{ name: "Check", content: "Check.", gate: { fields: {}, verify: checks } }],
  });
  const output = Array.from({ length: 50 }, (_, at) => `not ok ${at} ${"x".repeat(400)}`);
  const verifiers = { long: { verify: async () => ({ ok: false, message: "no", output }) } };
  const content = new MemoryContent({ workflows: [workflow] });
  const engine = createEngine({ storage: new MemoryStorage(), content, verifiers });
  const { sessionId } = await engine.start({ workflowType: "long", target: "a" });
  const { verification = [] } = await engine.session(sessionId).completePhase(1, {});
  expect(verification).toHaveLength(300);
  const characters = verification.flatMap((one) => one.output ?? []).join("\n").length;
  expect(characters).toBeLessThanOrEqual(64 * 1024);
});
