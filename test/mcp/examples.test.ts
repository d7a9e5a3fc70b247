import { defineWorkflow } from "phasegate";
import { expect, it } from "vitest";
import * as z from "zod";
import { makeEngine } from "../support/make-engine.js";
import { connectInMemory } from "./connect-in-memory.js";

const FIELDS = {
  changed: z.array(z.string()).min(1),
  page: z.url(),
  day: z.iso.date(),
  version: z.string().regex(/^v\d+\.\d+$/),
  ticket: z.templateLiteral(["ABC-", z.int()]),
  share: z.number().gt(0).lt(1),
};

const phase = (number: number, evidence: z.ZodObject) => ({
  ...{ number, name: `Phase ${number}`, content: "x", gate: { evidence } },
});

it("examples of evidence, as an agent gets them, pass the schema that they come from", async () => {
  const workflow = defineWorkflow({
    ...{ type: "examples", revision: "1", name: "E", description: "E" },
    phases: [
      phase(1, z.object(FIELDS)),
      phase(2, z.object({ ...FIELDS, odd: z.string().refine((text) => text === "x") })),
    ],
  });
  const { ask } = await connectInMemory(makeEngine({}, [workflow]).engine);
  const { session_id } = await ask({ action: "start", workflow_type: "examples", target_file: "a.ts" });
  const { phase_content } = await ask({ action: "get_phase", session_id });
  const { evidence_example: evidence } = Object(phase_content).checkpoint;
  expect(Object.keys(evidence)).toEqual(Object.keys(FIELDS));
  const wrong = await ask({ action: "complete_phase", session_id, phase: 1, evidence: {} });
  const problems: { field: keyof typeof FIELDS; example: unknown }[] = Object(wrong).problems;
  expect(problems.map(({ field }) => field)).toEqual(Object.keys(FIELDS));
  for (const { field, example } of problems) expect(FIELDS[field].safeParse(example).error, field).toBeUndefined();
  expect(await ask({ action: "complete_phase", session_id, phase: 1, evidence })).toMatchObject({
    checkpoint_passed: true,
  });

  const next = await ask({ action: "get_phase", session_id });
  expect(Object(next).phase_content.checkpoint).not.toHaveProperty("evidence_example");
  const refused = await ask({ action: "complete_phase", session_id, phase: 2, evidence: {} });
  expect(Object(refused).problems.find(({ field }: { field: string }) => field === "odd")).not.toHaveProperty(
    "example",
  );
});
