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

it("what an agent is shown is a form, which passes no gate: not whole, and no value of it", async () => {
  const odd = z.string().refine((text) => text === "x");
  const workflow = defineWorkflow({
    ...{ type: "examples", revision: "1", name: "E", description: "E" },
    phases: [phase(1, z.object({ ...FIELDS, odd }))],
  });
  const { ask } = await connectInMemory(makeEngine({}, [workflow]).engine);
  const { session_id } = await ask({ action: "start", workflow_type: "examples", target_file: "a.ts" });
  const { next } = await ask({ action: "get_phase", session_id });
  const { evidence } = Object(next);
  expect(evidence).toMatchObject({
    changed: "<1 or more texts>",
    version: expect.stringMatching(/^<text: matching /),
    share: "<number: more than 0; less than 1>",
    odd: "<text>",
  });
  expect(Object.keys(evidence)).toEqual([...Object.keys(FIELDS), "odd"]);
  expect(await ask({ action: "complete_phase", session_id, phase: 1, evidence })).toMatchObject({
    code: "EVIDENCE_UNSAFE",
  });
  const wrong = await ask({ action: "complete_phase", session_id, phase: 1, evidence: {} });
  expect(Object(wrong).problems.map(({ field }: { field: string }) => field)).toEqual(Object.keys(evidence));
  expect(JSON.stringify(Object(wrong).problems)).not.toContain('"example"');
});
