import { describe, expect, it } from "vitest";
import { howOften } from "../support/how-often.js";
import { aGate, lieThenTruth } from "./a-gate.js";

const GATE = `
evidence_schema:
  tests_pass: {type: boolean, description: the whole suite}
  failures: {type: list, description: "empty, if all is well", validator: size(value) == 0}
`;
const TRUTH = { tests_pass: true, failures: [] };

const refused = (lie: unknown, says: RegExp) => lieThenTruth({ gate: GATE }, lie, says, TRUTH);

/** Returns evidence with a getter that returns `first` on the first read, and `then` on each later one. */
function changing(first: unknown, then: unknown) {
  let looks = 0;
  return {
    get tests_pass() {
      looks += 1;
      return looks === 1 ? first : then;
    },
    failures: [],
  };
}

/** Returns lists that are nested to the given depth. */
const nested = (depth: number): unknown => (depth === 0 ? [] : [nested(depth - 1)]);

describe("evidence that is an object with behaviour", () => {
  it("is accepted from an honest agent", async () => {
    await (await aGate({ gate: GATE })).accepts({ ...TRUTH, log: nested(20), text: "x".repeat(2 ** 20) });
  });

  it("is refused if a getter returns false first and true later", async () => {
    const { engine, id, accepts } = await aGate({ gate: GATE });
    const answer = await engine.session(id).completePhase(1, changing(false, true));
    expect(answer).toMatchObject({
      passed: false,
      problems: [{ message: expect.stringContaining("'tests_pass' is claimed false") }],
    });
    await accepts(TRUTH);
  });

  it("is recorded as it was checked, even if a getter returns something else later", async () => {
    const { engine, id } = await aGate({ gate: GATE });
    expect(await engine.session(id).completePhase(1, changing(true, false))).toMatchObject({
      passed: true,
    });
    expect((await engine.session(id).fullState()).artifacts).toMatchObject([{ phase: 1, artifact: TRUTH }]);
  });

  it("is refused if a proxy returns every field but lists none", async () => {
    const proxy = new Proxy({}, { get: () => true, has: () => true });
    await refused(proxy, /'tests_pass' not provided/);
  });

  it("is refused if a proxy throws, and the thrown message is not shown", async () => {
    const trap = () => {
      throw new Error("the key is 1234");
    };
    const gate = await aGate({ gate: GATE });
    const answer = await gate.refuses(new Proxy({}, { ownKeys: trap }), /[a-z]/);
    expect(JSON.stringify(answer)).not.toContain("1234");
    await gate.accepts(TRUTH);
  });

  it("is refused if only its toJSON returns valid evidence", async () => {
    await refused({ toJSON: () => TRUTH }, /evidence\.toJSON: a function is not JSON/);
  });

  it("is refused if a list's toJSON would empty it", async () => {
    const failures = Object.assign(["it crashes"], { toJSON: () => [] });
    await refused({ ...TRUTH, failures }, /failures.*size\(value\) == 0/);
  });

  it("is refused if a list has holes", async () => {
    const failures: unknown[] = [];
    failures.length = 3;
    await refused({ ...TRUTH, failures }, /evidence\.failures\[0\]: undefined is not JSON/);
  });

  it("is refused if it contains a Date or a Map", async () => {
    await refused({ ...TRUTH, failures: new Map([["a", 1]]) }, /evidence\.failures: a Map is not JSON/);
    await refused({ ...TRUTH, at: new Date(0) }, /evidence\.at: a Date is not JSON/);
  });

  it("is refused if it contains itself", async () => {
    const lie: Record<string, unknown> = { ...TRUTH };
    lie.again = lie;
    await refused(lie, /evidence\.again: it holds itself/);
  });

  it("is refused if it is nested endlessly", async () => {
    await refused({ ...TRUTH, deep: nested(100_000 / 20) }, /it is nested more than 64 deep/);
  });

  it("is refused if it has a million unknown fields in place of the required ones", async () => {
    const others = Object.fromEntries(Array.from({ length: howOften(70_000, 700_000) }, (_, at) => [`a${at}`, 1]));
    await refused({ ...others, failures: [] }, /Required evidence 'tests_pass' not provided/);
  });

  it("is refused at 10 MiB and one byte, and accepted at 10 MiB", async () => {
    const limit = 10 * 2 ** 20;
    const text = "x".repeat(limit - JSON.stringify({ ...TRUTH, text: "" }).length);
    const { refuses, accepts } = await aGate({ gate: GATE });
    await refuses({ ...TRUTH, text: `${text}x` }, /10485761 bytes of JSON; 10485760 are allowed\n.*Save large results/);
    await accepts({ ...TRUTH, text });
  });
});

describe("a later change of the evidence", () => {
  it("does not change what was submitted", async () => {
    const { engine, id, accepts } = await aGate({ gate: GATE });
    const lie: Record<string, unknown> = { ...TRUTH, tests_pass: false };
    const submitted = engine.session(id).completePhase(1, lie);
    lie.tests_pass = true;
    expect(await submitted).toMatchObject({ passed: false, problems: [{ field: "tests_pass" }] });
    await accepts(lie);
  });
});
