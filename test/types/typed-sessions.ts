/**
 * Code that the compiler must accept or refuse. `tsc` checks this file; an unused `@ts-expect-error` is an
 * error, so each of them is a test that can fail.
 */
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

const workflow = defineWorkflow({
  type: "typed",
  revision: "1",
  name: "Typed",
  description: "Two phases with schemas, one without",
  phases: [
    { number: 1, name: "One", content: "", gate: { evidence: z.object({ tests: z.int(), ok: z.literal(true) }) } },
    { number: 3, name: "Three", content: "", gate: { evidence: z.object({ when: z.string().transform(Number) }) } },
    { number: 4, name: "Four", content: "" },
  ],
});

const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [workflow] }) });

export async function typed(id: string): Promise<void> {
  const session = engine.session(workflow, id);
  await session.completePhase(1, { tests: 3, ok: true });
  // The input type of a schema is required, not its output type.
  await session.completePhase(3, { when: "3" });
  await session.completePhase(4, { anything: ["at all"] });
  await session.phase(3);
  await session.rollback(1);

  // @ts-expect-error a field is missing
  await session.completePhase(1, { tests: 3 });
  // @ts-expect-error a field is false that must be true
  await session.completePhase(1, { tests: 3, ok: false });
  // @ts-expect-error a field that the schema doesn't know
  await session.completePhase(1, { tests: 3, ok: true, more: 1 });
  // @ts-expect-error the evidence of another phase
  await session.completePhase(3, { tests: 3, ok: true });
  // @ts-expect-error the output of the schema
  await session.completePhase(3, { when: 3 });
  // @ts-expect-error there is no phase 2
  await session.completePhase(2, {});
  // @ts-expect-error there is no phase 5
  await session.phase(5);
  // @ts-expect-error evidence that no JSON can hold
  await session.completePhase(4, { when: new Date() });
}

const planned = defineWorkflow({
  ...{ type: "planned", revision: "1", name: "Planned", description: "Phases from a plan" },
  phases: [{ number: 0, name: "Zero", content: "", gate: { fields: { ok: { type: "boolean" } } } }],
  dynamic: { templates: { phase: "", task: "" } },
});

export async function withPlan(id: string): Promise<void> {
  const session = engine.session(planned, id);
  await session.completePhase(0, { ok: true });
  // Only the plan says which phases there are.
  await session.completePhase(7, { tasks_completed: ["7.1"] });
  // @ts-expect-error evidence that no JSON can hold
  await session.completePhase(7, { when: new Date() });
}

export async function untyped(id: string): Promise<void> {
  const session = engine.session(id);
  await session.completePhase(17, { anything: true });
  // @ts-expect-error a result must be looked at before it has problems
  (await session.completePhase(17, {})).problems.length;
  const result = await session.completePhase(17, {});
  if (!result.passed) result.problems.map(({ message }) => message);
}

// @ts-expect-error a phase needs a text
defineWorkflow({ type: "t", revision: "1", name: "n", description: "d", phases: [{ number: 1, name: "One" }] });
// @ts-expect-error a workflow needs a revision
defineWorkflow({ type: "t", name: "n", description: "d", phases: [] });
