import { expect, it } from "vitest";
import { withPhaseKeys } from "../../src/rules/rename-phases.js";

const NAMES = new Map([
  ["1", "Test"],
  ["plan", "Plan it"],
]);

it.each([
  ['artifacts["1"].count > 2', 'artifacts["Test"].count > 2'],
  [
    'artifacts["1"].a + artifacts["2"].b == artifacts["1"].c',
    'artifacts["Test"].a + artifacts["2"].b == artifacts["Test"].c',
  ],
  ['"1" in artifacts && size(artifacts["1"].all) > 0', '"Test" in artifacts && size(artifacts["Test"].all) > 0'],
  ["artifacts['plan'].files.all(one, one != '')", "artifacts[\"Plan it\"].files.all(one, one != '')"],
  ['artifacts["1"].text == "artifacts[\\"1\\"]"', 'artifacts["Test"].text == "artifacts[\\"1\\"]"'],
  // Nothing that names a phase of these.
  ['artifacts["2"].count > 2', 'artifacts["2"].count > 2'],
  ['evidence.phase == "1"', 'evidence.phase == "1"'],
  ['options["1"] == "1" && "1" in evidence.artifacts', 'options["1"] == "1" && "1" in evidence.artifacts'],
  // No CEL: it is reported where it is checked.
  ['artifacts["1"].count >', 'artifacts["1"].count >'],
])("in the rule %s, keys of phases become those that are given", async (rule, expected) => {
  expect(await withPhaseKeys(rule, (key) => NAMES.get(key))).toBe(expected);
});
