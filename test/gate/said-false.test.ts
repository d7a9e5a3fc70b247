import { describe, expect, it } from "vitest";
import { readFalse } from "../../src/gate/claims.js";
import type { JsonObject } from "../../src/workflow/json.js";
import type { FieldGate } from "../../src/workflow/structure.js";

const gateOf = (strict: boolean): FieldGate => ({
  ...{ kind: "fields", strict, source: "gate-file" },
  fields: [{ name: "built", type: "boolean", required: true }],
});
const said = { built: { value: false, why: "no compiler" } };

describe("a boolean that is said to be false", () => {
  it("can be waived, with its reason", () => {
    expect(readFalse(gateOf(true), said)).toMatchObject({
      ...{ evidence: {}, unmet: new Map([["built", "no compiler"]]) },
      problems: [{ field: "built", problem: "claimed_false", got: "false" }],
    });
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
