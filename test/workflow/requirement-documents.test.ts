import { describe, expect, it } from "vitest";
import { findRequirements } from "../../src/workflow/infer/document-gate.js";

/** Returns the requirements, one per line, and the diagnostics. */
function read(...lines: string[]) {
  const { requirements, faults } = findRequirements(lines.join("\n"));
  return {
    fields: requirements.map(({ field, validators }) => {
      const rules = validators.length === 0 ? "" : ` [${validators.join(" & ")}]`;
      return `${field.name}: ${field.required ? "" : "optional "}${field.type}${rules}`;
    }),
    faults: faults.map(({ severity, code, line }) => `${severity} ${code} ${line}`),
  };
}

const HEADER = ["| Evidence | Type | Validator |", "|---|---|---|"];
const cell = (type: string, validator: string) => read(...HEADER, `| field | ${type} | ${validator} |`);

describe("a cell of validators", () => {
  it.each([
    ["int", "> 0", "field: integer [value > 0]"],
    ["int", "`>= 3`", "field: integer [value >= 3]"],
    ["int", "&lt; 5", "field: integer [value < 5]"],
    ["number", "<= 99.5%", "field: number [value <= 99.5]"],
    ["int", "== 7", "field: integer [value == 7]"],
    ["str", '== "done"', 'field: string [value == "done"]'],
    ["str", "== done", 'field: string [value == "done"]'],
    ["bool", "= true", "field: boolean [value == true]"],
    ["int", "greater_than_5", "field: integer [value > 5]"],
    ["int", "positive; under_100", "field: integer [positive & value < 100]"],
    ["int", "> 0, < 10 and != 5", "field: integer [value > 0 & value < 10 & value != 5]"],
    ["int", "> 0 && < 10", "field: integer [value > 0 & value < 10]"],
    ["int", "0 < x <= 10", "field: integer [value > 0 & value <= 10]"],
    ["int", "between 1 and 10", "field: integer [value >= 1 & value <= 10]"],
    ["int", "1-10", "field: integer [value >= 1 & value <= 10]"],
    ["int", "at least 1,000", "field: integer [value >= 1000]"],
    ["int", "Greater than or equal to 3", "field: integer [value >= 3]"],
    ["int", "5 or more", "field: integer [value >= 5]"],
    ["int", "= 5 or fewer", "field: integer [value <= 5]"],
    ["int", "no more than five", "field: integer [value <= 5]"],
    ["str", "max_length_10", "field: string [size(visible(value)) <= 10]"],
    ["str", "at least 10 characters", "field: string [size(visible(value)) >= 10]"],
    ["list", "at least 2 items", "field: list [size(value) >= 2]"],
    ["list", "Non-Empty", "field: list [non_empty]"],
    ["str", "must not be empty", "field: string [non_empty]"],
    ["int", "non-zero", "field: integer [greater_than_0]"],
    ["int", "non-negative", "field: integer [value >= 0]"],
    ["str", "one of: low, high", 'field: string [value in ["low", "high"]]'],
    ["int", "`greater_than_0`, `under_9`", "field: integer [greater_than_0 & value < 9]"],
    ["int", "`lambda x: x > 3 and x < 9`", "field: integer [lambda x: x > 3 and x < 9]"],
    ["int", "value > 3 && value < 9", "field: integer [value > 3 && value < 9]"],
    ["int", "required", "field: integer"],
    ["int", "optional, positive", "field: optional integer [positive]"],
    ["int", "none", "field: integer"],
    ["positive int", "", "field: integer [positive]"],
    ["int", "greater_then_0", "field: integer [greater_then_0]"],
    ["integer", "greater_than_or_equal_4", "field: integer [greater_than_or_equal_4]"],
    ["float", "greater_than_or_equal_0_85", "field: number [greater_than_or_equal_0_85]"],
    ["float", "`less_than_or_equal_2_0`", "field: number [less_than_or_equal_2_0]"],
    ["int", "between_1_and_5", "field: integer [value >= 1 & value <= 5]"],
    ["float", "between_0_5_and_1_5", "field: number [between_0_5_and_1_5]"],
    ["int", "positive, less_than_or_equal_9", "field: integer [positive & less_than_or_equal_9]"],
    ["str", "min_length_10", "field: string [min_length_10]"],
    ["int", "equals_5", "field: integer [equals_5]"],
  ])("in a field of type %s, %s, is read as intended", (type, validator, expected) => {
    expect(cell(type, validator)).toEqual({ fields: [expected], faults: [] });
  });

  it.each(["should be good", "positive and fine by me", "at least 3 sentences"])("with %s is an error", (validator) => {
    expect(cell("str", validator).faults).toEqual(["error VALIDATOR_UNKNOWN 3"]);
  });
});

describe("a cell of types", () => {
  it.each([
    ["integers", "integer"],
    ["`bool`", "boolean"],
    ["true/false", "boolean"],
    ["list of strings", "list"],
    ["string[]", "list"],
    ["List[str]", "list"],
    ["dict[str, int]", "object"],
    ["file path", "string"],
    ["int or float", "number"],
    ["string (required)", "string"],
    ["Optional[int]", "optional integer"],
    ["int or null", "optional integer"],
    ["str, optional", "optional string"],
  ])("with %s is read", (type, expected) => {
    expect(cell(type, "")).toEqual({ fields: [`field: ${expected}`], faults: [] });
  });

  it.each(["integr", "string or list", "thingy"])("with %s is an error", (type) => {
    expect(cell(type, "").faults).toEqual(["error FIELD_TYPE_UNKNOWN 3"]);
  });
});

describe("a sentence", () => {
  it.each([
    ["You must provide `a`, `b` and `c`.", ["a: string", "b: string", "c: string"]],
    [
      "You must provide `a`,\n`b` and `c`, all integers of at least 2.",
      ["a: integer [value >= 2]", "b: integer [value >= 2]", "c: integer [value >= 2]"],
    ],
    [
      "You must provide `a` (int, > 0), `b` (a list, non-empty) and `c` (text).",
      ["a: integer [value > 0]", "b: list [non_empty]", "c: string"],
    ],
    ["You must provide **Test Results** and **summary**.", ["test_results: string", "summary: string"]],
    ["You must provide function_count and functions_list.", ["function_count: integer", "functions_list: list"]],
    ["You **must provide** *function_count* (integer).", ["function_count: integer"]],
    ["You must provide [`report`](docs/report.md).", ["report: string"]],
    ["**Required**: `a` (bool)", ["a: boolean"]],
    ["Required evidence: `a` (int)", ["a: integer"]],
    ["You must provide `a` and, optionally, `b`.", ["a: string", "b: optional string"]],
    ["You must provide `a`, `b` (optional).", ["a: string", "b: optional string"]],
    ["Optional: `a` (text)", ["a: optional string"]],
    ["You must provide `count_of_all` as printed by the tool.", ["count_of_all: integer"]],
    ["Both `a` and `b` must be provided.", ["a: string", "b: string"]],
    ["You must provide `a` <!-- and `b` -->.", ["a: string"]],
    ["**Evidence:** `x` boolean flag", ["x: boolean"]],
    ["Evidence: dep_count (number)", ["dep_count: number"]],
    ["- Evidence: `x` is the output of the command", ["x: string"]],
    ["**Evidence**: `x`, non-empty list", ["x: list [non_empty]"]],
    ["Checkpoint: `x` count, at least 1", ["x: integer [value >= 1]"]],
    ["Validation gate: `x` (bool)", ["x: boolean"]],
    ["Evidence for this phase: `x` (bool)", ["x: boolean"]],
    ["## Evidence: `x` (bool)", ["x: boolean"]],
    ["> Evidence: `x` (bool)", ["x: boolean"]],
    ["## Checkpoint\n\nReport the `x` as a number.", ["x: integer"]],
    ["## Checkpoint\n\nPlease submit `x` and `y`, both lists.", ["x: list", "y: list"]],
    ["## Evidence\n\n- Then report the `x` (bool).", ["x: boolean"]],
    ["## Validation Gate\n\n`x`: a number of at least 3", ["x: integer [value >= 3]"]],
    ["You must provide `a`, but no `b`.", ["a: string"]],
  ])("such as %s is read", (text, fields) => {
    expect(read(text)).toEqual({ fields, faults: [] });
  });

  it.each([
    "Not required: `a`",
    "No `a` is required.",
    "No evidence is required: `a` is enough.",
    "You must provide nothing.",
    "Required: none",
    "`required: true` is a setting.",
    "A system must always provide food.",
    "Evidence: none",
    "## Checkpoint: the end of phase 1",
    "Report the `x` as a number.",
  ])("such as %s contains no requirement", (text) => {
    expect(read(text).fields).toEqual([]);
  });

  it.each([
    ["You must provide a good reason.", "warning REQUIREMENT_UNCLEAR 1"],
    ["Required: Node 20", "warning REQUIREMENT_UNCLEAR 1"],
    ["You must provide `a` or `b`.", "warning REQUIREMENT_UNCLEAR 1"],
    ["You must provide `count` as printed by `ctags`.", "warning REQUIREMENT_UNCLEAR 1"],
    ["If tests fail, you must provide `reason`.", "warning REQUIREMENT_UNCLEAR 1"],
    ["You must provide `summary` (text of at least 3 sentences).", "warning REQUIREMENT_UNCLEAR 1"],
    ["You must provide `a` (integr).", "warning FIELD_TYPE_UNKNOWN 1"],
    ["You must provide `a` (int, greater_then_0).", "warning VALIDATOR_UNKNOWN 1"],
    ["Required:", "warning REQUIREMENT_UNCLEAR 1"],
    ["Evidence: see the report", "warning REQUIREMENT_UNCLEAR 1"],
    ["Checkpoint: all tests pass", "warning REQUIREMENT_UNCLEAR 1"],
  ])("such as %s is reported", (text, fault) => {
    expect(read(text).faults).toEqual([fault]);
  });
});

describe("documents in various layouts", () => {
  it.each<[string, string[], string[], string[]]>([
    [
      "a list after a sentence",
      [
        "# P",
        "You must provide:",
        "",
        "- `function_count`: number of functions",
        "- **Function names**: a list",
        "- method_count (integer)",
        "- some good will",
      ],
      ["function_count: integer", "function_names: list", "method_count: integer"],
      ["warning REQUIREMENT_UNCLEAR 7"],
    ],
    [
      "bold labels",
      [
        "**Checkpoint**",
        "",
        "Before advancing:",
        "",
        "- [ ] All done",
        "- **Coverage**: percentage, at least 80%",
        "",
        "**Notes**",
        "",
        "- [ ] no claim",
      ],
      ["all_done: boolean", "coverage: number [value >= 80]"],
      [],
    ],
    [
      "nested lists",
      [
        "## Exit Criteria",
        "1. [ ] Outer",
        "   - [ ] Inner",
        "   - `test_count`: integer, > 0",
        "   - run them all",
        "2. Group",
        "   - [ ] Last",
      ],
      ["outer: boolean", "inner: boolean", "test_count: integer [value > 0]", "last: boolean"],
      ["warning REQUIREMENT_UNCLEAR 6"],
    ],
    [
      "two tables, with other columns and without pipes at the ends",
      [
        "## Evidence",
        "#|Evidence|Owner|Types|Rules",
        "-|-|-|-|-",
        "1|`a`|me|int|> 0",
        "",
        "| Field | Description | Required |",
        "|:--|:-:|--:|",
        "| b_c | a list | no |",
        "| `d` | text | yes |",
        "| | lost | yes |",
      ],
      ["a: integer [value > 0]", "b_c: optional list", "d: string"],
      ["warning REQUIREMENT_UNCLEAR 10"],
    ],
    [
      "headings of any level",
      ["###### Validation Gate", "- [x] Done", "", "# Required: `a_b`", "- [ ] not here"],
      ["done: boolean", "a_b: string"],
      [],
    ],
    [
      "comments, fences and HTML",
      [
        "# Checkpoint",
        "<!--",
        "- [ ] hidden",
        "-->",
        "```md",
        "- [ ] fenced",
        "You must provide `x`.",
        "```",
        "- [ ] shown",
        "",
        "Text.",
        "",
        "    - [ ] in code",
        "",
        "<ul><li>required: y</li></ul>",
      ],
      ["shown: boolean"],
      ["warning REQUIREMENT_UNCLEAR 13", "warning REQUIREMENT_UNCLEAR 15"],
    ],
    ["quotations", ["> ## Checkpoint", ">", "> You must provide `a`,", "> `b`."], ["a: string", "b: string"], []],
    ["front matter", ["---", "required: `x_y`", "---", "# Checkpoint", "- [ ] Fine"], ["fine: boolean"], []],
    [
      "the same name twice",
      ["You must provide `a` (integer).", "", "You must provide `a` of at least 3.", "", "Required: `a` (a list)"],
      ["a: integer [value >= 3]"],
      ["warning REQUIREMENT_DIFFERS 5"],
    ],
    [
      "unescaped bars",
      [...HEADER, "| a | int | value < 0 || value > 5 |", "b"],
      [],
      ["error REQUIREMENT_UNCLEAR 3", "warning REQUIREMENT_UNCLEAR 4"],
    ],
  ])("with %s are read completely", (_, lines, fields, faults) => {
    expect(read(...lines)).toEqual({ fields, faults });
    const windows = findRequirements(lines.join("\r\n"));
    const unix = findRequirements(lines.join("\n"));
    expect(windows).toEqual(unix);
  });
});

describe("a text above the limits", () => {
  it("is reported if it contains a requirement", () => {
    const long = "word ".repeat(1000);
    expect(read(`You must provide \`a\` ${long}`)).toEqual({ fields: [], faults: ["warning REQUIREMENT_UNCLEAR 1"] });
    expect(read(`- Required: \`a\` ${long}`)).toEqual({ fields: [], faults: ["warning REQUIREMENT_UNCLEAR 1"] });
    expect(read(long)).toEqual({ fields: [], faults: [] });
    const filler = `${"x".repeat(70)}\n\n`.repeat(1000);
    expect(read("Required: `a`", "", filler, "Required: `b`")).toEqual({
      fields: ["a: string"],
      faults: [expect.stringMatching(/^warning REQUIREMENT_UNCLEAR \d{4}$/)],
    });
    expect(read(`${"> ".repeat(30)}Required: \`a\``)).toEqual({
      fields: [],
      faults: ["warning REQUIREMENT_UNCLEAR 1"],
    });
  });
});
