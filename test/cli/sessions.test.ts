import { readdir } from "node:fs/promises";
import { createEngine, type Engine, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import type { FakeClock } from "phasegate/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { hashEvidence } from "../../src/approval/message.js";
import { widthOf } from "../../src/cli/layout.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { CountingClock, idOn } from "../support/make-engine.js";
import { built, twoPhases } from "../support/workflows.js";
import { atTerminal, run } from "./run-cli.js";
import { sessionsOfAllKinds } from "./sessions-of-all-kinds.js";

/** Creates a state folder, and runs a host's work in it. */
async function stateOf(work: (engine: Engine, clock: FakeClock) => Promise<unknown>): Promise<string> {
  const folder = await temporaryFolder();
  const clock = new CountingClock("2026-03-04T05:06:07.000Z");
  const content = new MemoryContent({ workflows: [twoPhases] });
  const limits = { maxActiveSessions: Number.POSITIVE_INFINITY };
  const engine = createEngine({ storage: await FileStorage.open(folder), content, clock, limits });
  await work(engine, clock);
  await engine.close();
  return folder;
}

/** Creates a session that was refused once, passed its first phase, and was paused. */
async function paused(engine: Engine, clock: FakeClock): Promise<string> {
  const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
  clock.advance(125_000);
  await engine.session(sessionId).completePhase(1, { summary: "\u001b[31mx" });
  clock.advance(60_000);
  await engine.session(sessionId).completePhase(1, built);
  await engine.session(sessionId).pause({ note: "waiting for a key" });
  return sessionId;
}

const ID = idOn("two_phases_src_a_ts");

describe("phasegate sessions", () => {
  it("shows owners, and finds the sessions of one", async () => {
    const state = await stateOf(async (engine) => {
      for (const name of ["ann", "bob"]) {
        await engine.as({ name }).start({ workflowType: "two_phases", target: `src/${name}.ts` });
      }
      await engine.start({ workflowType: "two_phases", target: "src/nobody.ts" });
    });
    expect((await run("sessions", "--state", state)).stdout).toMatch(/TARGET +OWNER\n[\s\S]*src\/bob\.ts +bob\n/);
    const { stdout } = await run("sessions", "--state", state, "--owner", "ann", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ count: 1, sessions: [{ target: "src/ann.ts", owner: "ann" }] });
    const [id] = JSON.parse(stdout).sessions.map(({ sessionId }: { sessionId: string }) => sessionId);
    const assigned = await run("assign", id, "--state", state, "--to", "bob", "--by", "me", "--note", "Ann is away");
    expect(assigned).toMatchObject({ code: 0, stdout: `${id}: belongs to bob now\n` });
    expect((await run("sessions", "--state", state, "--owner", "ann")).stdout).toBe("0 sessions\n");
    expect((await run("show", id, "--state", state)).stdout).toMatch(/owner +bob/);
  });

  it("lists them as a table, the last changed first", async () => {
    const state = await stateOf(async (engine, clock) => {
      await paused(engine, clock);
      await engine.start({ workflowType: "two_phases", target: "src/long/name.ts" });
    });
    const { code, stdout } = await run("sessions", "--state", state);
    expect(code).toBe(0);
    expect(stdout.split("\n").map((line) => line.replace(/ {2,}/g, "|"))).toEqual([
      "SESSION|STATUS|PHASE|UPDATED|WORKFLOW|TARGET",
      `${ID}|paused|2 (2 in all)|2026-03-04 05:09:12Z|two_phases|src/a.ts`,
      "two_phases_src_long_name_ts_20260304_050912_qnar3i0e|active|1 (2 in all)|2026-03-04 05:09:12Z|two_phases|src/long/name.ts",
      "",
      "2 sessions",
      "",
    ]);
    const columns = stdout.split("\n").slice(0, 3);
    expect(new Set(columns.map((line) => line.search(/STATUS|active|paused/))).size).toBe(1);
  });

  describe("at a terminal", () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-03-04T07:20:00.000Z") }));
    afterEach(() => void vi.useRealTimers());

    it("leaves out columns where there is no room, and takes what is quiet for an hour as stuck", async () => {
      const state = await temporaryFolder();
      const { close, ids } = await sessionsOfAllKinds(state);
      await close();
      for (const columns of [20, 40, 60]) {
        const { stdout } = await atTerminal(columns, "sessions", "--state", state, "--sizes");
        // Isolates of text from right to left take no column.
        const lines = stdout.replace(/[\u2068\u2069]/g, "").split("\n");
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
      }
      const sorted = (await run("sessions", "--state", state, "--sort", "status", "--ids")).stdout.split("\n");
      const most = [ids.garden, ids.waiver, ids.approval, ids.failed, ids.refused, ids.working, ids.paused, ids.done];
      expect(sorted).toEqual([...most, ""]);
      vi.setSystemTime("2026-03-04T06:20:30.000Z");
      expect((await run("sessions", "--state", state, "--stuck", "--ids")).stdout.split("\n")).toHaveLength(3);
      vi.setSystemTime("2026-03-04T06:00:00.000Z");
      expect((await run("sessions", "--state", state, "--stuck", "--ids")).stdout).toBe("");
    });

    it("fits its width: short ids, how each stands, and what it waits for", async () => {
      const state = await temporaryFolder();
      const { ids, close } = await sessionsOfAllKinds(state);
      await close();
      const at = async (columns: number) =>
        (await atTerminal(columns, "sessions", "--state", state)).stdout.split("\n");
      const rowsOf = (lines: readonly string[]) => lines.map((line) => line.replace(/ {2,}/g, "|"));
      const narrow = await at(80);
      expect(rowsOf(narrow)).toEqual([
        "SESSION|STATUS|PHASE|TARGET|UPDATED|WAITS FOR",
        "id-8|Needs you|Dig|2h ago|approval",
        `${ids.done.slice(-8)}|Done|3/3 Ship|src/done.ts|2h ago`,
        `${ids.failed.slice(-8)}|Failed|2/3 Build and m…|src/failed.ts|2h ago`,
        `${ids.paused.slice(-8)}|Paused|2/3 Build and m…|src/paused.ts|2h ago`,
        `${ids.waiver.slice(-8)}|Needs you|2/3 Build and m…|src/legacy.c|2h ago|waiver`,
        `${ids.approval.slice(-8)}|Needs you|1/3 Plan|文档/…说明书.md|2h ago|approval`,
        `${ids.refused.slice(-8)}|Refused 2 of 3|2/3 Build and m…|\u2068docs/مرحبا…لم.md\u2069|2h ago`,
        `${ids.working.slice(-8)}|Working|1/3 Plan|servi…ckout.java|2h ago`,
        "",
        "8 sessions",
        "phasegate show id-8 shows the first one",
        "",
      ]);
      for (const line of narrow) expect(widthOf(line)).toBeLessThanOrEqual(80);
      const wide = await at(140);
      expect(wide[0]).toMatch(/^SESSION +STATUS +PHASE +WORKFLOW +TARGET +UPDATED +WAITS FOR$/);
      expect(wide[8]).toMatch(/release_v1 {2}services\/payment.*…\S+\/Checkout\.java {2}2h ago$/);
      for (const line of wide) expect(widthOf(line)).toBeLessThanOrEqual(140);
      const piped = await run("sessions", "--state", state);
      expect((await atTerminal(80, "sessions", "--state", state, "--wide")).stdout).toBe(piped.stdout);
      expect(piped.stdout).toContain(`${ids.working}  active `);
      const json = await atTerminal(80, "sessions", "--state", state, "--json");
      expect(json.stdout).toBe((await run("sessions", "--state", state, "--json")).stdout);
    });
  });

  it("filters, limits and prints JSON", async () => {
    const state = await stateOf(async (engine, clock) => {
      await paused(engine, clock);
      for (const name of ["b", "c"]) await engine.start({ workflowType: "two_phases", target: `src/${name}.ts` });
    });
    const { stdout } = await run("sessions", "--state", state, "--status", "paused", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ count: 1, sessions: [{ sessionId: ID, status: "paused", total: 2 }] });
    const limited = JSON.parse((await run("sessions", "--state", state, "--limit", "2", "--json")).stdout);
    expect(limited.count).toBe(2);
    expect((await run("sessions", "--state", state, "--status", "failed")).stdout).toBe("0 sessions\n");
  });

  it("finds sessions by workflow, target, phase and age, sorted", async () => {
    const state = await stateOf(async (engine, clock) => {
      for (const name of ["c", "a", "b"]) {
        clock.advance(60_000);
        await engine.start({ workflowType: "two_phases", target: `src/${name}.ts` });
      }
      const [, middle] = (await engine.listSessions()).items;
      clock.advance(60_000);
      await engine.session(middle?.sessionId ?? "").completePhase(1, built);
    });
    const targets = async (...flags: string[]) => {
      const { stdout } = await run("sessions", "--state", state, "--json", ...flags);
      return JSON.parse(stdout)
        .sessions.map(({ target }: { target: string }) => target.slice(4, 5))
        .join("");
    };
    expect(await targets()).toBe("abc");
    expect(await targets("--sort", "target")).toBe("abc");
    expect(await targets("--sort", "created")).toBe("bac");
    expect(await targets("--sort", "updated")).toBe("abc");
    expect(await targets("--sort", "phase", "--limit", "2")).toBe("bc");
    expect(await targets("--phase", "2")).toBe("a");
    expect(await targets("--phase", "1", "--limit", "1")).toBe("b");
    expect(await targets("--workflow", "two_phases")).toBe("abc");
    expect(await targets("--status", "working")).toBe("abc");
    expect(await targets("--status", "done")).toBe("");
    expect(await targets("--waived")).toBe("");
    expect(await targets("--workflow", "three_phases")).toBe("");
    expect(await targets("--target", "src/c.ts")).toBe("c");
    expect(await targets("--stuck")).toBe("cba");
    expect(await targets("--stuck", "--sort", "updated")).toBe("abc");
    expect(await targets("--stuck", "--sort", "owner")).toBe("abc");
    expect(await targets("--older-than", "99999d")).toBe("");
    expect(await targets("--waiting")).toBe("");
    const limited = await run("sessions", "--state", state, "--limit", "1");
    expect(limited.stdout).toMatch(/\n1 of 3 sessions\n$/);
    const json = JSON.parse((await run("sessions", "--state", state, "--limit", "1", "--json")).stdout);
    expect(json).toMatchObject({ count: 1, total: 3 });
    const ids = await run("sessions", "--state", state, "--ids", "--target", "src/c.ts");
    expect(ids.stdout).toMatch(/^two_phases_src_c_ts_20260304_050707_\w{8}\n$/);
    const wrong = [
      ["--sort", "size"],
      ["--waiting", "rain"],
      ["--older-than", "soon"],
      ["--stuck", "--status", "failed"],
    ];
    for (const flags of wrong) expect(await run("sessions", "--state", state, ...flags)).toMatchObject({ code: 2 });
  });

  it("goes through all pages", async () => {
    const state = await stateOf(async (engine) => {
      for (let index = 0; index < 101; index += 1) {
        await engine.start({ workflowType: "two_phases", target: `src/${index}.ts` });
      }
    });
    const { stdout } = await run("sessions", "--state", state, "--json");
    const { sessions } = JSON.parse(stdout);
    expect(new Set(sessions.map(({ sessionId }: { sessionId: string }) => sessionId)).size).toBe(101);
  });

  it("counts at the end of a long list at a terminal how its sessions stand", async () => {
    const state = await stateOf(async (engine, clock) => {
      await paused(engine, clock);
      for (let index = 0; index < 20; index += 1) {
        await engine.start({ workflowType: "two_phases", target: `src/${index}.ts` });
      }
    });
    const last = async (...flags: string[]) =>
      (await atTerminal(80, "sessions", "--state", state, ...flags)).stdout.trim().split("\n").at(-2);
    expect(await last()).toBe("21 sessions: 20 working, 1 paused, 20 stuck (--stuck)");
    expect(await last("--limit", "20")).toBe("20 of 21 sessions");
    expect((await run("sessions", "--state", state)).stdout).toMatch(/\n21 sessions\n$/);
  });

  it("does not change a folder without sessions", async () => {
    const folder = await temporaryFolder();
    const refused = await run("sessions", "--state", folder);
    expect(refused).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("there are no sessions in") });
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("phasegate show", () => {
  it("shows how a session stands, its phases and its attempts, the newest first, without its workflow", async () => {
    const state = await stateOf(paused);
    const { code, stdout } = await run("show", ID, "--state", state);
    expect(code).toBe(0);
    expect(stdout.replace(/· .*tests_pass.*/g, "· tests_pass")).toBe(
      [
        ID,
        "  status    Paused at 2 Ship: waiting for a key",
        "  phase     2 of 2: Ship",
        "  workflow  Two phases (two_phases, revision 1)",
        "  target    src/a.ts",
        "  created   2026-03-04 05:06:07Z",
        "  updated   2026-03-04 05:09:12Z",
        "",
        "✓ Phase 1: Build",
        "▶ Phase 2: Ship",
        "",
        "Phase 2: Ship",
        "  attempt 1  paused       2026-03-04 05:09:12Z",
        "    · 2026-03-04 05:09:12Z  paused: waiting for a key",
        "",
        "Phase 1: Build",
        "  attempt 2  passed       2026-03-04 05:08:12Z  1m",
        `    evidence ${hashEvidence(built)}`,
        "    │ summary: added the parser",
        "    │ tests_pass: true",
        "  attempt 1  refused      2026-03-04 05:06:07Z  2m 5s",
        "    · tests_pass",
        `    evidence ${hashEvidence({ summary: "\u001b[31mx" })}`,
        '    │ summary: "\\u001b[31mx"',
        "",
      ].join("\n"),
    );
  });

  it("prints JSON with --json", async () => {
    const { stdout } = await run("show", ID, "--state", await stateOf(paused), "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      sessionId: ID,
      status: "paused",
      note: "waiting for a key",
      phases: [
        { number: 1, status: "completed", attempts: [{ status: "failed" }, { status: "completed" }] },
        { number: 2, status: "current" },
      ],
    });
  });

  it("distinguishes failed, skipped and completed phases", async () => {
    const state = await stateOf(async (engine) => {
      const { sessionId: failed } = await engine.start({ workflowType: "two_phases", target: "failed" });
      for (const _ of "123") await engine.session(failed).completePhase(1, {});
      const { sessionId: done } = await engine.start({ workflowType: "two_phases", target: "done" });
      await engine.session(done).skipPhase(1, { by: "me", note: "known" });
      await engine.session(done).completePhase(2, {});
    });
    const failed = await run("show", idOn("two_phases_failed", 1), "--state", state);
    expect(failed.stdout).toMatch(
      /status {4}Failed at 1 Build: .*3 of 3 attempts\n {2}phase {5}1 of 2: Build\n[\s\S]*✗ Phase 1[\s\S]*○ Phase 2/,
    );
    const done = await run("show", idOn("two_phases_done", 2), "--state", state);
    expect(done.stdout).toMatch(/status {4}Done\n[\s\S]*» Phase 1[\s\S]*✓ Phase 2[\s\S]*skipped/);
  });

  it("cuts long evidence, unless all of it is wanted", async () => {
    const long = { ...built, log: Array.from({ length: 500 }, (_, line) => `line ${line} \u001b[31m`) };
    const state = await stateOf(async (engine) => {
      const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
      await engine.session(sessionId).completePhase(1, long);
    });
    const cut = await run("show", ID, "--state", state);
    expect(cut.stdout).toMatch(/… --full shows all \d+ characters/);
    expect(cut.stdout.split("\n").length).toBeLessThan(40);
    const full = await run("show", ID, "--state", state, "--full");
    expect(full.stdout).toContain("line 499");
    expect(full.stdout).not.toContain("\u001b");
    const attempts = async (...more: string[]) =>
      JSON.parse((await run("show", ID, "--state", state, "--json", ...more)).stdout).phases[0].attempts;
    expect((await attempts())[0]).toMatchObject({
      evidenceHash: hashEvidence(long),
      evidenceCharacters: JSON.stringify(long).length,
    });
    expect((await attempts())[0]).not.toHaveProperty("evidence");
    expect((await attempts("--full"))[0].evidence).toEqual(long);
  });

  it("suggests the nearest session", async () => {
    const { code, stderr } = await run("show", ID.replace("src", "scr"), "--state", await stateOf(paused));
    expect(code).toBe(1);
    expect(stderr).toContain(`there is no session`);
    expect(stderr).toContain(`hint: Did you mean ${ID}?`);
    expect((await run("show", "../etc", "--state", await stateOf(paused))).code).toBe(2);
  });
});
