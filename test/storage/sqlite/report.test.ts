import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reportOf } from "../../../src/storage/sqlite/projections.js";
import { howOften } from "../../support/how-often.js";

const PAD = "x".repeat(1500);
const pointer = (body: string) => JSON.stringify({ commit: 7, characters: body.length });

describe("reportOf", () => {
  it("returns the events of a short body", () => {
    const events = [{ type: "gate_passed", phase: 1 }];
    expect(reportOf(JSON.stringify({ version: 1, events }), 7)).toEqual({
      report: JSON.stringify(events),
      outcome: "gate_passed",
    });
  });

  it("returns a reference to the commit for a long body, and its first event as the outcome", () => {
    const body = JSON.stringify({ version: 1, keys: [["a", 1, "b"]], events: [{ type: "gate_failed" }], head: PAD });
    expect(reportOf(body, 7)).toEqual({ report: pointer(body), outcome: "gate_failed" });
  });

  it.each<[string, object, string | undefined]>([
    ["events inside something else", { more: { events: [{ type: "inner" }] }, events: [{ type: "outer" }] }, "outer"],
    ["events in a list", { more: [{ events: [{ type: "inner" }] }] }, undefined],
    ["a text that looks like them", { text: '"events":[{"type":"said"', events: [{ type: "outer" }] }, "outer"],
    ["a name that ends like them", { 'an "events": [': 1, 'more"events': [{ type: "inner" }] }, undefined],
    ["an event whose type comes later", { events: [{ at: 1, type: "later" }] }, "later"],
    ["a type with quotes", { events: [{ type: 'a "word"' }] }, 'a "word"'],
    ["an unusual type", { events: [{ type: "\0" }] }, '"\\u0000"'],
    ["a type that is not a text", { events: [{ type: 1 }] }, undefined],
  ])("finds the outcome of a long body with %s", (_name, value, outcome) => {
    const body = JSON.stringify({ ...value, pad: PAD });
    expect(reportOf(body, 7).outcome).toBe(outcome);
  });

  it("returns the same outcome for a short body and for one that is too long to be read whole", () => {
    const keys = fc.constantFrom("events", "type", "head", 'a"events', "{", "\\");
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom("word", "other word", 1, null),
        tie("list"),
        tie("object"),
      ),
      list: fc.array(tie("value"), { maxLength: 3 }),
      object: fc.dictionary(keys, tie("value"), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(fc.dictionary(keys, value, { maxKeys: 4 }), (object) => {
        const short = JSON.stringify(object);
        fc.pre(short.length <= 1200);
        const long = JSON.stringify({ ...object, pad: PAD });
        expect(reportOf(long, 7).outcome).toBe(reportOf(short, 7).outcome);
      }),
      { numRuns: howOften(300, 20_000) },
    );
  });

  it("returns null if the body is not a JSON object", () => {
    for (const body of ["", "no JSON", "[]", "{", `${PAD}{}`]) expect(reportOf(body, 7)).toEqual({ report: null });
  });
});
