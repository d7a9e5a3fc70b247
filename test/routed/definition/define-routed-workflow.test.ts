import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../../src/errors.js";
import {
  defineRoutedWorkflow,
  type RoutedWorkflowInput,
  routedWorkflows,
} from "../../../src/workflow/files/define-routed-workflow.js";

const garden = defineRoutedWorkflow({
  name: "GARDEN",
  goal: "Peas.",
  steps: [
    { name: "Dig", guidance: "Then sow.", instructions: "Dig.", next: ["Sow"], maxVisits: 2 },
    { name: "Sow", guidance: "Then finish.", instructions: "Sow.", next: ["Dig", "FINISH"] },
  ],
});

describe("a routed workflow defined in code", () => {
  it("is the same as one in a folder", () => {
    expect(garden).toMatchObject({ name: "GARDEN", goal: "Peas.", index: "# GARDEN\n\nPeas.\n\n1. Dig\n2. Sow" });
    expect(garden.steps[0].content).toBe("# Orchestrator Guidance\n\nThen sow.\n\n# Client Instructions\n\nDig.");
    expect(garden.revision).toMatch(/^[0-9a-f]{12}$/);
  });

  it("has another revision if any part changes", () => {
    const steps = [{ name: "Dig", guidance: "Then sow!", instructions: "Dig." }] as const;
    const other = defineRoutedWorkflow({ name: "GARDEN", steps });
    expect(other.revision).not.toBe(garden.revision);
    expect(defineRoutedWorkflow({ name: "GARDEN", steps }).revision).toBe(other.revision);
  });

  it("accepts only its own steps as next", () => {
    const dig = { name: "Dig", guidance: "g", instructions: "i" } as const;
    // @ts-expect-error: there is no step Weed
    const define = () => defineRoutedWorkflow({ name: "G", steps: [{ ...dig, next: ["Weed"] }] });
    expect(define).toThrow("leads to");
  });

  it("is refused with all of its errors", () => {
    const input: RoutedWorkflowInput = {
      name: "a/b",
      steps: [
        { name: "FINISH", guidance: " ", instructions: "" },
        { name: "dig in", guidance: "g", instructions: "i", next: [], maxVisits: 0.5 },
        { name: "dig in", guidance: "g", instructions: "i", next: ["Weed"] },
      ],
    };
    try {
      defineRoutedWorkflow(input);
      expect.unreachable();
    } catch (error) {
      const diagnostics = isPhasegateError(error, "DEFINITION_INVALID") ? error.details.diagnostics : [];
      expect(diagnostics).toHaveLength(8);
    }
  });

  it("is refused if plain JavaScript passes something else", () => {
    const step = { name: "Dig", guidance: "g", instructions: "i" };
    for (const [input, said] of [
      [undefined, "the workflow must be an object, not undefined"],
      [{ name: "G" }, "the workflow.steps is missing"],
      [{ name: "G", steps: [] }, "there is no step"],
      [{ name: "G", goal: 5, steps: [step] }, "the workflow.goal must be a text, not 5"],
      [{ name: "G", steps: [null] }, "steps[0] must be an object, not null"],
      [{ name: "G", steps: [{}] }, "steps[0].name is missing"],
      [{ name: "G", steps: [{ ...step, next: "Dig" }] }, 'steps[0].next must be a list of texts, not "Dig"'],
    ] as const) {
      // @ts-expect-error: plain JavaScript may pass anything.
      expect(() => defineRoutedWorkflow(input)).toThrow(
        expect.objectContaining({ code: "DEFINITION_INVALID", message: expect.stringContaining(said) }),
      );
    }
  });

  it("may have steps whose names resemble others, and a step Finish", () => {
    const step = { guidance: "g", instructions: "i" };
    const names = ["C++", "C#", "dig in", "Dig-in", "Finish"] as const;
    const { steps } = defineRoutedWorkflow({
      name: "Größe (Entwurf)",
      steps: [{ name: "C", ...step, next: ["C++", "Finish", "FINISH"] }, ...names.map((name) => ({ name, ...step }))],
    });
    expect(steps.map(({ name }) => name)).toEqual(["C", ...names]);
  });

  it("may have gates with defaults for what they omit", () => {
    const steps = [
      { name: "Dig", guidance: "g", instructions: "i", gate: { fields: [{ name: "depth", rules: ["value > 30"] }] } },
    ] as const satisfies RoutedWorkflowInput["steps"];
    const [dig] = defineRoutedWorkflow({ name: "GARDEN", steps }).steps;
    const rules = [{ source: "value > 30", cel: "value > 30" }];
    expect(dig.gate).toEqual({
      ...{ kind: "fields", source: "gate-file", strict: true },
      fields: [{ name: "depth", type: "any", required: true, rules }],
    });
  });

  it.each([
    [true, { allowOverride: true }],
    [false, {}],
  ])("has a gate with allowOverride %s, which is kept only if it is true", (allowOverride, kept) => {
    const gate = { allowOverride, fields: [{ name: "depth" }] };
    const [dig] = defineRoutedWorkflow({
      name: "GARDEN",
      steps: [{ name: "Dig", guidance: "g", instructions: "i", gate }],
    }).steps;
    expect(dig?.gate).toEqual({
      ...{ kind: "fields", source: "gate-file", strict: true, ...kept },
      fields: [{ name: "depth", type: "any", required: true }],
    });
  });

  it("is refused with an invalid gate", () => {
    for (const gate of [
      { evidence_schema: { depth: { type: "integer" } } },
      { fields: [{ type: "integer" }] },
      { fields: [{ name: "depth", requird: false }] },
      { fields: [{ name: "depth", rules: [{ source: "a", cel: "true", mesage: "b" }] }] },
      { fields: [{ name: "depth" }], aproval: { prompt: "Good?" } },
      { fields: [{ name: "depth" }], approval: { prompt: "Good?", aprovers: ["ann"] } },
      "deep",
    ]) {
      // Plain JavaScript is not checked by the compiler.
      const step = { name: "Dig", guidance: "g", instructions: "i", gate: gate as unknown as { fields: [] } };
      expect(() => defineRoutedWorkflow({ name: "GARDEN", steps: [step] })).toThrow(
        expect.objectContaining({ code: "DEFINITION_INVALID", message: expect.stringMatching(/step "Dig": gate/) }),
      );
    }
  });

  it.each([
    [7, "gate.rules.0: Invalid input: expected string or object, received number"],
    [{ source: 1, cel: "true" }, "gate.rules.0.source: Invalid input: expected string, received number"],
    [{ source: "a", cel: "true", mesage: "b" }, 'gate.rules.0: Unrecognized key: "mesage"'],
  ])("says what is wrong with a rule that may have two forms: %j", (rule, said) => {
    const gate = { fields: [{ name: "depth" }], rules: [rule] } as unknown as { fields: [] };
    const step = { name: "Dig", guidance: "g", instructions: "i", gate };
    expect(() => defineRoutedWorkflow({ name: "GARDEN", steps: [step] })).toThrow(
      expect.objectContaining({ message: expect.stringContaining(said) }),
    );
  });

  it("is refused with a `since`, which names a phase", () => {
    const verify = [{ verifier: "changed_since_phase_start", params: { path: "a", since: { phase: 1 } } }];
    const step = { name: "Dig", guidance: "g", instructions: "i", gate: { fields: [], verify } };
    expect(() => defineRoutedWorkflow({ name: "GARDEN", steps: [step] })).toThrow(
      expect.objectContaining({
        message: expect.stringContaining("`since` can't name a phase here: a routed workflow has steps"),
      }),
    );
  });

  it("is refused with an unknown key instead of a gate", () => {
    const step = { name: "Dig", guidance: "g", instructions: "i", gates: { fields: [{ name: "depth" }] } };
    expect(() => defineRoutedWorkflow({ name: "GARDEN", steps: [step] })).toThrow(
      expect.objectContaining({ message: expect.stringContaining('has no key "gates"; did you mean gate?') }),
    );
  });

  it("is found by name", async () => {
    const source = routedWorkflows(garden);
    expect(await source.definition("GARDEN")).toBe(garden);
    expect(await source.definition("NONE")).toBeUndefined();
    expect((await source.list()).map(({ name, status }) => [name, status])).toEqual([["GARDEN", "ready"]]);
  });
});
