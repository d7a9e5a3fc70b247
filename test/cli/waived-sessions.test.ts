import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { run } from "./run-cli.js";
import { sessionsOfAllKinds } from "./sessions-of-all-kinds.js";

async function allKinds() {
  const state = await temporaryFolder();
  const made = await sessionsOfAllKinds(state);
  onTestFinished(made.close);
  const show = async (id: string) => (await run("show", id, "--state", state)).stdout;
  return { ...made, state, show };
}

it("a waiver is shown with who asked for it and when, before and after it is granted, also at a phase that was passed", async () => {
  const { engine, clock, ids, state, show } = await allKinds();
  expect(await show(ids.waiver)).toMatch(
    / {2}reason {4}no tool for this language\n {2}asked {5}by the agent, 2026-03-04 05:10:07Z\n {2}request /,
  );
  const session = engine.session(ids.waiver);
  await session.assign({ name: "bob" }, { by: "host" });
  expect(await show(ids.waiver)).toContain("  asked     by bob's agent, 2026-03-04 05:10:07Z\n");
  clock.advance(60_000);
  await run(
    "waive",
    ids.waiver,
    "--state",
    state,
    "--by",
    "ann",
    "--yes",
    "--request",
    (await session.waiver())?.request ?? "",
  );
  const granted =
    /^ {2}waived {4}2 Build and measure: coverage waived by ann\. The agent's reason: no tool for this language\n {12}asked by bob's agent, 2026-03-04 05:10:07Z; granted \d{4}-.*Z$/m;
  expect(await show(ids.waiver)).toMatch(granted);
  await session.completePhase(2, { built: true });
  expect(await show(ids.waiver)).toMatch(granted);
  expect(await show(ids.waiver)).toMatch(/^ {2}attempt 2 {2}waived /m);
});

it("sessions in which something was waived are found by that status, and by --waived", async () => {
  const { engine, ids, state } = await allKinds();
  const { request = "" } = (await engine.session(ids.waiver).waiver()) ?? {};
  await engine.session(ids.waiver).waive({ by: "ann", request });
  for (const flags of [["--status", "waived"], ["--waived"], ["--status", "waived", "--workflow", "release_v1"]]) {
    expect((await run("sessions", "--state", state, "--ids", ...flags)).stdout).toBe(`${ids.waiver}\n`);
  }
  await engine.session(ids.waiver).completePhase(2, { built: true });
  await engine.session(ids.waiver).completePhase(3, {});
  expect((await run("sessions", "--state", state, "--ids", "--status", "waived")).stdout).toBe(`${ids.waiver}\n`);
});
