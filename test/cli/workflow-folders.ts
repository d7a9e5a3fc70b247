const METADATA = {
  workflow_type: "small",
  version: "1.0.0",
  name: "Small",
  description: "Two phases on disk",
  category: "testing",
  estimated_duration: "5 minutes",
  phases: [
    { phase_number: 1, phase_name: "Build", purpose: "Make it work" },
    { phase_number: 2, phase_name: "Ship", purpose: "Give it away" },
  ],
};

const GATE = `checkpoint:
  strict: true
evidence_schema:
  tests_pass:
    type: boolean
    required: true
    description: all tests pass
`;

/** A valid workflow, as files. */
export const SMALL: Readonly<Record<string, string>> = {
  "small/metadata.json": JSON.stringify(METADATA, undefined, 2),
  "small/phases/1/phase.md": "# Phase 1: Build\n",
  "small/phases/1/gate-definition.yaml": GATE,
  "small/phases/2/phase.md": "# Phase 2: Ship\n",
  "small/phases/2/gate-definition.yaml": GATE.replace("tests_pass", "shipped"),
};

/** The same workflow with an unknown type, in line 5 of a gate. */
export const FAULTY: Readonly<Record<string, string>> = {
  ...SMALL,
  "small/phases/1/gate-definition.yaml": GATE.replace("boolean", "boolaen"),
};
