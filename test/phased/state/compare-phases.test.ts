import { describe, expect, it } from "vitest";
import { comparePhases, sinceByName } from "../../../src/phased/state/compare-phases.js";
import { fieldGateSchema, fieldSchema } from "../../../src/workflow/gate-definition.js";
import type { PhaseDefinition } from "../../../src/workflow/structure.js";
import { asking, phaseOf, structureOf } from "./run.js";

const named = (number: number, name: string, parts: Partial<PhaseDefinition> = {}) =>
  phaseOf(number, { name, ...parts });
/** Returns phases of these names, with ascending numbers. */
const all = (...names: readonly string[]) => structureOf(names.map((name, index) => named(index + 1, name)));
const short = (...given: Parameters<typeof comparePhases>) =>
  comparePhases(...given).map(({ name, is, was, will }) => `${name} ${is} ${was ?? "-"} ${will ?? "-"}`);

describe("phases of two definitions", () => {
  it("are the same by name, gate and tasks, whatever their numbers", () => {
    expect(short(all("A", "B", "C"), all("A", "B", "C"), 1)).toEqual(["A same 1 1", "B same 2 2"]);
    expect(short(all("A", "B", "C"), all("N", "A", "B", "C"), 1)).toEqual(["N new - 1", "A moved 1 2", "B moved 2 3"]);
    expect(short(all("A", "B", "C"), all("B", "A"), 1)).toEqual(["B moved 2 1", "A moved 1 2"]);
  });

  it("are gone or new by another name", () => {
    expect(short(all("A", "B"), all("A2", "B"), 1)).toEqual(["A2 new - 1", "B same 2 2", "A gone 1 -"]);
    expect(short(all("A", "B", "C"), all("A", "X", "C"), 1)).toEqual(["A same 1 1", "X new - 2", "B gone 2 -"]);
  });

  it("are new only before the place in which the session goes on", () => {
    expect(short(all("A", "B"), all("A", "B", "X"), 1)).toEqual(["A same 1 1", "B same 2 2"]);
    // A phase ahead that comes before the current one now was never done.
    expect(short(all("A", "B", "C"), all("C", "A", "B"), 1)).toEqual(["C new - 1", "A moved 1 2", "B moved 2 3"]);
    expect(short(all("A", "B"), all("A", "X", "Y"), 1)).toEqual(["A same 1 1", "X new - 2", "Y new - 3", "B gone 2 -"]);
  });

  it("before the first one of sessions are not among them", () => {
    const late = { startPhase: 2 };
    const before = structureOf([named(1, "Z"), named(2, "A"), named(3, "B")], late);
    expect(short(before, all("Z", "A", "B"), 2)).toEqual(["Z new - 1", "A same 2 2", "B same 3 3"]);
    expect(short(all("Z", "A", "B"), before, 2)).toEqual(["A same 2 2", "B same 3 3", "Z gone 1 -"]);
  });

  it("of one name are paired with those that are the same first", () => {
    const gate = asking();
    const before = structureOf([named(1, "A"), named(2, "A", { gate })]);
    const after = structureOf([named(1, "A", { gate }), named(2, "A")]);
    expect(short(before, after, 1)).toEqual(["A moved 2 1", "A moved 1 2"]);
  });

  it.each([
    [["tasks"], { tasks: [{ number: 1, name: "More" }] }],
    [["tasks"], { tasks: [{ number: 1, name: "t2" }] }, { tasks: [{ number: 1, name: "t1" }] }],
    [["tasks"], { tasks: [{ number: 2, name: "t1" }] }, { tasks: [{ number: 1, name: "t1" }] }],
    [["gate"], { gate: asking() }],
    [["gate", "tasks"], { gate: asking(), tasks: [{ number: 1, name: "More" }] }],
  ])("say what has changed: %j by %j", (what, changes, was: Partial<PhaseDefinition> = {}) => {
    expect(comparePhases(structureOf([phaseOf(1, was)]), structureOf([phaseOf(1, changes)]), 0)).toEqual([
      { name: "Phase 1", was: 1, will: 1, is: "changed", what },
    ]);
  });

  it("are changed by all that is pinned of a gate, but for its examples and the place where it was found", () => {
    // Keys of newer versions are not among the types of this one.
    const gateOf = (more: object, ofField: object) => {
      const field = { name: "a", type: "any", required: true, ...ofField };
      const gate = { kind: "fields", strict: true, source: "gate-file", fields: [field], ...more };
      return structureOf([phaseOf(1, { gate: JSON.parse(JSON.stringify(gate)) })]);
    };
    const plain = gateOf({}, {});
    const isOther = (more: object, ofField: object) =>
      comparePhases(plain, gateOf(more, ofField), 0)[0]?.is === "changed";
    const requiresNothing = ["source", "example", "sample"];
    for (const key of [...Object.keys(fieldSchema._zod.def.shape), "remindAfter"]) {
      const value = key === "rules" ? [{ source: "x", cel: "x" }] : "other";
      expect([key, isOther({}, { [key]: value })]).toEqual([key, !requiresNothing.includes(key)]);
    }
    for (const key of [...Object.keys(fieldGateSchema._zod.def.shape), "remindAfter"]) {
      if (key === "kind" || key === "fields") continue;
      const value = key === "rules" || key === "verify" ? [{ cel: "x", verifier: "v", params: {} }] : "other";
      expect([key, isOther({ [key]: value }, {})]).toEqual([key, !requiresNothing.includes(key)]);
    }
    const newer = () => gateOf({ remindAfter: 3 }, { remindAfter: 3 });
    expect(comparePhases(newer(), newer(), 0)[0]?.is).toBe("same");
    expect(comparePhases(newer(), plain, 0)[0]?.is).toBe("changed");
    const schema = (jsonSchema: { type?: string }, example: number): PhaseDefinition["gate"] => {
      return { kind: "schema", jsonSchema, example: { a: example } };
    };
    const one = (gate: PhaseDefinition["gate"]) => structureOf([phaseOf(1, { gate })]);
    expect(comparePhases(one(schema({}, 1)), one(schema({}, 2)), 0)[0]?.is).toBe("same");
    expect(comparePhases(one(schema({}, 1)), one(schema({ type: "object" }, 1)), 0)[0]?.is).toBe("changed");
  });

  it("compare a check's since by the phase that it names", () => {
    const since = (phase: number): Partial<PhaseDefinition> => {
      const verify = [{ verifier: "unchanged", params: { since: { phase } } }];
      return { gate: { kind: "plan", tasks: [], items: [], verify } };
    };
    const before = structureOf([named(1, "A"), named(2, "B"), named(3, "C", since(1))]);
    const shifted = (phase: number) =>
      structureOf([named(1, "N"), named(2, "A"), named(3, "B"), named(4, "C", since(phase))]);
    expect(short(before, shifted(2), 2).at(-1)).toBe("C moved 3 4");
    expect(short(before, shifted(1), 2).at(-1)).toBe("C changed 3 4");
  });

  it("take a rule over artifacts as another one when the phases before it have other numbers", () => {
    const cel = 'evidence.n == artifacts["1"].n';
    const gate = {
      kind: "fields",
      strict: true,
      source: "gate-file",
      fields: [],
      rules: [{ source: cel, cel }],
    } as const;
    const reads = { gate: { ...gate, fields: [], rules: [...gate.rules] } };
    const before = structureOf([named(1, "A"), named(2, "B", reads)]);
    expect(short(before, before, 1).at(-1)).toBe("B same 2 2");
    const after = structureOf([named(1, "N"), named(2, "A"), named(3, "B", reads)]);
    expect(short(before, after, 1).at(-1)).toBe("B changed 2 3");
    const other = { source: "evidence.n > 1", cel: "evidence.n > 1" };
    const both = { gate: { ...reads.gate, rules: [other, ...gate.rules] } };
    const none = { gate: { ...reads.gate, rules: [other] } };
    const moved = (parts: Partial<PhaseDefinition>) =>
      short(
        structureOf([named(1, "A"), named(2, "B", parts)]),
        structureOf([named(1, "N"), named(2, "A"), named(3, "B", parts)]),
        1,
      ).at(-1);
    expect([moved(both), moved(none)]).toEqual(["B changed 2 3", "B moved 2 3"]);
    // Phases behind it change nothing of what it reads.
    expect(short(before, structureOf([...before.phases, named(3, "C")]), 1).at(-1)).toBe("B same 2 2");
  });

  it("leave those of a plan to its own comparison", () => {
    const planned = (name: string, gate: PhaseDefinition["gate"]) => named(1, name, { gate, plan: { number: 1 } });
    const [open, other] = [{ kind: "open" } as const, asking()];
    const one = (phase: PhaseDefinition) => structureOf([phase]);
    expect(short(one(planned("A", open)), one(planned("A", other)), 0)).toEqual(["A same 1 1"]);
    expect(short(one(planned("A", open)), one(named(1, "A", { gate: other })), 0)).toEqual(["A new - 1", "A gone 1 -"]);
  });
});

it("keeps the number of a phase that a check names and that is not there", () => {
  expect(sinceByName(all("A"), { since: { phase: 7 } })).toEqual({ since: { phase: 7 } });
  expect(sinceByName(all("A"), { since: { phase: 1 } })).toEqual({ since: { name: "A" } });
  expect(sinceByName(all("A"), { since: "start" })).toEqual({ since: "start" });
});
