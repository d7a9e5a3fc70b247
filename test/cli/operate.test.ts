import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, MemoryContent } from "phasegate";
import { ScriptedDecider } from "phasegate/ai";
import { FileStorage } from "phasegate/fs";
import { createRoutedEngine } from "phasegate/routed";
import { describe, expect, it } from "vitest";
import { hashEvidence } from "../../src/approval/message.js";
import { FilePlans } from "../../src/content/file-plans.js";
import { FileContent } from "../../src/content/files.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { DEPTH_GATE, gardenWith } from "../support/gated-garden.js";
import { built, twoPhases } from "../support/workflows.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";

const ESC = "\u001b[31m";
const BY = ["--by", `ann${ESC}`, "--note", `the disk ${ESC}was full`];

/** Creates a state with a host's engine on it. */
async function aState() {
  const state = join(await temporaryFolder(), "state");
  const storage = await FileStorage.open(state);
  const content = new MemoryContent({ workflows: [twoPhases] });
  const limits = { maxAttempts: 1, maxAttemptsTotal: 2, maxActiveSessions: 1000 };
  const engine = createEngine({ storage, content, limits });
  const start = async (target: string) => (await engine.start({ workflowType: "two_phases", target })).sessionId;
  const failed = async (target: string) => {
    const id = await start(target);
    await engine.session(id).completePhase(1, { summary: `no ${ESC}` });
    return id;
  };
  const cli = (command: string, ...args: string[]) => run(command, ...args, "--state", state);
  return { state, engine, start, failed, cli };
}

describe("phasegate retry", () => {
  it("grants more attempts than the agent has, and is shown as done by the host", async () => {
    const { engine, failed, cli } = await aState();
    const id = await failed("a");
    await engine.session(id).retryPhase(1, { as: "agent" });
    await engine.session(id).completePhase(1, {});
    await expect(engine.session(id).retryPhase(1, { as: "agent" })).rejects.toMatchObject({
      code: "ATTEMPTS_EXHAUSTED",
    });
    const done = await cli("retry", id, ...BY);
    expect(done).toEqual({ code: 0, stderr: "", stdout: `${id}: phase 1 may be tried again\n` });
    expect(await engine.session(id).state()).toMatchObject({ status: "active", exhausted: false });
    const shown = await cli("show", id);
    expect(shown.stdout).toContain("retried by ann\\u001b[31m: the disk \\u001b[31mwas full");
    expect(shown.stdout).not.toContain(ESC);
    expect(await engine.session(id).completePhase(1, built)).toMatchObject({ passed: true });
  });

  it("does the others if one of several is refused, and says which in JSON", async () => {
    const { failed, start, cli } = await aState();
    const [one, two, fine] = [await failed("one"), await failed("two"), await start("fine")];
    const both = await cli("retry", one, fine, "not_there_x_20260101_000000", two, "--by", "ann");
    expect(both.stdout.split("\n")).toEqual([
      `${one}: phase 1 may be tried again`,
      `${two}: phase 1 may be tried again`,
      "",
    ]);
    expect(both.code).toBe(1);
    expect(both.stderr).toContain(
      `phasegate: ${fine}: retry is not possible: no attempt at phase 1 has failed. ` +
        "Possible now: phasegate suspend, phasegate delete; skip and override, if the workflow allows them.\n",
    );
    expect(both.stderr).toContain("there is no session not_there_x_20260101_000000");
    const again = await cli("retry", one, "--by", "ann", "--json");
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout)).toMatchObject({
      ...{ command: "retry", by: "ann", done: [] },
      refused: [
        {
          ...{ sessionId: one, code: "INVALID_TRANSITION", remedy: expect.stringContaining("Possible now") },
          url: expect.stringMatching(/errors\.md#invalid_transition$/),
        },
      ],
    });
    expect(await cli("retry", one, "--by", "ann")).toMatchObject({ code: 1, stdout: "" });
  });

  it("grants more attempts after a rollback too, whatever limit the server has", async () => {
    const { engine, cli } = await aState();
    const { sessionId: id } = await engine.start({ workflowType: "two_phases", target: "a" });
    await engine.session(id).completePhase(1, {});
    await engine.session(id).retryPhase(1, { as: "agent" });
    await engine.session(id).completePhase(1, {});
    await engine.session(id).skipPhase(1, { by: "ann", note: "known" });
    await engine.session(id).rollback(1);
    await expect(engine.session(id).completePhase(1, built)).rejects.toMatchObject({
      code: "ATTEMPTS_EXHAUSTED",
    });
    expect(await cli("retry", id, ...BY)).toMatchObject({ code: 0, stderr: "" });
    expect(await engine.session(id).completePhase(1, built)).toMatchObject({ passed: true });
    expect(await cli("retry", id, ...BY)).toMatchObject({ code: 1 });
  });

  it("wants the name of somebody", async () => {
    const { failed, cli } = await aState();
    expect(await cli("retry", await failed("a"), "--by", " ")).toMatchObject({ code: 2, stdout: "" });
  });

  it("refuses another phase than the current one", async () => {
    const { failed, cli } = await aState();
    const id = await failed("a");
    const { code, stderr } = await cli("retry", id, "--by", "ann", "--phase", "2");
    expect([code, stderr]).toEqual([1, expect.stringContaining("phase 2 is locked")]);
  });
});

describe("phasegate skip and override", () => {
  it("pass a phase where the workflow allows it, with the name and the reason", async () => {
    const { engine, start, cli } = await aState();
    const [one, two] = [await start("one"), await start("two")];
    const skip = await cli("skip", one, ...BY, "--json");
    expect(JSON.parse(skip.stdout)).toEqual({
      ...{ command: "skip", by: `ann${ESC}`, refused: [] },
      done: [{ sessionId: one, status: "active", phase: 2, passed: 1 }],
    });
    expect(skip.stdout).not.toContain(ESC);
    const over = await cli("override", two, ...BY, "--phase", "1");
    expect(over.stdout).toBe(`${two}: phase 1 passed without evidence; phase 2 is next\n`);
    const history = [...(await engine.session(one).history()), ...(await engine.session(two).history())];
    expect(history).toMatchObject([
      { status: "skipped", by: `ann${ESC}`, reason: `the disk ${ESC}was full` },
      { status: "active" },
      { status: "overridden", by: `ann${ESC}` },
      { status: "active" },
    ]);
    const refused = await cli("skip", one, ...BY);
    expect(refused).toMatchObject({
      ...{ code: 1, stdout: "" },
      stderr: expect.stringContaining("the definition does not allow skip in phase 2"),
    });
    expect(await cli("override", two, ...BY, "--phase", "1")).toMatchObject({ code: 1 });
  });

  it("need a name and a reason", async () => {
    const { start, cli } = await aState();
    const id = await start("a");
    expect(await cli("skip", id, "--by", "ann")).toMatchObject({ code: 2, stderr: expect.stringContaining("--note") });
    expect(await cli("override", id, "--note", "x")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--by"),
    });
    expect(await cli("delete", id)).toMatchObject({ code: 2 });
  });
});

describe("phasegate suspend and resume", () => {
  it("pause a phased session, and let it go on", async () => {
    const { engine, start, cli } = await aState();
    const id = await start("a");
    expect((await cli("suspend", id, ...BY)).stdout).toBe(`${id}: paused in phase 1\n`);
    expect(await engine.session(id).state()).toMatchObject({ status: "paused" });
    expect(await cli("suspend", id, ...BY)).toMatchObject({ code: 1 });
    expect((await cli("resume", id, ...BY)).stdout).toMatch(/: active in phase 1, after \d+s\n$/);
    expect(await cli("resume", id, ...BY)).toMatchObject({ code: 1 });
  });
});

describe("an instance of a routed workflow", () => {
  it("is suspended, resumed, retried and deleted, and nothing else", async () => {
    const { state, cli } = await aState();
    const engine = createRoutedEngine({
      storage: await FileStorage.open(state),
      workflows: gardenWith(DEPTH_GATE),
      decider: new ScriptedDecider(["Sow"]),
      limits: { maxAttempts: 1 },
    });
    const { sessionId: id } = await engine.start({ workflow: "GARDEN" });
    expect((await cli("suspend", id, ...BY)).stdout).toBe(`${id}: suspended at Dig\n`);
    const early = await cli("retry", id, ...BY);
    expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining("retry is not possible") });
    expect(early.stderr).toContain("Possible now: phasegate resume, phasegate delete.");
    expect((await cli("resume", id, ...BY)).stdout).toBe(`${id}: runs again at Dig\n`);
    await engine.session(id).advance({ report: { status: "success", details: { depth: `deep ${ESC}` } } });
    for (const option of [["--phase", "1"], ["--reset"]]) {
      const phased = await cli("retry", id, ...BY, ...option);
      expect(phased).toMatchObject({ code: 2, stderr: expect.stringContaining(`${option[0]} is for phased sessions`) });
    }
    expect(JSON.parse((await cli("retry", id, ...BY, "--json")).stdout).done).toEqual([
      { sessionId: id, status: "RUNNING", step: "Dig" },
    ]);
    const running = await cli("resume", id, ...BY);
    expect(running).toMatchObject({ code: 1, stderr: expect.stringContaining("the workflow is RUNNING") });
    expect(running.stderr).toContain("Possible now: phasegate suspend, phasegate delete.");
    const shown = await cli("show", id);
    expect(shown.stdout).toContain("Dig: SUSPENDED by ann\\u001b[31m");
    expect(shown.stdout).toContain("Dig: RETRIED by ann\\u001b[31m");
    expect(shown.stdout).toContain(`evidence ${hashEvidence({ depth: `deep ${ESC}` })}`);
    expect(shown.stdout).not.toContain(ESC);
    for (const command of ["skip", "override"]) {
      expect(await cli(command, id, ...BY)).toMatchObject({
        ...{ code: 1, stdout: "" },
        stderr: expect.stringContaining("hint: Use retry, suspend, resume, assign or delete."),
      });
    }
    const json = JSON.parse((await cli("skip", id, ...BY, "--json")).stdout);
    expect(json).toMatchObject({ done: [], refused: [{ sessionId: id, code: "UNSUPPORTED" }] });
    expect(json.refused[0]).not.toHaveProperty("error");
    expect(await cli("delete", id, ...BY)).toMatchObject({ code: 0 });
    expect(await cli("delete", id, ...BY)).toMatchObject({ code: 1 });
  });
});

describe("phasegate delete and cleanup", () => {
  it("delete what is named, and what is old", async () => {
    const { engine, start, cli, failed } = await aState();
    const [one, two, lost] = [await start("one"), await start("two"), await failed("lost")];
    expect((await cli("delete", one, ...BY)).stdout).toBe(`${one}: deleted\n`);
    expect(await cli("delete", one, ...BY)).toMatchObject({ code: 1 });
    const old = ["--older-than", "0s", "--by", "ann"];
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await cli("cleanup", "--older-than", "1h", "--by", "ann")).stdout).toBe("0 sessions deleted\n");
    expect((await cli("cleanup", ...old, "--preview", "--status", "failed")).stdout).toBe(
      `${lost}\n1 session would be deleted\n`,
    );
    const gone = await cli("cleanup", ...old, "--status", "failed", "--json");
    expect(JSON.parse(gone.stdout)).toEqual({ preview: false, count: 1, removed: [lost], kept: [] });
    expect((await engine.listSessions()).items.map(({ sessionId }) => sessionId)).toEqual([two]);
    for (const age of ["7", "d", "-1d", "1y"]) {
      expect(await cli("cleanup", "--older-than", age, "--by", "ann")).toMatchObject({ code: 2 });
    }
    expect(await cli("cleanup", "--by", "ann")).toMatchObject({ code: 2 });
  });
});

it("keep a session that can't be read, and name it", async () => {
  const { state, start, cli } = await aState();
  const [whole, edited] = [await start("whole"), await start("edited")];
  const files = await readdir(state, { recursive: true });
  const file = join(state, files.find((name) => name.includes(edited) && /1\.json$/.test(name)) ?? "");
  await writeFile(file, (await readFile(file, "utf8")).replace("started", "startet"));
  await new Promise((resolve) => setTimeout(resolve, 5));
  const { code, stdout, stderr } = await cli("cleanup", "--older-than", "0s", "--by", "ann");
  expect([code, stdout]).toEqual([1, `${whole}\n1 session deleted\n`]);
  expect(stderr).toMatch(new RegExp(`^phasegate: kept: .*${edited}`));
});

const PLANNED = {
  "planned/metadata.json": JSON.stringify({
    ...{ workflow_type: "planned", version: "1.0.0", name: "Planned", description: "From a plan" },
    phases: [{ phase_number: 0, phase_name: "Look" }],
    dynamic_phases: true,
    dynamic_config: {
      source_path_key: "spec_path",
      templates: { phase: "phases/dynamic/phase-template.md", task: "phases/dynamic/task-template.md" },
    },
  }),
  "planned/phases/0/phase.md": "# Phase 0: Look\n",
  "planned/phases/dynamic/phase-template.md": "# Phase [PHASE_NUMBER]: [PHASE_NAME]\n",
  "planned/phases/dynamic/task-template.md": "# Task [TASK_ID]: [TASK_NAME]\n",
};
const PLAN = `# Tasks

## Phase 1: Build

- [ ] **Task 1.1**: Write it
  - **Acceptance Criteria:**
    - [ ] it works
- [ ] **Task 1.2**: Test it

### Validation Gate

- [ ] all tests pass
- [ ] reviewed
`;

describe("phasegate sync", () => {
  it("adopts a plan that asks for less, which the agent may not", async () => {
    const root = await temporaryFolder();
    const [workflows, project, state] = [join(root, "workflows"), join(root, "project"), join(root, "state")];
    await writeFiles(workflows, PLANNED);
    await mkdir(join(project, "specs"), { recursive: true });
    await writeFile(join(project, "specs/tasks.md"), PLAN);
    const engine = createEngine({
      storage: await FileStorage.open(state),
      content: new FileContent({ roots: [workflows] }),
      plans: new FilePlans({ root: project }),
    });
    const options = { spec_path: "specs" };
    const { sessionId: id } = await engine.start({ workflowType: "planned", target: "specs", options });
    await writeFile(join(project, "specs/tasks.md"), PLAN.replace("- [ ] reviewed\n", ""));
    await expect(engine.session(id).syncPlan({ as: "agent" })).rejects.toMatchObject({
      code: "NOT_ALLOWED",
      remedy: expect.stringContaining("phasegate sync"),
    });
    const flags = ["--state", state, "--project", project, "--workflows", workflows];
    const preview = await run("sync", id, "--by", "ann", "--preview", ...flags);
    expect(preview).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing was changed") });
    const done = await run("sync", id, ...BY, "--json", ...flags);
    expect(JSON.parse(done.stdout).done).toMatchObject([{ sessionId: id, changed: true, takenAway: 1 }]);
    expect(await engine.session(id).syncPlan({ as: "agent" })).toMatchObject({ changed: false });
    expect((await engine.session(id).phase()).contentChanged).toBe(false);
    expect(await run("sync", id, "--by", "ann", "--state", state)).toMatchObject({ code: 2 });
    const { stdout } = await run("show", id, "--state", state);
    expect(stdout).toContain("plan synced by ann\\u001b[31m: the disk");
  });
});
