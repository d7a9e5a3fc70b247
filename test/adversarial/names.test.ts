import { describe, expect, it } from "vitest";
import { aGate, lieThenTruth } from "./a-gate.js";

const GATE = `
evidence_schema:
  tests_pass: {type: boolean, description: the whole suite}
  report: {type: object, description: what the runner wrote, validator: "value.failed == 0 && value.passed > 0"}
`;
const TRUTH = { tests_pass: true, report: { passed: 12, failed: 0 } };

const refused = (lie: unknown, says: RegExp) => lieThenTruth({ gate: GATE }, lie, says, TRUTH);
/** Returns true evidence whose first field has another name. */
const renamed = (name: string) => ({ [name]: true, report: TRUTH.report });
/** Parses JSON, which may have keys that an object literal cannot have. */
const parsed = (text: string): unknown => JSON.parse(text);

describe("a gate with two fields", () => {
  it("lets an honest agent through, also with additional fields", async () => {
    await (await aGate({ gate: GATE })).accepts({ ...TRUTH, note: "and the docs", toString: "a name like others" });
  });

  it("refuses a field's name with a letter of another script, and shows the submitted name", async () => {
    await refused(renamed("tests_p\u0430ss"), /'tests_pass' not provided \(you sent .*\)/);
  });

  it("refuses a field's name with an invisible character", async () => {
    await refused(renamed("tests_pass\u200b"), /'tests_pass' not provided \(you sent/);
  });

  it("refuses a field's name in full-width letters", async () => {
    await refused(renamed("ｔｅｓｔｓ＿ｐａｓｓ"), /'tests_pass' not provided/);
  });

  it("refuses a field's name in capitals", async () => {
    await refused(renamed("TESTS_PASS"), /'tests_pass' not provided/);
  });

  it("refuses a field's name with blanks around it", async () => {
    await refused(renamed(" tests_pass "), /'tests_pass' not provided/);
  });

  it("refuses a path in place of a name", async () => {
    await refused({ tests_pass: true, "report.failed": 0, "report.passed": 12 }, /'report' not provided: what the run/);
  });

  it("refuses evidence that is nested one level too deep", async () => {
    await refused({ evidence: TRUTH }, /'tests_pass' not provided/);
  });

  it("refuses fields in a __proto__ key of the JSON", async () => {
    const lie = '{"__proto__": {"tests_pass": true, "report": {"passed": 12, "failed": 0}}}';
    await refused(parsed(lie), /evidence\.__proto__: this key is refused/);
    expect(Object.hasOwn(Object.prototype, "tests_pass")).toBe(false);
  });

  it("refuses a __proto__ key inside a field", async () => {
    const lie = '{"tests_pass": true, "report": {"__proto__": {"passed": 12, "failed": 0}}}';
    await refused(parsed(lie), /evidence\.report\.__proto__: this key is refused/);
  });

  it("refuses a constructor key with a prototype", async () => {
    const lie = { ...TRUTH, constructor: { prototype: { tests_pass: true } } };
    await refused(lie, /evidence\.constructor: this key is refused/);
  });

  it("refuses inherited fields", async () => {
    await refused(Object.create(TRUTH), /must be an object, got a foreign object/);
  });
});
