import { describe, expect, it } from "vitest";
import { checkField } from "../../src/gate/check-gate.js";
import { exampleOf } from "../../src/workflow/field-types.js";
import { FIELD_TYPES, type FieldType } from "../../src/workflow/gate-definition.js";
import type { JsonValue } from "../../src/workflow/json.js";
import { field } from "./fields.js";

/** One value of each JSON type, and the field types that accept it. */
const VALUES: readonly (readonly [JsonValue, readonly FieldType[]])[] = [
  [true, ["boolean", "any"]],
  [1, ["integer", "number", "any"]],
  [-0.5, ["number", "any"]],
  [2 ** 53, ["number", "any"]],
  ["text", ["string", "any"]],
  ["true", ["string", "any"]],
  ["3", ["string", "any"]],
  [{}, ["object"]],
  [{ key: null }, ["object"]],
  [{ key: 0 }, ["object", "any"]],
  [["", null, [" "]], ["list"]],
  [[], ["list"]],
  [[1], ["list", "any"]],
];

describe("types", () => {
  for (const type of FIELD_TYPES) {
    it(`${type} accepts its own values and no others`, () => {
      for (const [value, takers] of VALUES) {
        const found = checkField(field({ type }), { done: value }, () => []);
        if (takers.includes(type)) expect(found, `${JSON.stringify(value)}`).toBeUndefined();
        else {
          const problem = type === "any" ? "empty" : "wrong_type";
          expect(found, `${JSON.stringify(value)}`).toMatchObject({ field: "done", problem });
        }
      }
    });

    it(`${type} has an example that it accepts`, () => {
      const example = exampleOf(field({ type })) ?? null;
      expect(checkField(field({ type }), { done: example }, () => [])).toBeUndefined();
    });
  }

  it("checks the type of an optional field only if it is present", () => {
    const optional = field({ type: "integer", required: false });
    expect(checkField(optional, {}, () => [])).toBeUndefined();
    expect(checkField(optional, { done: null }, () => [])).toBeUndefined();
    expect(checkField(optional, { done: "3" }, () => [])).toMatchObject({ problem: "wrong_type" });
  });
});

describe("a required field", () => {
  it("is missing if it is absent or null", () => {
    expect(checkField(field(), {}, () => [])).toEqual({
      field: "done",
      problem: "missing",
      message: "Required evidence 'done' not provided",
      got: "nothing",
      expected: "true",
      example: true,
    });
    expect(checkField(field(), { done: null }, () => [])).toMatchObject({ problem: "missing", got: "null" });
  });

  it("is missing if only its prototype has it", () => {
    const evidence = Object.create({ done: true }) as Record<string, JsonValue>;
    expect(checkField(field(), evidence, () => [])).toMatchObject({ problem: "missing" });
    expect(checkField(field({ name: "toString", type: "any" }), {}, () => [])).toMatchObject({ problem: "missing" });
  });

  it("must not be false, for any type", () => {
    for (const type of ["boolean", "any"] as const) {
      const found = checkField(field({ type }), { done: false }, () => []);
      expect(found).toMatchObject({ problem: "claimed_false", got: "false", example: true });
      expect(found?.message).toBe("'done' is claimed false: it must be done before this gate");
    }
  });

  it("must not be blank", () => {
    for (const blank of ["", " ", "\t\n \u00a0\u3000"]) {
      for (const type of ["string", "any"] as const) {
        expect(checkField(field({ type }), { done: blank }, () => [])).toMatchObject({ problem: "empty" });
      }
    }
    expect(checkField(field({ type: "string" }), { done: " x " }, () => [])).toBeUndefined();
  });

  it("may be 0: only false and blanks count as not done", () => {
    expect(checkField(field({ type: "integer" }), { done: 0 }, () => [])).toBeUndefined();
    expect(checkField(field({ type: "any" }), { done: 0 }, () => [])).toBeUndefined();
  });
});

describe("an optional field", () => {
  it("may be false or blank", () => {
    expect(checkField(field({ required: false }), { done: false }, () => [])).toBeUndefined();
    expect(checkField(field({ required: false, type: "string" }), { done: " " }, () => [])).toBeUndefined();
  });

  it("is described as a boolean, not as true", () => {
    expect(checkField(field({ required: false }), { done: 1 }, () => [])).toMatchObject({ expected: "a boolean" });
    expect(checkField(field({ required: true }), { done: 1 }, () => [])).toMatchObject({ expected: "true" });
  });
});

describe("a problem of a field", () => {
  it("names the type with its article", () => {
    const messages = FIELD_TYPES.filter((type) => type !== "any").map((type) => {
      const wrong = type === "string" ? 1 : "x";
      return checkField(field({ type }), { done: wrong }, () => [])?.message;
    });
    expect(messages).toEqual([
      "'done' must be a boolean",
      "'done' must be an integer",
      "'done' must be a number",
      "'done' must be a string",
      "'done' must be an object",
      "'done' must be a list",
    ]);
  });

  it("names a non-empty value for the type any", () => {
    expect(checkField(field({ type: "any" }), {}, () => [])?.expected).toBe("any value that is not empty");
  });

  it("contains the author's description and example", () => {
    const asked = field({ type: "integer", description: "tests that ran", example: 42 });
    expect(checkField(asked, { done: "many" }, () => [])).toEqual({
      field: "done",
      problem: "wrong_type",
      message: "'done' must be an integer: tests that ran",
      got: '"many"',
      expected: "an integer",
      example: 42,
    });
  });

  it("shortens the submitted value, and escapes hidden characters", () => {
    const found = checkField(field(), { done: `${"x".repeat(500)}` }, () => []);
    expect(found?.got?.length).toBeLessThanOrEqual(80);
    expect(checkField(field(), { done: "a\u202eb\u007f\nc" }, () => [])?.got).toBe('"a\\u202eb\\u007f\\nc"');
  });
});

describe("similar names", () => {
  const asked = field({ name: "srd_created" });

  it("are suggested if an unknown key may be meant", () => {
    for (const typo of ["srdCreated", "srd-created", "SRD_CREATED", "srd_creatd"]) {
      expect(checkField(asked, { [typo]: true }, () => [typo])?.message).toBe(
        `Required evidence 'srd_created' not provided (you sent "${typo}")`,
      );
    }
  });

  it("are not suggested if the key is another word", () => {
    expect(checkField(asked, { coverage: true }, () => ["coverage"])?.message).toBe(
      "Required evidence 'srd_created' not provided",
    );
  });

  it("are shortened and escaped", () => {
    const name = `srd_created${"!".repeat(500)}\n\u202e`;
    const message = checkField(asked, { [name]: true }, () => [name])?.message ?? "";
    expect(message).toContain("(you sent ");
    expect(message.length).toBeLessThan(160);
    expect(message).not.toMatch(/[\n\u202e]/);
  });
});
