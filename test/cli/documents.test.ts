import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";
import { SMALL } from "./workflow-folders.js";

const GUIDE = Array.from({ length: 900 }, (_, line) => `Line ${line} of the guide, with "quotes" and 😀.`).join("\n");

const FILES = {
  ...SMALL,
  "small/phases/1/phase.md":
    "# Phase 1: Build\n\nMUST-READ: ../../core/guide.md\n\nSee `core/gone.md`, `core/short.md`.\n",
  "small/core/guide.md": GUIDE,
  "small/core/short.md": "Short. See [the guide](guide.md).",
  "small/phases/2/notes.md": "later",
};

describe("get_document, over MCP", () => {
  it("returns the documents that get_phase lists, page by page, and none of a later phase", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, FILES);
    const { ask, client } = await connectToServe(["--workflows", root, "--state", `${root}/state`]);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("pos_workflow");
    const { session_id, phase_content } = await ask({ action: "start", workflow_type: "small", target_file: "a.ts" });
    expect(phase_content).toMatchObject({
      documents: [
        { path: "core/guide.md", tokens: Math.ceil(GUIDE.length / 4) },
        { path: "core/short.md", tokens: 9 },
      ],
    });
    const short = await ask({ action: "get_document", session_id, path: "core/short.md" });
    expect(short).toEqual({
      ...{ status: "success", action: "get_document" },
      document: {
        ...{ path: "core/short.md", tokens: 9, content: "Short. See [the guide](guide.md)." },
        documents: [{ path: "core/guide.md", tokens: Math.ceil(GUIDE.length / 4) }],
      },
      next: { action: "complete_phase", session_id, phase: 1, evidence: expect.any(Object) },
    });

    let call: Record<string, unknown> = { action: "get_document", session_id, path: "../../core/guide.md" };
    let text = "";
    for (let pages = 0; call.action === "get_document" && pages < 20; pages += 1) {
      const { document, next } = await ask(call);
      text += Object(document).content;
      call = Object(next);
    }
    expect(text).toBe(GUIDE);
    expect(call).toEqual(short.next);

    for (const path of ["phases/2/notes.md", "../2/phase.md", "phases%2f2%2fphase.md"]) {
      const answer = await ask({ action: "get_document", session_id, path });
      expect(answer).toMatchObject({
        status: "error",
        code: "PHASE_LOCKED",
        current_phase_content: { phase_number: 1 },
      });
      expect(JSON.stringify(answer)).not.toContain("later");
    }
    expect(await ask({ action: "get_document", session_id, path: "phases/1/gate-definition.yaml" })).toMatchObject({
      ...{ status: "error", code: "PATH_REFUSED" },
    });
    expect(await ask({ action: "get_document", session_id })).toMatchObject({
      status: "error",
      error: expect.stringContaining("path"),
    });
  });
});

const PLANNED = {
  "build/metadata.json": JSON.stringify({
    ...{ workflow_type: "build", version: "1.0.0", name: "Build", description: "From a plan", category: "testing" },
    ...{ dynamic_phases: true, phases: [{ phase_number: 0, phase_name: "Look" }] },
  }),
  "build/phases/0/phase.md": "# Look\n\nRead {plan} for {target}; write {{target}} for a placeholder.\n",
  "build/phases/dynamic/phase-template.md": "# [PHASE_NAME]\n\nFor {target}. Go to Phase [NEXT_PHASE_NUMBER].\n",
  "build/phases/dynamic/task-template.md":
    '# [TASK_NAME]\n\n[TASK_STEPS or what it takes]\n\nAfter [DEPENDENCIES or "it"].\n',
};

describe("placeholders in texts, over MCP", () => {
  it("are filled, or left out with a note", async () => {
    const root = await temporaryFolder();
    await writeFiles(join(root, "workflows"), PLANNED);
    await writeFiles(join(root, "project"), {
      "specs/tasks.md": "### Phase 1: Dig\n\n- [ ] **Task 1.1**: Dig for {plan}\n",
    });
    const flags = ["--workflows", join(root, "workflows"), "--state", join(root, "state")];
    const { ask } = await connectToServe([...flags, "--project", join(root, "project")]);
    const { session_id, phase_content } = await ask({ action: "start", workflow_type: "build", target_file: "specs" });
    expect(Object(phase_content).content).toBe(
      "# Look\n\nRead specs/tasks.md for specs; write {target} for a placeholder.\n",
    );
    expect(phase_content).not.toHaveProperty("note");
    await ask({ action: "complete_phase", session_id, phase: 0, evidence: { seen: true } });
    expect(await ask({ action: "get_phase", session_id })).toMatchObject({
      phase_content: {
        content: "# Dig\n\nFor specs. Go to Phase .\n",
        note: "left out of the text, since nothing fills it here: [NEXT_PHASE_NUMBER]",
      },
    });
    expect(await ask({ action: "get_task", session_id, phase: 1, task_number: 1 })).toMatchObject({
      task_content: {
        content: "# Dig for {plan}\n\n\n\nAfter it.\n",
        note: "left out of the text, since nothing fills it here: [TASK_STEPS or what it takes]",
      },
    });
    const { stdout } = await run("validate", join(root, "workflows"));
    expect(stdout).toMatch(/task-template\.md:3:1: warning: nothing fills "\[TASK_STEPS or what it takes\]"/);
    expect(stdout).not.toMatch(/nothing fills "\[(?!TASK_STEPS)/);
  });
});

describe("phasegate validate", () => {
  it("shows the line where a text names a document that does not exist", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, FILES);
    const { stdout } = await run("validate", root);
    expect(stdout).toMatch(/phases\/1\/phase\.md:5[: ].*warning.*core\/gone\.md.*doesn't exist/s);
  });
});
