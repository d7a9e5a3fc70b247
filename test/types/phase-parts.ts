/** Code with phases as parts that the compiler must accept or refuse, as in typed-sessions.ts. */
import { createEngine, definePhase, defineWorkflow, MemoryContent, MemoryStorage, type PhaseInput } from "phasegate";
import * as z from "zod";

const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [] }) });

const about = { revision: "1", description: "Composed" } as const;
const test = definePhase({ name: "Test", content: "", gate: { evidence: z.object({ passed: z.literal(true) }) } });
const ship = definePhase({
  name: "Ship",
  content: "",
  gate: {
    fields: {
      tag: { type: "string" },
      files: { type: "list" },
      count: { type: "integer" },
      shipped: { type: "boolean" },
      more: { type: "object", required: false },
      other: {},
    },
    crossFieldValidation: ["artifacts.test.passed"],
  },
});
const review = defineWorkflow({
  ...{ ...about, type: "review", name: "Review" },
  phases: [
    { name: "Read", content: "", gate: { fields: { notes: { type: "string" } } } },
    { name: "Judge", content: "" },
  ],
});
const all = defineWorkflow({ ...{ ...about, type: "all", name: "All" }, phases: [test, ...review.phases, ship] });

export async function byPlace(id: string): Promise<void> {
  const session = engine.session(all, id);
  await session.completePhase(1, { passed: true });
  await session.completePhase(2, { notes: "read" });
  await session.completePhase(3, { anything: 1 });
  await session.completePhase(4, { tag: "v1", files: ["a", 1], count: 1, shipped: true, more: { a: 1 }, other: [1] });
  await session.completePhase(4, { tag: "v1", files: [], count: 1, shipped: true, other: null });
  await session.phase(4);

  // @ts-expect-error the evidence of phase 2
  await session.completePhase(1, { notes: "read" });
  // @ts-expect-error the wrong type of a field
  await session.completePhase(2, { notes: 1 });
  // @ts-expect-error a field that the gate doesn't ask for
  await session.completePhase(2, { notes: "read", other: 1 });
  // @ts-expect-error required fields are missing
  await session.completePhase(4, { tag: "v1" });
  // @ts-expect-error `more` is an object
  await session.completePhase(4, { tag: "v1", files: [], count: 1, shipped: true, other: 1, more: 1 });
  // @ts-expect-error there is no phase 0
  await session.completePhase(0, {});
  // @ts-expect-error there is no phase 5
  await session.phase(5);
}

const some: readonly PhaseInput[] = [];
const spread = defineWorkflow({ ...{ ...about, type: "some", name: "Some" }, phases: [test, ...some, ship] });

export async function ofUnknownLength(id: string): Promise<void> {
  const session = engine.session(spread, id);
  await session.completePhase(1, { anything: 1 });
  await session.completePhase(17, { anything: 1 });
  // @ts-expect-error evidence that no JSON can hold
  await session.completePhase(17, { when: new Date() });
}

const wide: Record<string, { type: "string" }> = {};
const fields = defineWorkflow({
  ...{ ...about, type: "wide", name: "Wide" },
  phases: [
    { name: "Wide", content: "", gate: { fields: wide } },
    { name: "Maybe", content: "", gate: { fields: { a: { type: "string", required: Math.random() > 0.5 } } } },
  ],
});

export async function ofUnknownFields(id: string): Promise<void> {
  const session = engine.session(fields, id);
  await session.completePhase(1, { anything: 1 });
  await session.completePhase(2, {});
  await session.completePhase(2, { a: "a" });
}

const mine = { name: "n", content: "" } as const;
const any = { ...about, type: "t", name: "n" } as const;
const dynamic = { templates: { phase: "", task: "" } };
const string = { type: "string" } as const;

definePhase({ ...mine, "x-mine": 1, gate: { fields: { a: string }, "x-mine": 1 } });
// @ts-expect-error a phase as a part has no number
definePhase({ ...mine, number: 1 });
// @ts-expect-error a phase has no such key
definePhase({ ...mine, gates: {} });
// @ts-expect-error a gate with fields has no such key
definePhase({ ...mine, gate: { fields: { a: string }, crossFieldValidaton: ["evidence.a != ''"] } });
// @ts-expect-error a gate with a schema has no such key
definePhase({ ...mine, gate: { evidence: z.object({}), crossFieldValidation: ["evidence.a != ''"] } });
// @ts-expect-error a gate has a schema or fields
definePhase({ ...mine, gate: { evidence: z.object({}), fields: { a: string } } });
// @ts-expect-error a field has no such key
definePhase({ ...mine, gate: { fields: { a: { type: "string", requird: false } } } });
// @ts-expect-error a field has no such type
definePhase({ ...mine, gate: { fields: { a: { type: "text" } } } });
// @ts-expect-error a check has no such key
definePhase({ ...mine, gate: { fields: { a: string }, verify: [{ verifier: "git_clean", feild: "a" }] } });
// @ts-expect-error a phase of a workflow has no such key
defineWorkflow({ ...any, phases: [{ ...mine, gates: {} }] });
// @ts-expect-error a gate in a workflow has no such key
defineWorkflow({ ...any, phases: [{ ...mine, gate: { fields: { a: string }, strikt: true } }] });
// @ts-expect-error a field in a workflow has no such key
defineWorkflow({ ...any, phases: [{ ...mine, number: 1, gate: { fields: { a: { typ: "string" } } } }] });
// @ts-expect-error a gate in a workflow with a plan has no such key
defineWorkflow({ ...any, dynamic, phases: [{ ...mine, number: 0, gate: { strikt: true } }] });
// @ts-expect-error a workflow has no such key
defineWorkflow({ ...any, phases: [mine], startAt: 1 });
