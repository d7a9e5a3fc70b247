import { expect, it } from "vitest";
import { uncheckedFields } from "../../src/gate/unchecked.js";

it("names the fields that no verifier has looked at, or found true", () => {
  const evidence = { commit: "4f1c2ab", why: "it subtracts", report: "r.md", tests_pass: true };
  const verification = [{ field: "commit", ok: true }, { field: "report", ok: false }, { ok: true }];
  expect(uncheckedFields(evidence, verification)).toEqual(["why", "report", "tests_pass"]);
  expect(uncheckedFields({}, verification)).toEqual([]);
});
