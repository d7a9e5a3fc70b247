import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connectToServe } from "../cli/serve-client.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

/** Phases with their names in their texts; the last gate names them. */
const files = (rule: string, since = "threat_model", metadata = {}) => ({
  "metadata.json": JSON.stringify({
    ...{ workflow_type: "named", name: "Named", description: "Names phases", version: "1.0.0", phases: 3 },
    ...metadata,
  }),
  "phases/1/phase.md": "# Phase 1: Threat model\n\nThink.\n",
  "phases/1/gate-definition.yaml": "evidence_schema: {threats: {type: integer}}\n",
  "phases/2/phase.md": "# Phase 2: Build\n\nWork.\n",
  "phases/2/gate-definition.yaml": "evidence_schema: {built: {type: boolean}}\n",
  "phases/3/phase.md": "# Phase 3: Ship\n\nGive it away.\n",
  "phases/3/gate-definition.yaml": `evidence_schema: {mitigated: {type: integer}}
cross_field_validation:
  - ${JSON.stringify(rule)}
verify: {verifier: unchanged_since_phase_start, path: model.md, since: ${since}}
`,
});

async function serving(workflow: Record<string, string>) {
  const root = await temporaryFolder();
  const project = join(root, "project");
  await writeFiles(join(root, "workflows/named"), workflow);
  await writeFiles(project, { "model.md": "before" });
  const places = ["--workflows", join(root, "workflows"), "--state", join(root, "state"), "--project", project];
  const { ask } = await connectToServe(places);
  const start = () => ask({ action: "start", workflow_type: "named", target_file: "." });
  return { ask, start, write: (text: string) => writeFiles(project, { "model.md": text }) };
}

describe("a folder whose gates name phases, over MCP", () => {
  it.each([
    ['artifacts.threat_model.threats == evidence.mitigated && artifacts["2"].built', "threat_model"],
    ['artifacts["Threat model"].threats == evidence.mitigated && artifacts.build.built', "{phase: Threat model}"],
  ])("is checked by the evidence, and with the files, of the phase: %s", async (rule, since) => {
    const { ask, start, write } = await serving(files(`${rule} == true`, since));
    const { session_id } = await start();
    const submit = (phase: number, evidence: object) => ask({ action: "complete_phase", session_id, phase, evidence });
    await write("the model");
    expect(await submit(1, { threats: 3 })).toMatchObject({ checkpoint_passed: true });
    await write("changed");
    expect(await submit(2, { built: true })).toMatchObject({ checkpoint_passed: true });
    expect(await submit(3, { mitigated: 2 })).toMatchObject({
      code: "GATE_FAILED",
      validation_errors: [expect.stringContaining("doesn't hold")],
    });
    expect(await submit(3, { mitigated: 3 })).toMatchObject({
      code: "GATE_FAILED",
      validation_errors: [expect.stringContaining("model.md was changed since phase 1 was passed")],
    });
    await write("the model");
    expect(await submit(3, { mitigated: 3 })).toMatchObject({ workflow_complete: true });
  });

  it.each([
    [files("artifacts.thread_model.threats == 3"), 'artifacts has no phase "thread_model"'],
    [files("artifacts.ship.mitigated == 3"), 'artifacts has no phase "ship"'],
    [files("artifacts.threat_model.threads == 3"), 'the evidence of phase 1 has no field "threads"'],
    [files("artifacts.build.built == true", "Ship"), '`since` names the phase "Ship", which is not before phase 3'],
    [files("1 == 1", "start", { start_phase: "Shop" }), "there is no phase Shop to start with (Write one of 1 (Threat"],
    [
      { ...files("artifacts.build.built == true"), "phases/1/phase.md": "# Phase 1: build\n" },
      '"build" is the name of 2 phases: 1 (build), 2 (Build) (Write the number of the one that is meant.)',
    ],
  ])("is listed as broken if a name is wrong: %#", async (workflow, why) => {
    const { ask, start } = await serving(workflow);
    expect(JSON.stringify(await ask({ action: "list_workflows" }))).toContain(JSON.stringify(why).slice(1, -1));
    expect(await start()).toMatchObject({ status: "error", code: "DEFINITION_INVALID" });
  });

  it("begins with a phase by its name", async () => {
    const workflow = files("artifacts.build.built == true", "build", { start_phase: "Build" });
    const { start } = await serving(workflow);
    expect(await start()).toMatchObject({ current_phase: 2 });
  });
});
