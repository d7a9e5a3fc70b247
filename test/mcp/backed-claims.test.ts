import { expect, it } from "vitest";
import { run } from "../cli/run-cli.js";
import { connectToServe } from "../cli/serve-client.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { makeEngine } from "../support/make-engine.js";
import { writeFiles } from "../support/write-files.js";

it("an engine refuses a misspelt 'backed', which would ask for no proofs", () => {
  // @ts-expect-error: plain JavaScript may pass anything.
  expect(() => makeEngine({ claims: "baked" })).toThrow("claims must be plain or backed");
});

it("serve --claims backed takes a claim with a proof, looks up the file that it names, and shows it", async () => {
  const root = await temporaryFolder();
  await writeFiles(root, {
    "project/docs/review.md": "# Review\n",
    "workflows/review/metadata.json": JSON.stringify({
      workflow_type: "review",
      name: "Review",
      description: "Reviews",
      version: "1.0.0",
      phases: [1, 2].map((phase_number) => ({ phase_number, phase_name: `Phase ${phase_number}` })),
    }),
    "workflows/review/phases/1/phase.md": "# Phase 1\n\nReview.\n",
    "workflows/review/phases/1/gate-definition.yaml": `checkpoint: {strict: true, allow_override: false}
evidence_schema:
  reviewed: {type: boolean, required: true, description: a person has read it}
`,
    "workflows/review/phases/2/phase.md": "# Phase 2\n\nShip.\n",
    "workflows/review/phases/2/gate-definition.yaml": `checkpoint: {strict: true, allow_override: false}
evidence_schema:
  same: {type: boolean, required: true, validator: "value == artifacts['1'].reviewed"}
`,
  });
  const state = `${root}/state`;
  const folders = ["--workflows", `${root}/workflows`, "--state", state, "--project", `${root}/project`];
  const { ask } = await connectToServe([...folders, "--claims", "backed"]);
  const { session_id: id } = await ask({ action: "start", workflow_type: "review", target_file: "docs" });
  const { phase_content, next } = await ask({ action: "get_phase", session_id: id });
  expect(phase_content).toMatchObject({
    checkpoint: { evidence_schema: { properties: { reviewed: { required: ["claim", "proof"] } } } },
  });
  expect(next).toMatchObject({ evidence: { reviewed: "<claim and proof>" } });
  const complete = (phase: number, evidence: object) =>
    ask({ action: "complete_phase", session_id: id, phase, evidence });
  expect(await complete(1, { reviewed: true })).toMatchObject({
    problems: [{ field: "reviewed", problem: "invalid", expected: "an object with claim and proof" }],
    next: { evidence: { reviewed: { claim: "<boolean>", proof: "<text>" } } },
  });
  expect(await complete(1, { reviewed: { claim: true, proof: "docs/missing.md:1" } })).toMatchObject({
    problems: [{ field: "reviewed", problem: "unverified" }],
  });
  // A retry keeps the evidence, and with it the proof.
  await ask({ action: "retry_phase", session_id: id, phase: 1 });
  expect(await complete(1, {})).toMatchObject({ problems: [{ field: "reviewed", problem: "unverified" }] });
  expect(await complete(1, { reviewed: { claim: true, proof: "docs/review.md:1" } })).toMatchObject({
    checkpoint_passed: true,
  });
  expect(await ask({ action: "get_history", session_id: id })).toMatchObject({
    history: [{}, {}, {}, { status: "completed", proofs: ["reviewed: docs/review.md:1"] }, {}],
  });
  expect((await run("show", String(id), "--state", state)).stdout).toContain("· reviewed: see docs/review.md:1");
  expect(await complete(2, { same: { claim: true, proof: "npm test" } })).toMatchObject({ workflow_complete: true });
});
