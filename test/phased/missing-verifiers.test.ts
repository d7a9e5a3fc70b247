import { createEngine, definePhase, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import type { Verifier } from "phasegate/verify";
import { expect, it } from "vitest";

const about = { revision: "1", name: "W", description: "D" } as const;
const ok: Verifier = { verify: async () => ({ ok: true, message: "it is" }) };
const checked = (verifier: string) =>
  definePhase({ name: "Check", content: "", gate: { fields: { done: { type: "boolean" } }, verify: [{ verifier }] } });
const planned = defineWorkflow({
  ...{ ...about, type: "planned", phases: [] },
  dynamic: { templates: { phase: "", task: "" }, verify: [{ verifier: "of_plans" }] },
});

it("a workflow is listed with the verifiers that its engine lacks", async () => {
  const workflows = [
    defineWorkflow({ ...about, type: "both", phases: [checked("mine"), checked("other"), checked("other")] }),
    defineWorkflow({ ...about, type: "mine", phases: [checked("mine")] }),
    planned,
  ];
  const content = new MemoryContent({ workflows });
  const engine = createEngine({ storage: new MemoryStorage(), content, verifiers: { mine: ok } });
  const listed = (await engine.listWorkflows()).map(
    (one) => one.status === "ready" && [one.type, one.missingVerifiers],
  );
  expect(listed).toEqual([
    ["both", ["other"]],
    ["mine", undefined],
    ["planned", ["of_plans"]],
  ]);
});
