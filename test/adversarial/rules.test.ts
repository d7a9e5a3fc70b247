import { describe, expect, it } from "vitest";
import { aGate, lieThenTruth } from "./a-gate.js";

const GATE = `
evidence_schema:
  passed: {type: integer, description: tests that passed}
  total: {type: any, description: tests that ran}
  version: {type: string, description: what is released, validator: "value.matches('^v([0-9]+[.]?)+$')"}
  runs: {type: list, validator: "value.all(a, value.exists(b, b.id == a.after || a.after == ''))"}
  details: {type: object, validator: [no_crash]}
validators:
  no_crash: {rule: value.crashes == 0, error_message: the run crashed}
cross_field_validation:
  - {rule: evidence.passed == evidence.total, error_message: some tests failed}
`;
const TRUTH = {
  ...{ passed: 12, total: 12, version: "v1.2.3", details: { crashes: 0 } },
  runs: [
    { id: "a", after: "" },
    { id: "b", after: "a" },
  ],
};

/** Checks that true evidence with one part changed is refused with the given message, and then accepted unchanged. */
const refused = (part: object, says: RegExp) => lieThenTruth({ gate: GATE }, { ...TRUTH, ...part }, says, TRUTH);

describe("a gate with rules", () => {
  it("lets an honest agent through", async () => {
    await (await aGate({ gate: GATE })).accepts(TRUTH);
  });

  it("refuses numbers that don't add up", async () => {
    await refused({ passed: 11 }, /some tests failed/);
  });

  it("refuses a text that would equal a number after conversion", async () => {
    await refused({ total: "12" }, /some tests failed|can't be evaluated/);
  });

  it("refuses a list that would equal a number after conversion", async () => {
    await refused({ total: [12] }, /some tests failed|can't be evaluated/);
  });

  it("refuses true for 1", async () => {
    await refused({ passed: 1, total: true }, /some tests failed|can't be evaluated/);
  });

  it("refuses a missing key, which does not count as 0", async () => {
    await refused({ details: {} }, /'?details'?.*the run crashed.*|details.*there is no key "crashes"/);
  });

  it("refuses a key with the value null for 0", async () => {
    await refused({ details: { crashes: null } }, /the run crashed/);
  });

  it("refuses false for 0", async () => {
    await refused({ details: { crashes: false } }, /the run crashed/);
  });

  it("refuses a version that is followed by another line", async () => {
    await refused({ version: "v1.2.3\nbut not tested" }, /version.*matches/s);
  });

  it("refuses a text that would make a backtracking pattern hang, without delay", async () => {
    await refused({ version: `v${"1".repeat(100_000)}!` }, /version.*matches/s);
  });

  it("refuses a list for which a nested macro would take hours, and says so", async () => {
    const runs = Array.from({ length: 3000 }, (_, index) => ({ id: `${index}`, after: "none" }));
    await refused({ runs }, /runs.*could take more than 1000000 steps/s);
  });

  it("refuses a list that refers to an element that does not exist", async () => {
    await refused({ runs: [{ id: "a", after: "z" }] }, /runs/);
  });

  it("refuses the text of a rule as a value", async () => {
    await refused({ version: "v1' || true || 'v1" }, /version.*matches/s);
  });
});

describe("a gate that hides what it asks for", () => {
  const HIDING = `${GATE}reveal: none\n`;

  it("shows a dishonest agent nothing of the rules, and lets an honest agent through", async () => {
    const gate = await aGate({ gate: HIDING });
    const answer = await gate.refuses(
      { ...TRUTH, passed: 11 },
      /1 thing is missing or wrong. Its requirements are not shown/,
    );
    const seen = ["get_phase", "get_state", "get_errors", "get_history", "get_session"].map((action) =>
      gate.tool.dispatch({ action, session_id: gate.id }),
    );
    for (const shown of [answer, ...(await Promise.all(seen))]) {
      expect(JSON.stringify(shown)).not.toMatch(/some tests failed|crash|"passed"|evidence\.|runs/);
    }
    await gate.accepts(TRUTH);
  });
});

describe("a rule that only warns", () => {
  const LENIENT = `checkpoint: {strict: false}\n${GATE.replace("type: integer", "type: integer, required: true")}`;

  it("refuses missing values and wrong types, and lists its warnings", async () => {
    const gate = await aGate({ gate: LENIENT });
    await gate.refuses({ ...TRUTH, passed: "12" }, /'passed' must be an integer/);
    await gate.refuses({ ...TRUTH, passed: undefined }, /passed/);
    const answer = await gate.accepts({ ...TRUTH, passed: 11 });
    expect(answer.warnings).toEqual([expect.stringContaining("some tests failed")]);
  });
});
