import { describe, expect, it } from "vitest";
import { aGate, lieThenTruth } from "./a-gate.js";

const GATE = `
evidence_schema:
  tests_pass: {type: boolean, description: the whole suite}
  tests_run: {type: integer, description: how many ran, validator: greater_than_0}
  coverage: {type: number, description: lines in percent, validator: percent_gte_80}
  summary: {type: string, description: what was done, validator: min_length_10}
  changed: {type: list, description: paths of files, validator: non_empty}
`;
const TRUTH = { tests_pass: true, tests_run: 12, coverage: 91.5, summary: "the parser reads dates", changed: ["a.ts"] };

/** Checks that true evidence with one part changed is refused with the given message, and then accepted unchanged. */
const refused = (part: object, says: RegExp) => lieThenTruth({ gate: GATE }, { ...TRUTH, ...part }, says, TRUTH);

describe("a gate with five fields", () => {
  it("lets an honest agent through", async () => {
    await (await aGate({ gate: GATE })).accepts(TRUTH);
  });

  it("refuses a claim without evidence", async () => {
    await lieThenTruth(
      { gate: GATE },
      {},
      /'tests_pass' not provided: the whole suite[\s\S]*'changed' not prov/,
      TRUTH,
    );
  });

  it('refuses the text "true" for true', async () => {
    await refused({ tests_pass: "true" }, /'tests_pass' must be a boolean: the whole suite/);
  });

  it("refuses 1 for true", async () => {
    await refused({ tests_pass: 1 }, /'tests_pass' must be a boolean/);
  });

  it("refuses a false claim", async () => {
    await refused({ tests_pass: false }, /'tests_pass' is claimed false: it must be done before this gate/);
  });

  it("refuses null for a required value", async () => {
    await refused({ summary: null }, /'summary' not provided: what was done/);
  });

  it("refuses a number as text", async () => {
    await refused({ tests_run: "12" }, /'tests_run' must be an integer: how many ran/);
  });

  it("refuses a number as text in another script", async () => {
    await refused({ coverage: "９１" }, /'coverage' must be a number: lines in percent/);
  });

  it("refuses 0 where the number must be positive", async () => {
    await refused({ tests_run: 0 }, /tests_run.*greater_than_0/);
  });

  it("refuses -0 where the number must be positive", async () => {
    await refused({ tests_run: -0 }, /tests_run.*greater_than_0/);
  });

  it("refuses a fraction in place of an integer", async () => {
    await refused({ tests_run: 0.5 }, /'tests_run' must be an integer/);
  });

  it("refuses an integer that is too large to be exact", async () => {
    await refused({ tests_run: 2 ** 53 }, /'tests_run' must be an integer/);
  });

  it("refuses more than 100 percent", async () => {
    await refused({ coverage: 1e308 }, /coverage.*percent_gte_80/);
  });

  it("refuses a fraction of 1 in place of a percentage", async () => {
    await refused({ coverage: 0.915 }, /coverage.*percent_gte_80/);
  });

  it("refuses an empty text", async () => {
    await refused({ summary: "" }, /'summary' is empty: what was done/);
  });

  it("refuses a text of blanks of any kind", async () => {
    await refused({ summary: " \t\r\n\u00a0\u2003\u3000\ufeff" }, /'summary' is empty/);
  });

  it("refuses a text of invisible characters", async () => {
    await refused({ summary: "\u200b\u200c\u200d\u2060\u00ad\u202e\u3164\ufe0f".repeat(3) }, /'summary' is empty/);
  });

  it("refuses a short text that is padded with invisible characters", async () => {
    await refused({ summary: `ok${"\u200b".repeat(20)}` }, /summary.*min_length_10/);
  });

  it("refuses an object with numeric keys in place of a list", async () => {
    await refused({ changed: { 0: "a.ts", length: 1 } }, /'changed' must be a list: paths of files/);
  });

  it("refuses an empty list", async () => {
    await refused({ changed: [] }, /changed.*non_empty/);
  });

  it("refuses the evidence as JSON text", async () => {
    await lieThenTruth({ gate: GATE }, JSON.stringify([TRUTH]), /evidence/, TRUTH);
  });

  it("refuses the placeholders of a proposed call", async () => {
    const gate = "evidence_schema:\n  report: {type: string, validator: min_length_10, description: what was done}\n";
    const lie = { report: "<string, min_length_10: what was done>" };
    await lieThenTruth({ gate }, lie, /placeholder of a proposed call/, { report: "all of it was rewritten" });
  });
});

describe("values that JSON does not have, if the host passes them on", () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])("refuses %d", async (coverage) => {
    const { engine, id, accepts, refuses } = await aGate({ gate: GATE });
    const lie = { ...TRUTH, coverage };
    await expect(engine.session(id).completePhase(1, lie)).rejects.toMatchObject({
      code: "EVIDENCE_UNSAFE",
      message: `the evidence is refused: evidence.coverage: ${coverage} is not a JSON number`,
      remedy: expect.stringContaining("finite numbers"),
    });
    await refuses(lie, /evidence\.coverage: .* is not a JSON number/);
    await accepts(TRUTH);
  });

  it("refuses a bigint in place of an integer", async () => {
    const { accepts, refuses } = await aGate({ gate: GATE });
    await refuses({ ...TRUTH, tests_run: 12n }, /evidence\.tests_run: a bigint is not JSON/);
    await accepts(TRUTH);
  });
});
