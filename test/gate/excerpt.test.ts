import { describe, expect, it } from "vitest";
import { excerpt } from "../../src/gate/excerpt.js";
import { withoutEscapes } from "../../src/verifiers/subject.js";
import { RUNNERS } from "../starters/runner-outputs.js";

/** What other tools print for a failure, and a part of what must be shown of it. */
const OTHERS: Readonly<Record<string, readonly [output: string, ...shown: string[]]>> = {
  dotnet: [
    `  Determining projects to restore...
  Failed Adds.Tests.AddTest.AddsTwoNumbers [12 ms]
  Error Message:
   Assert.Equal() Failure: Values differ
Expected: 5
Actual:   -1
  Stack Trace:
     at Adds.Tests.AddTest.AddsTwoNumbers() in /app/AddTest.cs:line 12

Failed!  - Failed:     1, Passed:     1, Skipped:     0, Total:     2, Duration: 20 ms - Adds.Tests.dll (net8.0)
`,
    "Expected: 5",
    "Actual:   -1",
    "Failed!  - Failed:     1",
  ],
  phpunit: [
    `There was 1 failure:

1) AddTest::testAddsTwoNumbers
Failed asserting that -1 matches expected 5.

/app/tests/AddTest.php:12

FAILURES!
Tests: 2, Assertions: 2, Failures: 1.
`,
    "1) AddTest::testAddsTwoNumbers",
    "Failed asserting that -1 matches expected 5.",
    "Tests: 2, Assertions: 2, Failures: 1.",
  ],
  tsc: [
    `src/add.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.
src/sum.ts(8,1): error TS2304: Cannot find name 'ad'.
`,
    "src/add.ts(3,7): error TS2322",
    "src/sum.ts(8,1): error TS2304",
  ],
  eslint: [
    `/app/src/add.js
  3:7  error  'sum' is assigned a value but never used  no-unused-vars

✖ 1 problem (1 error, 0 warnings)
`,
    "3:7  error  'sum' is assigned a value",
    "✖ 1 problem (1 error, 0 warnings)",
  ],
  "node's values": [
    `✖ price of the basket (1.2ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

  1799 !== 1709

      at TestContext.<anonymous> (file:///app/discount.test.js:88:10)
`,
    "✖ price of the basket",
    "AssertionError",
  ],
  "vitest's difference": [
    ` FAIL  test/discount.test.ts > the price of the basket
AssertionError: expected 1799 to be 1709 // Object.is equality

- Expected
+ Received

- 1709
+ 1799

 ❯ test/discount.test.ts:88:33
`,
    "FAIL  test/discount.test.ts",
    "AssertionError: expected 1799 to be 1709",
    "- 1709",
    "+ 1799",
  ],
};

const passing = Array.from({ length: 60 }, (_, index) => `ok ${index + 1} - a test that passes (0.${index} ms)`);
const after = Array.from(
  { length: 20 },
  (_, index) => `    at frame${index} (file:///app/node_modules/runner/${index}.js:1:1)`,
);

/** Returns what is shown of an output among many lines of passing tests, and of frames. */
function shownOf(output: string, most = 8): readonly string[] {
  const lines = withoutEscapes(output).replace(/\n$/, "").split("\n");
  const [head, tail] = lines.length < 4 ? [lines, ["done"]] : [lines.slice(0, -1), lines.slice(-1)];
  return excerpt([...passing, ...head, ...after, ...tail], most);
}

describe("of a long output, the lines that are shown", () => {
  it.each(Object.entries(OTHERS))("begin with what failed: %s", (_, [output, ...shown]) => {
    const found = shownOf(output);
    expect(found.length).toBeLessThanOrEqual(8);
    for (const part of shown) expect(found.join("\n")).toContain(part);
    expect(found.join("\n")).not.toContain("a test that passes");
  });

  it.each(Object.entries(RUNNERS).flatMap(([runner, { failed }]) => failed.map((said) => [runner, said] as const)))(
    "begin with what failed: %s, %s",
    (_, said) => {
      const found = shownOf(said);
      expect(found.length).toBeLessThanOrEqual(8);
      expect(found.join("\n")).not.toContain("a test that passes");
      const compared = said.split("\n").find((line) => /(?:expected|Expected|left|E {2}|- 5|received)\b/.test(line));
      if (compared !== undefined) expect(found.join("\n")).toContain(compared.trim());
    },
  );

  it("are all, if they are few; and the first and the last, if none tells of a failure", () => {
    expect(excerpt(passing.slice(0, 8), 8)).toEqual(passing.slice(0, 8));
    const found = excerpt(passing, 8);
    expect(found).toEqual([...passing.slice(0, 2), "…", ...passing.slice(-5)]);
    expect(excerpt([], 8)).toEqual([]);
    const atEnd = excerpt([...passing, "test result: FAILED"], 8);
    expect(atEnd).toEqual(["…", ...passing.slice(-6), "test result: FAILED"]);
    expect(excerpt(["FAIL a.test.js", ...passing], 8)).toEqual(["FAIL a.test.js", "…", ...passing.slice(-2)]);
    expect(excerpt([...passing, "FAIL a.test.js", "1 failed", "done"], 8).slice(0, 1)).toEqual(["FAIL a.test.js"]);
  });

  it("keep the comparison of the first failure where many tests have failed", () => {
    const list = Array.from({ length: 30 }, (_, index) => `  ✕ test ${index} (3 ms)`);
    const found = shownOf(
      [...list, "  ● test 0", "    Expected: 5", "    Received: -1", "Tests: 30 failed"].join("\n"),
    );
    expect(found).toEqual(expect.arrayContaining(["    Expected: 5", "    Received: -1", "Tests: 30 failed"]));
    expect(found[0]).toBe("  ✕ test 0 (3 ms)");
  });

  it("are found in time that grows with the output", () => {
    const long = Array.from({ length: 20_000 }, (_, index) => `${"- ".repeat(index % 90)}Error${" ".repeat(200)}x`);
    expect(excerpt(long, 40)).toHaveLength(40);
  });
});
