import { join } from "node:path";
import { createEngine } from "phasegate";
import { FileContent, FileStorage } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";

/** Returns the files of a workflow with phases of these names. */
function filesOf(...names: readonly string[]): Record<string, string> {
  const phases = names.map((phase_name, index) => ({ phase_number: index + 1, phase_name }));
  const metadata = { workflow_type: "flow_v1", name: "Flow", description: "Changes", version: "1.0.0", phases };
  const texts = names.flatMap((name, index): [string, string][] => [
    [`flow_v1/phases/${index + 1}/phase.md`, `# ${name}\n\nWork.\n`],
    [`flow_v1/phases/${index + 1}/gate-definition.yaml`, "evidence_schema: {done: {type: boolean}}\n"],
  ]);
  return { "flow_v1/metadata.json": JSON.stringify(metadata), ...Object.fromEntries(texts) };
}

/** Creates a state with two sessions: one has passed the first phase, the other none. */
async function aState() {
  const root = await temporaryFolder();
  const [state, workflows] = [join(root, "state"), join(root, "workflows")];
  await writeFiles(workflows, filesOf("Model", "Write", "Ship"));
  const storage = await FileStorage.open(state);
  const engine = createEngine({ storage, content: new FileContent({ roots: [workflows] }) });
  const start = async (target: string) => (await engine.start({ workflowType: "flow_v1", target })).sessionId;
  const [ahead, fresh] = [await start("a"), await start("b")];
  await engine.session(ahead).completePhase(1, { done: true });
  const change = (...names: readonly string[]) => writeFiles(workflows, filesOf(...names));
  const cli = (...args: string[]) => run("migrate", ...args, "--state", state, "--workflows", workflows, "--by", "ann");
  return { state, workflows, engine, ahead, fresh, change, cli };
}

describe("phasegate migrate", () => {
  it("has nothing to do where the definition is the same", async () => {
    const { cli, ahead } = await aState();
    expect(await cli(ahead)).toEqual({ code: 0, stderr: "", stdout: `${ahead}: nothing to do\n` });
  });

  it("says which completed phases are to be done again", async () => {
    const { cli, change, ahead } = await aState();
    await change("Write", "Model", "Ship");
    expect((await cli(ahead, "--dry-run")).stdout).toContain("would go on in its phase; to do again: Model; 2 diff");
    expect((await cli(ahead)).stdout).toContain("active in phase 1; to do again: Model\n");
  });

  it("says if no open session is on a workflow", async () => {
    const { cli, engine, ahead, fresh } = await aState();
    for (const id of [ahead, fresh]) await engine.session(id).delete({ by: "ann" });
    const stdout = "there is no open session on flow_v1\n";
    expect(await cli("--workflow", "flow_v1")).toEqual({ code: 0, stderr: "", stdout });
  });

  it("shows what would be done, and does it for all open sessions of a workflow", async () => {
    const { cli, change, engine, ahead, fresh, state } = await aState();
    await change("Survey", "Model", "Write", "Ship");
    const dry = await cli("--workflow", "flow_v1", "--dry-run");
    expect(dry).toMatchObject({ code: 0, stderr: "" });
    expect(dry.stdout).toContain(
      `would go on in phase 1; to do again: Model; 3 differences:\n  Survey is new\n  Model is phase 2, not 1\n`,
    );
    const { head } = await engine.session(ahead).state();
    expect(head.phase).toBe(2);
    const done = await cli("--workflow", "flow_v1", "--json");
    expect(JSON.parse(done.stdout)).toMatchObject({
      ...{ command: "migrate", by: "ann", refused: [] },
      done: expect.arrayContaining([
        {
          ...{ sessionId: ahead, moved: true, from: head.revision, to: expect.any(String) },
          ...{ status: "active", phase: 1, again: ["Model"] },
        },
        { sessionId: fresh, moved: true, from: head.revision, to: expect.any(String), status: "active", phase: 1 },
      ]),
    });
    expect(await engine.session(ahead).state()).toMatchObject({ currentPhase: 1, completedPhases: [] });
    const shown = await run("show", ahead, "--state", state);
    expect(shown.stdout).toContain("rolled back");
  });

  it("refuses a session whose phase is gone until that is accepted, and still moves the others", async () => {
    const { cli, change, engine, ahead, fresh, state } = await aState();
    await change("Write", "Ship");
    const refused = await cli(ahead);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("of flow_v1 differs: Model is gone");
    expect(refused.stderr).toContain('--accept "NAME=reason"');
    const dry = await cli(ahead, "--dry-run", "--json");
    expect(JSON.parse(dry.stdout).done).toMatchObject([{ moved: false, needsAccept: ["Model"] }]);
    const both = await cli("--workflow", "flow_v1", "--accept", "Model=a new tool does it");
    expect(both).toMatchObject({ code: 0, stderr: "" });
    expect(both.stdout).toMatch(new RegExp(`${ahead}: moved to revision \\S+, active in phase 1`));
    expect((await engine.session(fresh).state()).head.phase).toBe(1);
    const shown = await run("show", ahead, "--state", state);
    expect(shown.stdout).toContain("Model: gone from the workflow");
    expect(shown.stdout).toContain(
      "moved it to another revision by ann: accepted that Model is gone: a new tool does it",
    );
    const audit = await run("audit", ahead, "--state", state);
    expect(audit.stdout).toContain("Model is gone: accepted by ann for revision");
  });

  it("says which name to accept is no difference of any session", async () => {
    const { cli, change, ahead } = await aState();
    await change("Survey", "Model", "Write", "Ship");
    const done = await cli(ahead, "--accept", "Survey=known", "--accept", "Modle=typo");
    expect(done.code).toBe(2);
    expect(done.stdout).toContain("active in phase 3");
    expect(done.stderr).toBe('phasegate: --accept: no session has a difference "Modle"\n');
  });

  it.each([
    [[], "give ids of sessions, or --workflow"],
    [["some_id", "--workflow", "flow_v1"], "give ids of sessions, or --workflow"],
    [["--workflow", "flow_v1", "--accept", "Model"], 'Write it as "NAME=reason"'],
  ])("is used wrongly with %j", async (args, message) => {
    const { cli } = await aState();
    const wrong = await cli(...args);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain(message);
  });

  it("says that there is no workflow of that type", async () => {
    const { cli } = await aState();
    expect(await cli("--workflow", "flow_v2")).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/there is no workflow "flow_v2"[\s\S]*Did you mean "flow_v1"\?/),
    });
    expect((await cli("--workflow", "nope")).stderr).toContain('There are "flow_v1".');
  });

  it("needs the folders of workflows", async () => {
    const { state, ahead } = await aState();
    const without = await run("migrate", ahead, "--state", state, "--by", "ann");
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining("--workflows is missing") });
  });
});

describe("phasegate sessions --workflows", () => {
  it("shows which open sessions are on an older revision", async () => {
    const { change, cli, state, workflows, ahead, fresh, engine } = await aState();
    const list = (...args: string[]) => run("sessions", "--state", state, "--workflows", workflows, ...args);
    expect((await list()).stdout).not.toContain("older");
    await change("Model", "Write", "Ship", "Tell");
    await cli(fresh);
    const { sessions } = JSON.parse((await list("--json")).stdout);
    expect(sessions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ sessionId: ahead, older: true, revision: expect.any(String) }),
        expect.not.objectContaining({ sessionId: ahead, older: true }),
      ]),
    );
    const { stdout } = await list();
    expect(stdout).toContain("REVISION");
    expect(stdout).toContain("\n1 session on an older revision: phasegate migrate moves them\n");
    for (const phase of [2, 3]) await engine.session(ahead).completePhase(phase, { done: true });
    expect((await list()).stdout).not.toContain("older");
  });
});
