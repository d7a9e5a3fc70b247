import { ScriptedDecider } from "phasegate/ai";
import { FileStorage } from "phasegate/fs";
import { createRoutedEngine } from "phasegate/routed";
import { createWorkspace } from "phasegate/workspace";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { makeAsking } from "../support/approvals.js";
import { GATED } from "../support/gated-garden.js";
import { run } from "./run-cli.js";
import { sessionsOfAllKinds } from "./sessions-of-all-kinds.js";

async function gardens() {
  const state = await temporaryFolder();
  const storage = await FileStorage.open(state);
  const routed = createRoutedEngine({ storage, workflows: GATED, decider: new ScriptedDecider([]) });
  onTestFinished(() => routed.close());
  const start = async () => routed.session((await routed.start({ workflow: "GARDEN" })).sessionId);
  const show = async (id: string) => (await run("show", id, "--state", state)).stdout;
  const refuse = async (session: Awaited<ReturnType<typeof start>>, times: number) => {
    for (let time = 0; time < times; time += 1)
      await session.advance({ report: { status: "success", message: "it is deep", details: { depth: "deep" } } });
  };
  return { state, start, show, refuse };
}

describe("phasegate show of a failed session", () => {
  it("names the retry of a phased session", async () => {
    const state = await temporaryFolder();
    const { ids, close } = await sessionsOfAllKinds(state);
    onTestFinished(close);
    const { stdout } = await run("show", ids.failed, "--state", state);
    const [, line = ""] = /\n {2}next {6}phasegate (retry .*)\n/.exec(stdout) ?? [];
    expect(await run(...line.split(" "))).toMatchObject({ code: 0, stdout: expect.stringContaining("tried again") });
    expect((await run("show", ids.failed, "--state", state)).stdout).not.toContain("phasegate retry");
  });

  it("names no problems from before an attempt with complete evidence", async () => {
    const state = await temporaryFolder();
    const { engine, start, submit } = await makeAsking({ storage: await FileStorage.open(state) });
    onTestFinished(() => engine.close());
    const sessionId = await start();
    await submit(sessionId, 1, { tests_pass: "some" });
    expect((await run("show", sessionId, "--state", state)).stdout).toContain("'tests_pass'");
    await submit(sessionId);
    await engine.session(sessionId).retryPhase(1);
    const [top = ""] = (await run("show", sessionId, "--state", state)).stdout.split("\n\n");
    expect(top).not.toContain("'tests_pass'");
  });

  it("names no problems that a waiver has taken away", async () => {
    const state = await temporaryFolder();
    const { engine, ids, close } = await sessionsOfAllKinds(state);
    onTestFinished(close);
    const top = async () => (await run("show", ids.waiver, "--state", state)).stdout.split("\n\n")[0];
    expect(await top()).toContain("'coverage': Too small");
    const { request = "" } = (await engine.session(ids.waiver).waiver()) ?? {};
    await engine.session(ids.waiver).waive({ by: "ann", request });
    expect(await top()).toContain("coverage waived by ann");
    expect(await top()).not.toContain("'coverage': Too small");
  });

  it("begins with what the gate of a routed one has found, and names the retry", async () => {
    const { start, show, refuse } = await gardens();
    const session = await start();
    await refuse(session, 3);
    const text = await show(session.id);
    expect(text).toContain(
      `  status    Failed at Dig: 'depth' must be an integer (the gate of Dig was not passed in 3 attempts in a row)\n`,
    );
    const [, line = ""] = /\n {2}next {6}phasegate (retry .*)\n/.exec(text) ?? [];
    expect(await run(...line.split(" "))).toMatchObject({ code: 0 });
    expect(await show(session.id)).not.toContain("phasegate retry");
  });

  it("begins with why the decider has failed, and has what the agent has reported", async () => {
    const { start, show } = await gardens();
    const session = await start();
    const report = { status: "failure", error: "the spade broke", message: "no luck", details: { depth: 3 } };
    await session.advance({ report }).catch(() => {});
    const text = await show(session.id);
    expect(text).toMatch(/ {2}status {4}Failed at Dig: the script has no answer for request 1\n/);
    expect(text).toMatch(/Dig: failure\n {4}│ message: no luck\n {4}│ error: the spade broke\n/);
  });

  it("says that no retry is possible of a routed one that was cancelled", async () => {
    const { start, show } = await gardens();
    const session = await start();
    await session.cancel({ note: "no longer needed" });
    const text = await show(session.id);
    expect(text).toContain(
      "  status    Failed at Dig: cancelled: no longer needed\n  next      no retry is possible: start a new session\n",
    );
  });

  it("begins with what the agent says of a recorded one, which has no retry", async () => {
    const [state, bundleRoot, outputRoot] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()];
    const workspace = await createWorkspace({ bundleRoot, outputRoot, storage: await FileStorage.open(state) });
    onTestFinished(() => workspace.close());
    const connection = workspace.connect();
    await connection.createSession();
    await connection.completeSession({ status: "failed", summary: "the network was down" });
    const { stdout: id } = await run("sessions", "--state", state, "--ids");
    const { stdout } = await run("show", id.trim(), "--state", state);
    expect(stdout).toContain(
      "  status    Failed: the network was down\n  next      no retry is possible: start a new session\n",
    );
  });
});

describe("a routed session whose gate has refused a report", () => {
  it("says what was found first", async () => {
    const { start, show, refuse } = await gardens();
    const session = await start();
    await refuse(session, 1);
    expect(await show(session.id)).toContain("  status    Works on Dig: 'depth' must be an integer\n");
  });
});
