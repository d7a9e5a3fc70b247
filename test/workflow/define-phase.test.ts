import { definePhase, defineWorkflow, isPhasegateError, type PhaseInput } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";

const about = { type: "w", revision: "1", name: "W", description: "D" } as const;
const part = (name: string) => ({ name, content: `# ${name}` }) as const;

/** Returns what is said of a wrong definition. */
function said(define: () => unknown): string {
  try {
    define();
  } catch (error) {
    if (isPhasegateError(error, "DEFINITION_INVALID")) return error.message;
    throw error;
  }
  return "";
}

describe("definePhase", () => {
  it("returns the phase as it is given", () => {
    const given = { ...part("Test"), gate: { evidence: z.object({}) } } as const;
    expect(definePhase(given)).toBe(given);
  });

  it("reports at once what is wrong with the phase alone", () => {
    const gate = { fields: { a: { type: "text" } }, crossFieldValidaton: [] };
    const wrong = { name: "Test", content: "", number: 1, gates: 1, gate, skipCondition: "No tests" };
    const problems = said(() => definePhase(Object(wrong)));
    expect(problems).toContain('the phase "Test" can\'t be used: ');
    for (const problem of [
      'has no key "gates"; did you mean gate?',
      "number is given: leave it out",
      'gate.fields.a: there is no type "text"',
      'gate has no key "crossFieldValidaton"; did you mean crossFieldValidation?',
      "skipCondition only says in words what skipWhen checks",
    ]) {
      expect(problems).toContain(problem);
    }
    expect(said(() => definePhase(Object({ content: 1 })))).toContain("the phase.name is missing");
  });

  it("leaves to the workflow what only a workflow can say", () => {
    const verify = [{ verifier: "tests_kept", params: { since: "Anything" } }] as const;
    expect(said(() => definePhase({ ...part("Ship"), gate: { evidence: z.object({}), verify } }))).toBe("");
  });
});

describe("a workflow of phases without numbers", () => {
  const numbersOf = (phases: readonly PhaseInput[], more = {}) =>
    defineWorkflow({ ...about, phases, ...more }).definition.structure.phases.map(({ number, name }) => [number, name]);

  it("numbers them by their places, also those of another workflow", () => {
    const review = defineWorkflow({ ...about, type: "review", phases: [part("Read"), part("Judge")] });
    const all = defineWorkflow({ ...about, phases: [part("Test"), ...review.phases, part("Ship")] });
    expect(all.definition.structure.phases.map(({ number, name }) => [number, name])).toEqual([
      [1, "Test"],
      [2, "Read"],
      [3, "Judge"],
      [4, "Ship"],
    ]);
    expect(all.definition.structure.startPhase).toBe(1);
    expect(all.text({ phase: 3 })).toBe("# Judge");
    expect(review.definition.structure.phases.map(({ number }) => number)).toEqual([1, 2]);
  });

  it("keeps numbers that all phases have", () => {
    expect(
      numbersOf([
        { ...part("A"), number: 0 },
        { ...part("B"), number: 7 },
      ]),
    ).toEqual([
      [0, "A"],
      [7, "B"],
    ]);
  });

  it("refuses numbers that only some phases have, and says what to do", () => {
    expect(said(() => numbersOf([part("A"), { ...part("B"), number: 2 }, part("C")]))).toContain(
      'some phases have a number (2) and others have none ("A", "C"): give all phases a number or none, by { ...phase, number: 7 } or { ...phase, number: undefined }',
    );
    expect(said(() => numbersOf([part("A"), { ...part("B"), number: 2 }], { revision: "" }))).toContain(
      "revision is empty; some phases have a number",
    );
    const [, b] = [part("A"), { ...part("B"), number: 2 }] as const;
    expect(numbersOf([part("A"), { ...b, number: undefined }])).toEqual([
      [1, "A"],
      [2, "B"],
    ]);
  });

  it("names problems by places", () => {
    const gate = { fields: {} };
    expect(said(() => numbersOf([part("A"), { ...part("B"), gate, ...{ gates: 1 } }]))).toMatch(
      /phase 2 has no key "gates".*; phase 2: gate\.fields is empty/,
    );
  });

  it("begins with a phase by its name", () => {
    const start = (startPhase: string, phases = [part("A"), part("Go on"), part("go-on")]) =>
      defineWorkflow({ ...about, phases, startPhase }).definition.structure.startPhase;
    expect([start("Go on"), start("go-on"), start("2"), start("a")]).toEqual([2, 3, 2, 1]);
    expect(said(() => start("Go"))).toContain("startPhase Go is not a phase of the workflow");
    expect(said(() => start("go_on"))).toContain('startPhase "go_on" is the name of 2 phases: 2 (Go on), 3 (go-on)');
  });

  it("begins with the first one, whatever its name is", () => {
    const phases = [part("A"), part("undefined")];
    expect(defineWorkflow({ ...about, phases }).definition.structure.startPhase).toBe(1);
  });

  it("pins the number of a phase that a check names", () => {
    const verify = (since: "start" | "Test" | { readonly phase: string | number }) => {
      const gate = { evidence: z.object({}), verify: [{ verifier: "tests_kept", params: { since } }] };
      const phases = [part("Test"), part("start"), { ...part("Ship"), gate }];
      return defineWorkflow({ ...about, phases }).definition.structure.phases[2]?.gate;
    };
    const pinned = (since: object | string) => ({ verify: [{ verifier: "tests_kept", params: { since } }] });
    expect(verify("Test")).toMatchObject(pinned({ phase: 1 }));
    expect(verify({ phase: "test" })).toMatchObject(pinned({ phase: 1 }));
    expect(verify({ phase: 1 })).toMatchObject(pinned({ phase: 1 }));
    expect(verify("start")).toMatchObject(pinned("start"));
    expect(verify({ phase: "start" })).toMatchObject(pinned({ phase: 2 }));
  });
});
