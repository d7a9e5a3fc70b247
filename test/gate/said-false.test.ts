import { describe, expect, it } from "vitest";
import { readFalse } from "../../src/gate/claims.js";
import { waive } from "../../src/gate/waivers.js";
import type { JsonObject } from "../../src/workflow/json.js";
import type { FieldGate, PlanGate, SchemaGate } from "../../src/workflow/structure.js";

const gateOf = (strict: boolean): FieldGate => ({
  ...{ kind: "fields", strict, source: "gate-file" },
  fields: [{ name: "built", type: "boolean", required: true }],
});
const said = { built: { value: false, why: "no compiler" } };

describe("a boolean that is said to be false", () => {
  it("can be waived, with its reason", () => {
    expect(readFalse(gateOf(true), { ...said, count: 1 })).toEqual({
      ...{ evidence: { count: 1 }, gate: waive(gateOf(true), ["built"]), unmet: new Map([["built", "no compiler"]]) },
      problems: [
        {
          ...{ field: "built", problem: "claimed_false", got: "false", expected: "true" },
          message: "'built' is said to be false: only a person can waive it",
        },
      ],
    });
  });

  it("can be waived beside what is waived already", () => {
    const fields = ["built", "tested"].map((name) => ({ name, type: "boolean", required: true }) as const);
    const gate: FieldGate = { ...gateOf(true), fields };
    const read = readFalse(waive(gate, ["tested"]), said);
    expect(read?.gate).toEqual(waive(gate, ["tested", "built"]));
    const both = readFalse(waive(gate, ["tested"]), { tested: { value: false, why: "no time" } });
    expect(both).toMatchObject({ evidence: { tested: false }, gate: waive(gate, ["tested"]), problems: [] });
  });

  it("can be waived as an item of a plan", () => {
    const plan: PlanGate = { kind: "plan", tasks: [], items: ["Works", "Is fast"] };
    expect(readFalse(plan, { validation_gate: { 1: { value: false, why: "no server" }, 2: true } })).toMatchObject({
      evidence: { validation_gate: { 1: false, 2: true } },
      gate: waive(plan, ["validation_gate.1"]),
      unmet: new Map([["validation_gate.1", "no server"]]),
    });
  });

  it("can be waived where the gate is strict, or a schema, in any enforcement", () => {
    const schema: SchemaGate = {
      kind: "schema",
      jsonSchema: { properties: { built: { type: "boolean" } }, required: ["built"] },
    };
    for (const gate of [gateOf(true), schema]) expect(readFalse(gate, said, "as-defined")?.unmet.size).toBe(1);
  });

  it("has a reason of up to 1000 characters, without the blanks around it", () => {
    const reasonOf = (why: string) => readFalse(gateOf(true), { built: { value: false, why } })?.unmet.get("built");
    expect(reasonOf(" no compiler\n")).toBe("no compiler");
    expect(reasonOf("x".repeat(1000))).toHaveLength(1000);
    expect(reasonOf("x".repeat(1001))).toBeUndefined();
  });

  it("is none in a field of another type", () => {
    const fields = [{ name: "built", type: "object", required: true }] as const;
    expect(readFalse({ ...gateOf(true), fields: [...fields] }, said)).toBeUndefined();
  });

  it("is plainly false to a gate that takes it and warns", () => {
    const read = readFalse(gateOf(false), said, "as-defined");
    expect(read).toMatchObject({ evidence: { built: false }, unmet: new Map(), problems: [] });
    expect(read?.gate).toEqual(gateOf(false));
    expect(readFalse(gateOf(false), said)?.unmet.size).toBe(1);
  });

  it("is none in a schema that says nothing of its fields", () => {
    expect(readFalse({ kind: "schema" }, said)).toBeUndefined();
  });

  it.each<JsonObject>([
    { value: true, why: "x" },
    { value: false },
    { value: false, why: " " },
    { value: false, why: "x", more: 1 },
  ])("is none in another form: %j", (built) => expect(readFalse(gateOf(true), { built })).toBeUndefined());
});
