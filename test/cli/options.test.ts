import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Answer } from "../mcp/connect-in-memory.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { CORPUS, skipReason } from "../workflow/corpus-workflow.js";
import { run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";

const REAL = "spec_creation_v1";
const REASON = skipReason(REAL);

const METADATA = {
  ...{ workflow_type: "report", version: "1.0.0", name: "Report", description: "Writes a report" },
  ...{ category: "testing", estimated_duration: "1 hour", target: "none" },
  options_schema: {
    type: "object",
    properties: {
      audience: { enum: ["dev", "ops"], description: "who reads it" },
      depth: { type: "integer", minimum: 1, default: 2 },
      docs: { type: "array", items: { type: "string" } },
      file: { type: "string", default: "report.md" },
    },
    required: ["audience"],
    additionalProperties: false,
  },
  phases: [
    { phase_number: 0, phase_name: "Documents", skip_condition: "No docs in options" },
    { phase_number: 1, phase_name: "Write" },
    { phase_number: 2, phase_name: "Measure", skip_when: "options.depth < 2" },
    { phase_number: 3, phase_name: "Deploy", skip_when: 'options.audience == "dev"' },
  ],
};

const DONE = "evidence_schema: {done: {type: boolean}}\n";
const WRITTEN = `evidence_schema: {pages: {type: integer, validator: "value >= options.depth"}}
verify: {verifier: file_exists, path: "{options.file}"}
`;

const FILES = {
  "workflows/report/metadata.json": JSON.stringify(METADATA),
  "workflows/report/phases/0/phase.md": "# Phase 0: Documents\n\nRead {options.docs}.\n",
  "workflows/report/phases/0/gate-definition.yaml": DONE,
  "workflows/report/phases/1/phase.md": "# Phase 1: Write\n\nWrite {options.file} for {options.audience}.\n",
  "workflows/report/phases/1/gate-definition.yaml": WRITTEN,
  "workflows/report/phases/2/phase.md": "# Phase 2: Measure\n",
  "workflows/report/phases/2/gate-definition.yaml": DONE,
  "workflows/report/phases/3/phase.md": "# Phase 3: Deploy\n",
  "workflows/report/phases/3/gate-definition.yaml": DONE,
};

/** Serves the workflow `report` to the official client. */
async function serveReport() {
  const folder = await temporaryFolder();
  await writeFiles(folder, { ...FILES, "project/a.md": "a\n" });
  const state = join(folder, "state");
  const flags = ["--workflows", join(folder, "workflows"), "--state", state, "--project", join(folder, "project")];
  const { ask } = await connectToServe(flags);
  const start = (options: Answer) => ask({ action: "start", workflow_type: "report", options });
  const write = (path: string) => writeFiles(join(folder, "project"), { [path]: "text\n" });
  return { ask, start, state, write };
}

describe(`the condition of a real workflow${REASON}`, () => {
  it.skipIf(REASON !== "")(`skips its first phase without documents, and not with them${REASON}`, async () => {
    const folder = await temporaryFolder();
    const { ask } = await connectToServe(["--workflows", CORPUS, "--state", join(folder, "state")]);
    const call = { action: "start", workflow_type: REAL, target_file: "specs/a" };
    expect(await ask(call)).toMatchObject({
      status: "success",
      current_phase: 1,
      skipped_phases: [
        {
          phase_number: 0,
          title: "Supporting Documents Integration",
          reason: "No supporting_docs in options",
        },
      ],
      phase_content: { phase_number: 1 },
    });
    const documented = await ask({ ...call, options: { supporting_docs: ["notes.md"] } });
    expect(documented).toMatchObject({ status: "success", current_phase: 0 });
    expect(documented).not.toHaveProperty("skipped_phases");
  });
});

describe("the options of a workflow", () => {
  it("are listed with their types, and are in the call to make", async () => {
    const { ask } = await serveReport();
    expect(await ask({ action: "list_workflows" })).toMatchObject({
      workflows: [
        {
          options: {
            audience: '"dev" | "ops", required: who reads it',
            depth: "integer, default 2",
            docs: "list of string",
            file: 'string, default "report.md"',
          },
        },
      ],
      next: {
        action: "start",
        workflow_type: "report",
        options: { audience: '<value: "dev" | "ops", required: who reads it>' },
      },
    });
  });

  it("are refused at the start with all that is wrong, and what there is", async () => {
    const { ask, start } = await serveReport();
    const refused = await start({ audiance: "dev", depth: "deep" });
    expect(refused).toMatchObject({
      status: "error",
      code: "INVALID_INPUT",
      error: expect.stringContaining('there is no option "audiance"; did you mean "audience"?'),
      remediation: expect.stringContaining("depth (integer, default 2)"),
    });
    expect(refused.error).toContain('the option "audience" is missing');
    expect(refused.error).toContain("options.depth: expected number, received string");
    expect(await ask({ action: "start", workflow_type: "report" })).toMatchObject({ code: "INVALID_INPUT" });
    expect(await ask({ action: "list_sessions" })).toMatchObject({ sessions: [] });
  });

  it("decide which phases are done, in every answer and in the log", async () => {
    const { ask, start, state, write } = await serveReport();
    const started = await start({ audience: "dev" });
    const { session_id } = started;
    expect(started).toMatchObject({
      current_phase: 1,
      options: { audience: "dev", depth: 2, file: "report.md" },
      skipped_phases: [{ phase_number: 0, title: "Documents", reason: "No docs in options" }],
      phase_content: { content: "# Phase 1: Write\n\nWrite report.md for dev.\n" },
    });
    const submit = (phase: number, evidence: Answer) => ask({ action: "complete_phase", session_id, phase, evidence });
    expect(await submit(1, { pages: 1 })).toMatchObject({ code: "GATE_FAILED" });
    expect(await submit(1, { pages: 2 })).toMatchObject({ problems: [{ problem: "unverified" }] });
    await write("report.md");
    expect(await submit(1, { pages: 2 })).toMatchObject({ checkpoint_passed: true, next_phase: { phase_number: 2 } });
    expect(await submit(2, { done: true })).toMatchObject({
      checkpoint_passed: true,
      workflow_complete: true,
      next_phase: null,
      skipped_phases: [{ phase_number: 3, reason: 'skip_when holds: options.audience == "dev"' }],
    });
    expect(await ask({ action: "get_state", session_id })).toMatchObject({
      session_status: "completed",
      completed_phases: [1, 2],
      skipped_phases: [0, 3],
      skip_reasons: { phase_0: "No docs in options", phase_3: expect.stringContaining("options.audience") },
    });
    expect(await ask({ action: "get_state", session_id, brief: true })).toMatchObject({ skipped_phases: "0, 3" });
    expect(await ask({ action: "get_history", session_id })).toMatchObject({
      history: expect.arrayContaining([
        expect.objectContaining({ phase: 0, status: "skipped", reason: "No docs in options", by: "skip_when" }),
      ]),
    });
    const shown = await run("show", String(session_id), "--state", state);
    expect(shown.stdout).toContain("» Phase 0: Documents");
    expect(shown.stdout).toContain("· No docs in options (skip_when)");
    const audited = await run("audit", String(session_id), "--state", state);
    expect(audited.code).toBe(0);
  });

  it("decide it again after a rollback", async () => {
    const { ask, start, write } = await serveReport();
    await write("report.md");
    const { session_id } = await start({ audience: "ops", depth: 1, docs: ["a.md", "b.md"] });
    expect(await ask({ action: "get_phase", session_id })).toMatchObject({
      phase_content: { content: "# Phase 0: Documents\n\nRead a.md, b.md.\n" },
    });
    const submit = (phase: number, evidence: Answer) => ask({ action: "complete_phase", session_id, phase, evidence });
    await submit(0, { done: true });
    const skipped = [{ phase_number: 2, title: "Measure", reason: "skip_when holds: options.depth < 2" }];
    expect(await submit(1, { pages: 1 })).toMatchObject({ skipped_phases: skipped, next_phase: { phase_number: 3 } });
    expect(await ask({ action: "rollback", session_id, to_phase: 2 })).toMatchObject({
      rolled_back: true,
      skipped_phases: skipped,
      current_phase: 3,
      phase_content: { phase_number: 3 },
    });
    expect(await ask({ action: "rollback", session_id, to_phase: 1 })).toMatchObject({
      phase_content: { phase_number: 1 },
    });
    expect(await submit(1, { pages: 1 })).toMatchObject({ skipped_phases: skipped });
  });
});
