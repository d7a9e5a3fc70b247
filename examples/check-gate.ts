/**
 * Tries evidence at a gate without an engine or a session: the first thing to do when a gate file is new. Shows what is
 * missing, what a wrong type gives, and what a rule says.
 */
import assert from "node:assert/strict";
import { MemoryContent } from "phasegate";
import { checkGate, compileRules } from "phasegate/gate";

const METADATA = {
  workflow_type: "release",
  name: "Release",
  version: "1.0",
  description: "Releases a version",
  phases: 1,
};

const GATE = `
evidence_schema:
  tests_passed: {type: integer, description: how many tests passed}
  tests_failed: {type: integer, description: how many tests failed}
cross_field_validation:
  - rule: evidence.tests_failed * 10 <= evidence.tests_passed
    error_message: more than a tenth of the tests failed
`;

const content = new MemoryContent({
  sources: {
    release: {
      "metadata.json": JSON.stringify(METADATA),
      "phases/1/phase.md": "# Phase 1: Test\n\nRun the tests.\n",
      "phases/1/gate-definition.yaml": GATE,
    },
  },
});

// #region check
const definition = await content.definition("release"); // of any provider of workflows, such as FileContent
const gate = definition?.structure.phases[0]?.gate;
assert(gate !== undefined, "the workflow has a gate");

const rules = await compileRules(gate); // undefined if the gate has none
const check = (evidence: { [name: string]: number | string }) => {
  const verdict = checkGate(gate, evidence, rules === undefined ? {} : { rules });
  return verdict.passed ? "passed" : verdict.problems.map(({ message }) => message).join("; ");
};

console.log(check({ tests_passed: 40 })); // a field is missing
console.log(check({ tests_passed: "all", tests_failed: 0 })); // a field has the wrong type
console.log(check({ tests_passed: 40, tests_failed: 9 })); // the rule does not hold
console.log(check({ tests_passed: 40, tests_failed: 0 }));
// #endregion check

assert.match(check({ tests_passed: 40 }), /tests_failed/);
assert.match(check({ tests_passed: 40, tests_failed: 9 }), /more than a tenth of the tests failed/);
assert.equal(check({ tests_passed: 40, tests_failed: 0 }), "passed");
