import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { defineWorkflow, MemoryContent } from "phasegate";
import { FileContent } from "phasegate/fs";
import type { FieldInput } from "phasegate/gate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { requiredFormat } from "../../src/gate/format.js";
import { evidenceForm } from "../../src/gate/forms.js";
import { isJsonObject, type JsonValue } from "../../src/workflow/json.js";
import { judge } from "../gate/rules.js";
import { workflowTool } from "../support/fits-schema.js";
import { howOften } from "../support/how-often.js";
import { makeEngine } from "../support/make-engine.js";
import { makePlanned } from "../support/planned.js";
import { submitTo } from "../support/submit.js";

type Gate = NonNullable<Parameters<typeof defineWorkflow>[0]["phases"][number]["gate"]>;
type Value = Record<string, unknown>;

const isObject = (value: unknown): value is Value =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns all objects in a value, at any depth. */
function objectsIn(value: unknown): Value[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  return isObject(value) ? [value, ...inner] : inner;
}

/** Returns the values that answers show for a field: under its name, and as examples of it. */
function valuesFor(name: string, answers: readonly Value[]): unknown[] {
  const named = answers.flatMap(objectsIn).flatMap((object) => {
    if (!Object.hasOwn(object, name)) return [];
    const value = object[name];
    return isObject(value) && Array.isArray(value.examples) ? value.examples : [value];
  });
  const told = answers.flatMap(objectsIn).flatMap((object) => (object.field === name ? [object.example] : []));
  return [...named, ...told].filter((value) => value !== undefined && !isObject(value));
}

/** Starts a session at a gate, and hands back whatever the answers hold: whole, and put together by the names of fields. */
async function handBack(gate: Gate, names: readonly string[]) {
  const about = { type: "small", name: "Small", description: "A small one", version: "1", revision: "1" };
  const phases = [{ number: 1, name: "One", content: "# One", gate }];
  const content = new MemoryContent({ workflows: [defineWorkflow({ ...about, phases })] });
  const { engine } = makeEngine({ content, limits: { maxAttempts: 10_000, maxAttemptsTotal: 10_000 } });
  const tool = workflowTool(engine);
  const started = await tool.dispatch({ action: "start", workflow_type: "small", target_file: "a.ts" });
  const { session_id } = started;
  const submit = (evidence: Value) => tool.dispatch({ action: "complete_phase", session_id, phase: 1, evidence });
  const shown = await tool.dispatch({ action: "get_phase", session_id });
  const answers: Value[] = [started, shown, await submit({})];
  answers.push(await submit({ [names[0] ?? "x"]: null }), await tool.dispatch({ action: "get_errors", session_id }));
  answers.push(
    await tool.dispatch({ action: "list_workflows" }),
    await tool.dispatch({ action: "get_state", session_id }),
  );
  const longest = Math.max(...names.map((name) => valuesFor(name, answers).length));
  const assembled = Array.from({ length: longest }, (_, at) =>
    Object.fromEntries(names.map((name) => [name, valuesFor(name, answers).at(at)])),
  );
  for (const evidence of [...answers.flatMap(objectsIn), ...assembled]) {
    const answer = await submit(evidence);
    expect(answer.checkpoint_passed === true, JSON.stringify(evidence)).toBe(false);
  }
  return { answers, submit };
}

const BUILT: Gate = {
  evidence: z.object({ failing_test: z.string(), keywords: z.array(z.string()).min(10), passed: z.int().min(1) }),
};

describe("an agent that hands back what an answer holds", () => {
  it("passes no gate of fields", async () => {
    const field = fc.constantFrom<FieldInput>(
      { type: "string" },
      { type: "string", validator: "min_length_20" },
      { type: "string", example: "all of it" },
      { type: "list", example: ["a.ts"] },
      { type: "list", validator: "min_length_10" },
      { type: "integer", validator: "greater_than_0" },
      { type: "integer", example: 3 },
      { type: "number", validator: "between_0_and_1" },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(field, { minLength: 1, maxLength: 4 }), async (list) => {
        const fields = Object.fromEntries(list.map((one, index) => [`field_${index}`, one]));
        await handBack({ fields }, Object.keys(fields));
      }),
      { numRuns: howOften(10, 300) },
    );
  });

  it("passes no gate with a schema", async () => {
    const schema = fc.constantFrom<z.ZodType>(
      ...[z.string(), z.string().min(12), z.url(), z.iso.date(), z.string().regex(/^v\d+$/), z.int().min(1)],
      ...[
        z.number().gt(0).lt(1),
        z.array(z.string()).min(10),
        z.array(z.int()).min(2),
        z.literal("done").or(z.string()),
      ],
      ...[z.string().meta({ examples: ["all of it"] }), z.object({ file: z.string(), line: z.int() })],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(schema, { minLength: 1, maxLength: 4 }), async (list) => {
        const shape = Object.fromEntries(list.map((one, index) => [`field_${index}`, one]));
        await handBack({ evidence: z.object(shape) }, Object.keys(shape));
      }),
      { numRuns: howOften(10, 300) },
    );
  });

  it("passes no gate with what the answer of the gate before it holds", async () => {
    const about = { type: "two", name: "Two", description: "Two gates", version: "1", revision: "1" };
    const fields: Record<string, FieldInput> = {
      cause: { type: "object", example: { file: "src/a.ts", line: 2, quote: "return a - b;" } },
      found: { type: "list", example: [{ file: "src/a.ts", line: 2 }] },
    };
    const phases = [
      { number: 1, name: "One", content: "# One" },
      { number: 2, name: "Two", content: "# Two", gate: { fields } },
    ];
    const content = new MemoryContent({ workflows: [defineWorkflow({ ...about, phases })] });
    const { engine } = makeEngine({ content, limits: { maxAttempts: 1000, maxAttemptsTotal: 1000 } });
    const tool = workflowTool(engine);
    const { session_id } = await tool.dispatch({ action: "start", workflow_type: "two", target_file: "a.ts" });
    const submit = (phase: number, evidence: Value) =>
      tool.dispatch({ action: "complete_phase", session_id, phase, evidence });
    const opened = await submit(1, { summary: "looked around" });
    const place = { file: "<text>", line: "<integer>" };
    expect(opened).toMatchObject({
      phase_content: { checkpoint: { evidence_schema: { required: ["cause", "found"] } } },
      next: { phase: 2, evidence: { cause: { ...place, quote: "<text>" }, found: [place] } },
    });
    const refused = await submit(2, {});
    expect(refused).toMatchObject({ next: { evidence: { cause: { ...place, quote: "<text>" }, found: [place] } } });
    const examples = Object.fromEntries(Object.entries(fields).map(([name, { example }]) => [name, example]));
    for (const evidence of [examples, ...[opened, refused].flatMap(objectsIn)]) {
      const answer = await submit(2, evidence);
      expect(answer.checkpoint_passed === true, JSON.stringify(evidence)).toBe(false);
    }
  });

  it("does not pass with ten items of a list that has ten", async () => {
    const { answers, submit } = await handBack(BUILT, ["failing_test", "keywords", "passed"]);
    expect(JSON.stringify(answers)).not.toContain("item 1");
    expect(answers[1]).toMatchObject({
      next: { evidence: { keywords: "<10 or more texts>", passed: "<integer: at least 1>" } },
    });
    const keywords = Array.from("abcdefghij");
    expect(await submit({ failing_test: "rejects an empty file", keywords, passed: 3 })).toMatchObject({
      checkpoint_passed: true,
    });
  });

  it("is refused with an author's example, unless that may be right; in other letters, too", async () => {
    const fields = { tag: { type: "string", example: "v1.2.0" }, found: { type: "integer", example: 3 } } as const;
    const { submit } = await handBack({ fields }, ["tag", "found"]);
    expect(await submit({ tag: " V1.2.0 ", found: 4 })).toMatchObject({
      problems: [{ field: "tag", problem: "copied" }],
    });
    expect(await submit({ tag: "v1.3.0", found: 3 })).toMatchObject({ checkpoint_passed: true });
    const allowed = { tag: { ...fields.tag, allowExample: true } };
    const about = { type: "free", name: "Free", description: "F", version: "1", revision: "1" };
    const phases = [{ number: 1, name: "One", content: "# One", gate: { fields: allowed } }];
    const { engine } = makeEngine({
      content: new MemoryContent({ workflows: [defineWorkflow({ ...about, phases })] }),
    });
    const { sessionId } = await engine.start({ workflowType: "free", target: "a" });
    const given = { phase: 1, evidence: { tag: "v1.2.0" } };
    expect(await submitTo(engine.session(sessionId), given)).toMatchObject({ passed: true });
  });
});

/** Returns all values inside of a value. */
function valuesIn(value: unknown): unknown[] {
  return typeof value !== "object" || value === null ? [value] : [value, ...Object.values(value).flatMap(valuesIn)];
}

interface PlannedTask {
  /** True if it depends on the task before it. */
  readonly after: boolean;
  readonly optional: boolean;
  readonly noted: boolean;
}

/** Starts a session in a phase of a plan, reads all that there is to read, notes tasks as done, and submits nothing. */
async function inPlan(tasks: readonly PlannedTask[], items: number) {
  const lines = tasks.map(({ after, optional }, at) => {
    const task = `- [ ] **Task 1.${at + 1}**: Piece ${at}${optional ? " (optional)" : ""}\n`;
    return after ? `${task}  - **Dependencies**: Task 1.${at}\n` : task;
  });
  const gate = items === 0 ? "" : `\n**Validation Gate**:\n${"- [ ] It holds\n".repeat(items)}`;
  const plan = `### Phase 1: One\n\n${lines.join("")}${gate}\n### Phase 2: Two\n\n- [ ] **Task 2.1**: Last\n`;
  const limits = { maxAttempts: 10_000, maxAttemptsTotal: 10_000 };
  const { engine, start } = makePlanned({ plan, engine: { limits } });
  const tool = workflowTool(engine);
  const session_id = await start(1);
  const ask = (action: string, more: Value = {}) => tool.dispatch({ action, session_id, ...more });
  const submit = (evidence: Value) => ask("complete_phase", { phase: 1, evidence });
  const answers: Value[] = [await ask("get_phase")];
  for (const [at, { noted }] of tasks.entries()) {
    const task = { phase: 1, task_number: at + 1 };
    answers.push(await ask("get_task", task), ...(noted ? [await ask("complete_task", task)] : []));
  }
  answers.push(await ask("get_state"), await ask("get_state", { brief: true }), await ask("get_phase"));
  return { answers, submit, ask };
}

describe("the gate of a plan's phase", () => {
  it("takes nothing that an answer holds, but the tasks that were noted as done", { timeout: 60_000 }, async () => {
    const task = fc.record({ after: fc.boolean(), optional: fc.boolean(), noted: fc.boolean() });
    const open = fc.constant({ after: false, optional: false, noted: false });
    await fc.assert(
      fc.asyncProperty(open, fc.array(task, { maxLength: 3 }), fc.nat({ max: 2 }), async (first, more, items) => {
        const { answers, submit, ask } = await inPlan([first, ...more], items);
        answers.push(await submit({}), await submit({ tasks_completed: ["1.9"] }), await ask("get_errors"));
        const values = [...new Map(answers.flatMap(valuesIn).map((value) => [JSON.stringify(value), value])).values()];
        const [all, holds] = [["1.1", "1.2", "1.3", "1.4"], { 1: true, 2: true }];
        for (const value of values) {
          const lies = [
            ...(isObject(value) ? [value] : []),
            { tasks_completed: value, validation_gate: holds },
            ...(items > 0 ? [{ tasks_completed: all, validation_gate: value }] : []),
          ];
          for (const lie of lies) {
            expect((await submit(lie)).checkpoint_passed === true, JSON.stringify(lie)).toBe(false);
          }
        }
      }),
      { numRuns: howOften(5, 150) },
    );
  });

  it("lets an honest agent through with the tasks that were noted one by one, and those in the evidence", async () => {
    const noted = { after: false, optional: false, noted: true };
    const { answers, submit } = await inPlan([noted, noted, { ...noted, optional: true }], 0);
    const next = answers.at(-1)?.next;
    expect(next).toMatchObject({
      action: "complete_phase",
      evidence: { tasks_completed: expect.stringMatching(/^<.*>$/) },
    });
    expect(await submit(Object(next).evidence)).toMatchObject({ code: "EVIDENCE_UNSAFE" });
    expect(await submit({})).toMatchObject({ checkpoint_passed: true, plan_ticked: ["1.1", "1.2", "1.3"] });
    const half = await inPlan([noted, { ...noted, noted: false }], 1);
    expect(await half.submit({ validation_gate: { 1: true } })).toMatchObject({ missing_tasks: "1.2" });
    const rest = { tasks_completed: ["1.2"], validation_gate: { 1: true } };
    expect(await half.submit(rest)).toMatchObject({ checkpoint_passed: true, plan_ticked: ["1.1", "1.2"] });
  });
});

describe("a gate of a starter", () => {
  const root = fileURLToPath(new URL("../../starters", import.meta.url));
  const types = readdirSync(root, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : []));

  it.each(types)("lets no example and no form of %s through, but to a verifier", async (type) => {
    const { structure } = (await new FileContent({ roots: [root] }).definition(type)) ?? {};
    for (const { gate, number } of structure?.phases ?? []) {
      if (gate.kind !== "fields") continue;
      const { properties } = requiredFormat(gate);
      const shown = Object.entries(isJsonObject(properties) ? properties : {});
      const copied = Object.fromEntries(
        shown.flatMap(([name, schema]): [string, JsonValue][] => {
          const [example] = isJsonObject(schema) && Array.isArray(schema.examples) ? schema.examples : [];
          return example === undefined ? [] : [[name, example]];
        }),
      );
      for (const evidence of [copied, evidenceForm(gate) ?? {}]) {
        const { passed } = await judge(gate, evidence);
        const isVerified = (gate.verify ?? []).length > 0;
        expect(passed && !isVerified, `phase ${number}: ${JSON.stringify(evidence)}`).toBe(false);
      }
    }
  });
});
