import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  defineWorkflow,
  type GateInput,
  isPhasegateError,
  type JsonValue,
  type PhaseInput,
  type WorkflowInput,
} from "phasegate";
import { verifierNames } from "phasegate/gate";
import { describe, expect, it } from "vitest";
import * as z from "zod";

const phase = (number: number, more: Partial<PhaseInput> = {}): PhaseInput => ({
  number,
  name: `P${number}`,
  content: "",
  ...more,
});
const input = (more: Partial<WorkflowInput>): WorkflowInput => ({
  ...{ type: "w", revision: "1", name: "W", description: "D", phases: [phase(1)] },
  ...more,
});

/** Returns the diagnostics of a refused definition. */
function problemsOf(more: Partial<WorkflowInput>): readonly string[] {
  try {
    defineWorkflow(input(more));
  } catch (error) {
    if (isPhasegateError(error, "DEFINITION_INVALID")) return error.details.diagnostics;
    throw error;
  }
  return [];
}

describe("defineWorkflow", () => {
  it("reports all problems at once", () => {
    const phases = [
      phase(2),
      phase(2),
      phase(1.5),
      phase(3, {
        tasks: [
          { number: 2, name: "a", content: "" },
          { number: 1, name: "b", content: "" },
        ],
      }),
    ];
    expect(problemsOf({ type: "../x", revision: "", startPhase: 9, phases })).toEqual([
      expect.stringContaining("type"),
      "revision is empty",
      "phase 2 follows 2: numbers must ascend",
      "phase 1.5 is not a whole number, 0 or more",
      "phase 3: task 1 follows 2: numbers must ascend",
      "startPhase 9 is not a phase of the workflow",
    ]);
    expect(problemsOf({ phases: [] })).toContain("there is no phase");
    // @ts-expect-error: plain JavaScript may leave anything out.
    expect(problemsOf({ revision: undefined, phases: [{ number: 1, name: "One" }] })).toEqual([
      "the workflow.revision is missing",
      "phases[0].content is missing",
    ]);
    expect(problemsOf({ phases: [phase(-1)] })).toHaveLength(1);
    expect(problemsOf({})).toEqual([]);
  });

  it("keeps the given values, and nothing else", () => {
    const facts = {
      category: "c",
      estimatedDuration: "d",
      targetLanguages: ["ts"],
      artifacts: ["a"],
      prerequisites: ["p"],
      tags: ["t"],
    };
    const phases = [
      phase(0, {
        purpose: "why",
        estimatedEffort: "e",
        keyDeliverables: ["k"],
        validationCriteria: ["v"],
        skippable: true,
      }),
    ];
    const { structure } = defineWorkflow(input({ ...facts, version: "2", phases })).definition;
    expect(structure).toMatchObject({ ...facts, version: "2", startPhase: 0 });
    expect(structure.phases[0]).toMatchObject({
      purpose: "why",
      keyDeliverables: ["k"],
      validationCriteria: ["v"],
      skippable: true,
    });
    expect(defineWorkflow(input({})).definition.structure.category).toBeUndefined();
  });

  it("returns texts, from strings and from functions, and undefined if there is none", async () => {
    const tasks = [{ name: "t", content: async () => "later" }];
    const workflow = defineWorkflow(input({ phases: [phase(1, { content: "now", tasks })] }));
    expect(workflow.text({ phase: 1 })).toBe("now");
    expect(await workflow.text({ phase: 1, task: 1 })).toBe("later");
    expect([workflow.text({ phase: 2 }), workflow.text({ phase: 1, task: 2 })]).toEqual([undefined, undefined]);
    const [described] = workflow.definition.structure.phases;
    expect(described?.textRevision).toMatch(/^[0-9a-f]{12}$/);
    expect(described?.tasks[0]?.textRevision).toBeUndefined();
  });

  it("uses the JSON Schema of a schema that has one, simplified, and works without one", () => {
    const gateOf = (evidence: StandardSchemaV1) =>
      defineWorkflow(input({ phases: [phase(1, { gate: { evidence } })] })).definition.structure.phases[0]?.gate;
    const n = { type: "integer" };
    const jsonSchema = { type: "object", properties: { n, small: { ...n, maximum: 5 } }, required: ["n", "small"] };
    expect(gateOf(z.object({ n: z.int(), small: z.int().max(5).min(Number.MIN_SAFE_INTEGER) }))).toMatchObject({
      jsonSchema,
    });
    const validate = (value: unknown) => ({ value });
    expect(gateOf({ "~standard": { version: 1, vendor: "mine", validate } })).toMatchObject({ jsonSchema: undefined });
    const odd = { version: 1 as const, vendor: "mine", validate, jsonSchema: { input: () => "no object" } };
    expect(gateOf({ "~standard": odd })).toMatchObject({ jsonSchema: undefined });
  });

  it("refuses unknown keys, wherever they are", () => {
    const evidence = z.object({ n: z.number() });
    // Plain JavaScript is not checked by the compiler.
    const strange: readonly (readonly [object, string])[] = [
      [
        { gate: { evidence, aproval: { prompt: "Good?" } } },
        'phase 2: gate has no key "aproval"; did you mean approval?',
      ],
      [
        { gate: { evidence, approval: { prompt: "Good?", aprovers: ["ann"] } } },
        'phase 2: gate.approval has no key "aprovers"; did you mean approvers?',
      ],
      [{ gate: { evidence, colour: "red" } }, 'phase 2: gate has no key "colour"'],
      [{ gates: { evidence } }, 'phase 2 has no key "gates"; did you mean gate?'],
      [{ skipable: true }, 'phase 2 has no key "skipable"; did you mean skippable?'],
      [
        { tasks: [{ name: "Dig", content: "", contnet: "x" }] },
        'phase 2: tasks[0] has no key "contnet"; did you mean content?',
      ],
      [
        { gate: { evidence, verify: [{ verifier: "command", parms: {} }] } },
        'phase 2: gate.verify[0] has no key "parms"; did you mean params?',
      ],
    ];
    for (const [changes, said] of strange) {
      expect(() => defineWorkflow(input({ phases: [phase(1), { ...phase(2), ...changes }] }))).toThrow(
        expect.objectContaining({ details: expect.objectContaining({ diagnostics: [said] }) }),
      );
    }
    expect(() => defineWorkflow(Object.assign(input({ phases: [phase(1)] }), { target: "some" }))).toThrow(
      'the workflow.target must be "none", not "some"',
    );
    expect(() => defineWorkflow(Object.assign(input({ phases: [phase(1)] }), { catgory: "a" }))).toThrow(
      'the workflow has no key "catgory"; did you mean category?',
    );
    const allowed = { evidence, "x-note": 1 };
    expect(defineWorkflow(input({ phases: [phase(1), { ...phase(2), gate: allowed }] })).phases).toHaveLength(2);
  });

  it("takes checks for every gate of a plan", () => {
    const templates = { phase: "p", task: "t" };
    const verify = [{ verifier: "git_clean" }, { verifier: "command", params: { argv: ["true"] } }];
    const { structure } = defineWorkflow({ ...input({ phases: [] }), dynamic: { templates, verify } }).definition;
    const checks = [
      { verifier: "git_clean", params: {} },
      { verifier: "command", params: { argv: ["true"] } },
    ];
    expect(structure.dynamic?.verify).toEqual(checks);
    expect(verifierNames(structure)).toEqual(["git_clean", "command"]);
    const wrong = { templates, verify: [{ verifier: 1 }] };
    expect(() => defineWorkflow(Object.assign(input({ phases: [phase(1)] }), { dynamic: wrong }))).toThrow(
      "dynamic.verify[0].verifier must be a text, not 1",
    );
  });

  it("refuses values of another type, wherever they are: the text 'false' counts as true", () => {
    const evidence = z.object({ n: z.number() });
    const fields = { a: { type: "boolean" } };
    const strange: readonly (readonly [object, string])[] = [
      [{ gate: { fields, allowOverride: "no" } }, 'phase 2: gate.allowOverride must be true or false, not "no"'],
      [{ gate: { fields, strict: "yes" } }, 'phase 2: gate.strict must be true or false, not "yes"'],
      [
        { gate: { evidence, reveal: "nothing" } },
        'phase 2: gate.reveal must be one of fields, names, none, not "nothing"',
      ],
      [{ gate: { evidence, verify: "git_clean" } }, 'phase 2: gate.verify must be a list, not "git_clean"'],
      [{ gate: { evidence, verify: ["git_clean"] } }, 'phase 2: gate.verify[0] must be an object, not "git_clean"'],
      [{ gate: { evidence, verify: [{}] } }, "phase 2: gate.verify[0].verifier is missing"],
      [{ gate: { evidence, approval: true } }, "phase 2: gate.approval must be an object, not true"],
      [{ gate: { evidence, approval: null } }, "phase 2: gate.approval must be an object, not null"],
      [{ gate: { evidence, approval: {} } }, "phase 2: gate.approval.prompt is missing"],
      [
        { gate: { evidence, approval: { prompt: "Good?", approvers: "ann" } } },
        'phase 2: gate.approval.approvers must be a list of texts, not "ann"',
      ],
      [
        { gate: { fields: { a: { required: "false" } } } },
        'phase 2: gate.fields.a.required must be true or false, not "false"',
      ],
      [
        { gate: { fields: { a: { waivable: "false" } } } },
        'phase 2: gate.fields.a.waivable must be true or false, not "false"',
      ],
      [{ gate: null }, "phase 2: gate must be an object, not null"],
      [{ skippable: "no" }, 'phases[1].skippable must be true or false, not "no"'],
      [{ tasks: ["dig"] }, 'phases[1].tasks[0] must be an object, not "dig"'],
      [{ tasks: [{ content: "x" }] }, "phases[1].tasks[0].name is missing"],
      [
        { gate: { evidence: z.object({ a: z.object({ b: z.boolean().meta({ waiveable: false }) }) }) } },
        'phase 2: gate.evidence: the metadata "waiveable" has no meaning; did you mean waivable?',
      ],
      [
        { gate: { evidence: z.object({ a: z.boolean().meta({ id: "A", waivable: "false" }) }) } },
        'phase 2: gate.evidence: the metadata waivable must be true or false, not "false"',
      ],
    ];
    for (const [changes, said] of strange) {
      expect(() => defineWorkflow(input({ phases: [phase(1), { ...phase(2), ...changes }] }))).toThrow(
        expect.objectContaining({ details: expect.objectContaining({ diagnostics: [said] }) }),
      );
    }
    for (const [whole, said] of [
      [null, "the workflow must be an object, not null"],
      [{}, "the workflow.phases is missing"],
      [{ phases: [null] }, "phases[0] must be an object, not null"],
    ] as const) {
      // @ts-expect-error: plain JavaScript may pass anything.
      expect(() => defineWorkflow(whole)).toThrow(said);
    }
    const dynamic = { templates: { phase: "p", task: "t" }, enforceDependencies: "no" };
    expect(() => defineWorkflow(Object.assign(input({ phases: [phase(1)] }), { dynamic }))).toThrow(
      'dynamic.enforceDependencies must be true or false, not "no"',
    );
  });

  it("reports values that a session's log could not hold, and texts that are none", () => {
    const plain = (changes: object) => () => defineWorkflow(Object.assign(input({ phases: [phase(1)] }), changes));
    const task = { name: "a", content: "", purpose: 3 };
    for (const [changes, said] of [
      [{ name: 5 }, "the workflow.name must be a text, not 5"],
      [{ description: null }, "the workflow.description must be a text, not null"],
      [{ revision: 5 }, "the workflow.revision must be a text, not 5"],
      [{ version: 2 }, "the workflow.version must be a text, not 2"],
      [{ tags: "abc" }, 'the workflow.tags must be a list of texts, not "abc"'],
      [{ prerequisites: [1] }, "the workflow.prerequisites must be a list of texts, not [1]"],
      [{ documents: "abc" }, 'the workflow.documents must be an object, not "abc"'],
      [{ documents: { "a.md": 5 } }, "documents.a.md must be a text, or a function that returns one, not 5"],
      [{ phases: [{ ...phase(1), name: 7 }] }, "phases[0].name must be a text, not 7"],
      [
        { phases: [{ ...phase(1), keyDeliverables: "ab" }] },
        'phases[0].keyDeliverables must be a list of texts, not "ab"',
      ],
      [{ phases: [{ ...phase(1), tasks: [task] }] }, "phases[0].tasks[0].purpose must be a text, not 3"],
    ] as const) {
      expect(plain(changes)).toThrow(said);
    }
    for (const changes of [{ description: "", tags: [] }, { documents: { "a.md": () => "a" } }]) {
      expect(plain(changes)).not.toThrow();
    }
  });

  it("reports a `since` that names no earlier phase", () => {
    const since = (given: JsonValue, verifier = "unchanged_since_phase_start") => {
      const gate = { evidence: z.object({}), verify: [{ verifier, params: { path: "a", since: given } }] };
      return problemsOf({ phases: [phase(1), phase(3, { gate }), phase(4)], startPhase: 1 });
    };
    expect(since({ phase: 1 })).toEqual([]);
    expect(since({ phase: 2 })).toEqual([
      "phase 3: gate.verify[0]: `since` names phase 2, which does not exist. Write one of the phases before: 1 (P1). Without `since` the check compares with the start of its own phase.",
    ]);
    expect(since({ phase: 4 })).toEqual([
      expect.stringContaining("`since` names phase 4, which is not before phase 3"),
    ]);
    expect(since(1)).toEqual([expect.stringContaining("`since` must name a phase, or the start")]);
    expect(since("P1")).toEqual([]);
    expect(since({ phase: "p1" })).toEqual([]);
    expect(since("P4")).toEqual([expect.stringContaining('`since` names the phase "P4", which is not before phase 3')]);
    expect(since("P7")).toEqual([
      expect.stringContaining(
        '`since` names the phase "P7", which does not exist. Write one of the phases before: 1 (P1)',
      ),
    ]);
    // A verifier of the host's may mean something else by it.
    expect(since("2026-01-01", "own")).toEqual([]);
    const gate = { evidence: z.object({}), verify: [{ verifier: "own", params: { since: { phase: 1 } } }] };
    expect(problemsOf({ phases: [phase(1), phase(2), phase(3, { gate })], startPhase: 2 })).toEqual([
      expect.stringContaining("`since` names phase 1, which no session passes: they begin with phase 2"),
    ]);
  });

  it("reports what is wrong with a gate without a schema", () => {
    for (const [evidence, said] of [
      [undefined, "is missing"],
      [null, "must be a Standard Schema, not null"],
      [1, "must be a Standard Schema, not 1"],
      [{ n: 1 }, 'must be a Standard Schema, not {"n":1}'],
    ] as const) {
      // Plain JavaScript is not checked by the compiler.
      const gate = { evidence } as unknown as GateInput;
      expect(() => defineWorkflow(input({ phases: [phase(1), phase(2, { gate })] }))).toThrow(
        expect.objectContaining({
          code: "DEFINITION_INVALID",
          details: expect.objectContaining({
            diagnostics: [`phase 2: gate.evidence ${said}`],
          }),
        }),
      );
    }
  });
});
