import { createEngine } from "phasegate";
import { FileContent, FileStorage } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { run } from "./run-cli.js";

/** A release of two files in a folder, one of which is reviewed. */
async function release() {
  const state = await temporaryFolder();
  const engine = createEngine({
    storage: await FileStorage.open(state),
    content: new FileContent({ roots: ["examples/parts"] }),
  });
  const { sessionId } = await engine.start({ workflowType: "release", target: "src" });
  const session = engine.session(sessionId);
  await session.completePhase(1, { files: ["src/a.ts", "src/b.ts"] });
  const review = async () => {
    const child = await session.startChild();
    await engine.session(child.sessionId).completePhase(1, { approved: true });
    return child.sessionId;
  };
  const command = (name: string, id: string, ...more: string[]) => run(name, id, "--state", state, ...more);
  return { engine, session, review, command, state, first: await review() };
}

describe("a session with a phase that is a workflow", () => {
  it("is shown with its children, and a child with its parent", async () => {
    const { session, command, first } = await release();
    const { stdout } = await command("show", session.id);
    expect(stdout).toContain("review_file: 1 of 2 completed");
    expect(stdout).toContain(`· src/a.ts: completed, ${first}`);
    expect(stdout).toContain("· src/b.ts: not started");
    expect((await command("show", first)).stdout).toContain(`child of  ${session.id}, phase 2`);
    expect(JSON.parse((await command("show", first, "--json")).stdout)).toMatchObject({
      parent: { sessionId: session.id, phase: 2 },
    });
  });

  it("is audited with its children, and it says if one of them is gone", async () => {
    const { engine, session, review, command, first, state } = await release();
    const second = await review();
    await session.completePhase(2, {});
    const whole = await command("audit", session.id);
    expect(whole).toMatchObject({ code: 0, stdout: expect.stringContaining(`phase 2 passed with session ${first}`) });
    expect((await command("show", session.id)).stdout).toContain(`completed by session ${second}, commit`);
    expect((await run("stats", "--state", state)).stdout).toContain("2 of them for a phase of another");
    await engine.session(second).delete({ by: "ann" });
    const { code, stdout } = await command("audit", session.id);
    expect(stdout).toMatch(new RegExp(`session ${second}, commit \\d+: gone: `));
    expect(code).toBe(0);
  });

  it("names the children that a command leaves", async () => {
    const { engine, session, command } = await release();
    const { sessionId: open } = await session.startChild();
    const paused = await command("suspend", session.id, "--by", "ann");
    expect(paused).toMatchObject({
      ...{ code: 0, stdout: `${session.id}: paused in phase 2\n` },
      stderr: `phasegate: 1 child is left: ${open} (active); they can go on, and count once this session is resumed\n`,
    });
    await session.resume();
    const { stdout } = await command("delete", session.id, "--by", "ann", "--json");
    expect(JSON.parse(stdout).done).toMatchObject([{ childrenLeft: [{ sessionId: open, status: "active" }] }]);
    expect((await engine.session(open).state()).status).toBe("active");
  });
});
