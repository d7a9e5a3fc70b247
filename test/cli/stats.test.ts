import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, defineWorkflow, type Engine, MemoryContent, type Workflow } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { SqliteStorage } from "phasegate/sqlite";
import { FakeClock } from "phasegate/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { built, twoPhases } from "../support/workflows.js";
import { writeFiles } from "../support/write-files.js";
import { atTerminal, run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";
import { waitingSession } from "./waiting-session.js";
import { SMALL } from "./workflow-folders.js";

type Work = (engine: Engine, clock: FakeClock) => Promise<unknown>;

/** Creates a database of sessions, and runs a host's work in it. */
async function stateOf(work: Work, workflow: Workflow = twoPhases): Promise<string> {
  const file = join(await temporaryFolder(), "sessions.db");
  await workIn(file, work, workflow);
  return `sqlite:${file}`;
}

async function workIn(file: string, work: Work, workflow: Workflow = twoPhases): Promise<void> {
  const clock = new FakeClock("2026-03-04T05:06:07.000Z");
  const content = new MemoryContent({ workflows: [workflow] });
  const engine = createEngine({ storage: await SqliteStorage.open(file), content, clock });
  await work(engine, clock);
  await engine.close();
}

/** One session completes after a refusal and a waiver, one is paused, one is still in its first phase. */
async function someWork(engine: Engine, clock: FakeClock): Promise<void> {
  const start = async (target: string) => (await engine.start({ workflowType: "two_phases", target })).sessionId;
  const [done, paused] = [await start("a"), await start("b"), await start("c")];
  clock.advance(125_000);
  await engine.session(done).completePhase(1, { summary: "x", tests_pass: false });
  await engine
    .session(paused)
    .completePhase(2, {})
    .catch(() => {});
  const { request } = await engine.session(done).requestWaiver(1, { fields: ["tests_pass"], reason: "there are none" });
  await engine.session(done).waive({ by: "ann", request });
  await engine.session(done).completePhase(1, { summary: built.summary });
  clock.advance(60_000);
  await engine.session(done).completePhase(2, {});
  await engine.session(paused).pause();
}

describe("phasegate stats", () => {
  it("counts phases by their names, and names those that an older revision had", async () => {
    const file = join(await temporaryFolder(), "sessions.db");
    const flow = (revision: string, ...names: string[]) =>
      defineWorkflow({
        ...{ type: "flow", revision, name: "Flow", description: "Changes" },
        phases: names.map((name) => ({ name, content: name })),
      });
    const pass = async (engine: Engine) => {
      const { sessionId } = await engine.start({ workflowType: "flow", target: "a" });
      await engine.session(sessionId).completePhase(1, {});
    };
    await workIn(file, pass, flow("1", "Plan", "Old"));
    const later = (engine: Engine, clock: FakeClock) => {
      clock.advance(1000);
      return pass(engine);
    };
    await workIn(file, later, flow("2", "Zero", "Plan", "New"));
    const { stdout } = await run("stats", "--state", `sqlite:${file}`);
    const rows = [...stdout.matchAll(/^ {2}(\d \S.*?) {2,}(\d+) +(\d+)/gm)].map(([, ...cells]) => cells.join(" | "));
    expect(rows).toEqual(["1 Zero | 0 | 1", "2 Old (gone) | 1 | 0", "2 Plan | 1 | 1"]);
  });

  it("prints counts, times and failures, with bars", async () => {
    const { code, stdout } = await run("stats", "--state", await stateOf(someWork));
    expect(code).toBe(0);
    expect(stdout).toBe(`3 sessions
  active     1  ██████▋
  paused     1  ██████▋
  completed  1  ██████▋
  failed     0

two_phases: 3 sessions
  PHASE    NOW  DONE  SKIPPED  MEDIAN    P90  TIME                  ATTEMPTS  FAILED
  1 Build    2     1        0   2m 5s  2m 5s  ████████████████████         2       1
  2 Ship     0     1        0      1m     1m  █████████▋                   1       0
  Why gates refuse, in attempts:
    phase 1  summary     1  ██████████
    phase 1  tests_pass  1  ██████████
  Persons and the host:
    phase 1  1 step ahead refused, 1 waiver asked for, 1 waiver granted, passed without tests_pass
`);
  });

  it("prints what the host has noted, as does show", async () => {
    const state = await stateOf(async (engine) => {
      const { sessionId } = await engine.start({ workflowType: "two_phases", target: "a" });
      const noted = { cost: 0.25, input_tokens: 1200, model: "\u001b[31msmall" };
      await engine.session(sessionId).completePhase(1, {}, { noted });
      await engine.session(sessionId).completePhase(1, built, { noted: { cost: 1 } });
    });
    const { stdout } = await run("stats", "--state", state);
    expect(stdout).toContain(`  Noted on submissions:
    phase 1  cost: 1.25 in all, median 1.25
    phase 1  input tokens: 1,200 in all, median 1,200
`);
    const [{ sessionId }] = JSON.parse((await run("sessions", "--state", state, "--json")).stdout).sessions;
    const shown = (await run("show", sessionId, "--state", state)).stdout;
    expect(shown).toContain(`    · cost: 0.25\n    · input tokens: 1,200\n    · model: \\u001b[31msmall\n`);
  });

  it("prints JSON with --json, of one workflow with --workflow", async () => {
    const state = await stateOf(someWork);
    const { stdout } = await run("stats", "--state", state, "--json", "--workflow", "two_phases");
    const found = JSON.parse(stdout);
    expect(found).toMatchObject({
      sessions: { active: 1, paused: 1, completed: 1, failed: 0 },
      workflows: [{ phases: [{ phase: 1, time: { medianSeconds: 125 }, waivers: { requested: 1, granted: 1 } }, {}] }],
      unapproved: 0,
    });
    expect(found).not.toHaveProperty("cursor");
    const other = JSON.parse((await run("stats", "--state", state, "--json", "--workflow", "none")).stdout);
    expect(other).toEqual({
      sessions: { active: 0, paused: 0, completed: 0, failed: 0 },
      workflows: [],
      unapproved: 0,
    });
    expect((await run("stats", "--state", state, "--workflow", "none")).stdout).toContain("0 sessions\n");
  });

  it("keeps what it has read in a file, for its owner only, and reads on from there", async () => {
    const state = await stateOf(someWork);
    const file = join(await temporaryFolder(), "cursor.json");
    const stats = async (...more: string[]) => (await run("stats", "--state", state, "--cursor", file, ...more)).stdout;
    const first = await stats();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const kept = JSON.parse(await readFile(file, "utf8"));
    expect(kept).toMatchObject({ version: 1 });
    expect(await stats()).toBe(first);
    await workIn(state.slice("sqlite:".length), async (engine) => {
      await engine.start({ workflowType: "two_phases", target: "new" });
    });
    expect(await stats()).toMatch(/^4 sessions\n/);
    expect(JSON.parse(await readFile(file, "utf8")).position).not.toBe(kept.position);
    expect(await stats("--json")).toBe((await run("stats", "--state", state, "--json")).stdout);
  });

  it("refuses a cursor of another state, of a newer version, and what is none, and keeps the file", async () => {
    const [state, other] = [await stateOf(someWork), await stateOf(someWork)];
    const file = join(await temporaryFolder(), "cursor.json");
    await run("stats", "--state", other, "--cursor", file);
    const before = await readFile(file, "utf8");
    const refused = async () => {
      const { code, stdout, stderr } = await run("stats", "--state", state, "--cursor", file);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(`hint: Delete ${file}, or name another file: everything is then read again.`);
      return stderr;
    };
    expect(await refused()).toContain("The position is not one of this storage");
    expect(await readFile(file, "utf8")).toBe(before);
    await writeFile(file, JSON.stringify({ ...JSON.parse(before), version: 7 }));
    expect(await refused()).toContain("has version 7, and 1 is the newest that is known here");
    for (const text of ["{", "[]", "null", '{"version":"1"}']) {
      await writeFile(file, text);
      expect(await refused()).toContain(`${file} is not a cursor of this command`);
    }
    const folder = await temporaryFolder();
    expect(await run("stats", "--state", state, "--cursor", folder)).toMatchObject({ code: 3 });
    const nowhere = join(folder, "none", "cursor.json");
    const unwritten = await run("stats", "--state", state, "--cursor", nowhere);
    expect(unwritten).toMatchObject({ code: 3, stderr: expect.stringContaining("the cursor can't be written") });
  });

  it("shows five fields of a phase, and escapes what agents call them", async () => {
    const gate = { evidence: z.record(z.string(), z.literal(true)) };
    const phases = [{ number: 1, name: "Any", content: "Do it.", gate }];
    const any = defineWorkflow({ type: "any", revision: "1", name: "Any", description: "Any fields", phases });
    const state = await stateOf(async (engine) => {
      const { sessionId } = await engine.start({ workflowType: "any", target: "a" });
      const fields = ["\u001b[31mred", "", "b", "c", "d", "e", "f"].map((name) => [name, false]);
      await engine.session(sessionId).completePhase(1, Object.fromEntries(fields));
    }, any);
    const { stdout } = await run("stats", "--state", state);
    expect(stdout).not.toContain("\u001b");
    expect(stdout).toContain("(the evidence as a whole)");
    expect(stdout).toContain("\\u001b[31mred");
    expect(stdout).toContain("… 2 more, which --json lists");
  });

  it("fit the width of a terminal", async () => {
    const phases = [{ number: 1, name: "A phase with a name that is longer than most", content: "Do it." }];
    const long = defineWorkflow({ type: "long", revision: "1", name: "Long", description: "A long name", phases });
    const state = await stateOf((engine) => engine.start({ workflowType: "long", target: "a" }), long);
    const headings = async (columns: number, ...more: string[]) => {
      const lines = (await atTerminal(columns, "stats", "--state", state, ...more)).stdout.split("\n");
      return lines.slice(lines.findIndex((line) => line.includes("PHASE")));
    };
    expect((await headings(80))[1]).toMatch(/^ {2}1 A phase with a name that… {2} +1 /);
    expect((await headings(50))[0]).not.toContain("TIME");
    for (const line of await headings(80)) expect(line.length).toBeLessThanOrEqual(80);
    expect((await headings(80, "--wide"))[1]).toContain("1 A phase with a name that is longer than most");
  });

  it("names sessions that cannot be read", async () => {
    const folder = await temporaryFolder();
    const content = new MemoryContent({ workflows: [twoPhases] });
    const engine = createEngine({ storage: await FileStorage.open(folder), content, hashKey: "secret" });
    await engine.start({ workflowType: "two_phases", target: "a" });
    await engine.close();
    const { code, stdout } = await run("stats", "--state", folder);
    expect(code).toBe(1);
    expect(stdout).toContain("0 sessions\n");
    expect(stdout).toContain("1 session can't be read:\n  two_phases_a_");
    expect(stdout).toContain("--hash-key-file");
    expect(await run("stats", "--state", join(folder, "nowhere"))).toMatchObject({ code: 3, stdout: "" });
  });

  it("counts no gate that was passed with a key that the approvers' file does not have", async () => {
    const { state, sessionId, evidenceHash, keyFile, keys, approvers } = await waitingSession();
    const forged = ["--key", await keyFile("eve"), "--approver", `ann=${keys.eve.publicKey}`];
    await run("approve", sessionId, "--state", state, ...forged, "--yes", "--evidence-hash", evidenceHash);
    const trusted = await run("stats", "--state", state, "--approvers", approvers);
    expect(trusted.code).toBe(1);
    expect(trusted.stdout).toContain("1 session passed a gate with an approval that is not accepted.");
    const phases = async (...more: string[]) => {
      const { stdout } = await run("stats", "--state", state, "--json", ...more);
      return JSON.parse(stdout).workflows[0].phases.map(({ completed }: { completed: number }) => completed);
    };
    expect(await phases("--approvers", approvers)).toEqual([0]);
    expect(await phases()).toEqual([1, 0]);
  });
});

it("stats show what agents did over MCP", async () => {
  const root = await temporaryFolder();
  await writeFiles(join(root, "workflows"), SMALL);
  const state = join(root, "state");
  const { ask, client } = await connectToServe(["--workflows", join(root, "workflows"), "--state", state]);
  const { session_id } = await ask({ action: "start", workflow_type: "small", target_file: "src/a.ts" });
  const complete = (phase: number, evidence: object, idempotency_key: string) =>
    ask({ action: "complete_phase", session_id, phase, evidence, idempotency_key });
  await complete(2, { shipped: true }, "ahead");
  // A repeated call gets the first answer, and is counted once.
  for (const _ of "12") await complete(1, { tests_pass: "yes" }, "one");
  await complete(1, { tests_pass: true }, "two");
  await ask({ action: "pause", session_id });
  await ask({ action: "start", workflow_type: "small", target_file: "src/b.ts" });
  await client.close();
  const found = JSON.parse((await run("stats", "--state", state, "--json")).stdout);
  expect(found).toMatchObject({
    sessions: { active: 1, paused: 1, completed: 0, failed: 0 },
    workflows: [
      {
        workflowType: "small",
        phases: [
          {
            ...{ phase: 1, name: "Build", sessions: { active: 1, paused: 0 }, completed: 1, attempts: 2, passed: 1 },
            ...{ failed: 1, refusedSteps: 1, fields: [{ field: "tests_pass", failed: 1, waived: 0 }] },
          },
          { phase: 2, name: "Ship", sessions: { active: 0, paused: 1 }, completed: 0, attempts: 0 },
        ],
      },
    ],
  });
});
