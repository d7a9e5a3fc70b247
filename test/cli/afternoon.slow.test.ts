/**
 * An operator's afternoon: among many sessions, ten are stuck, two in each of five ways. All are found and set going
 * with the commands of the bin, on every storage.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, MemoryContent, type StorageAdapter } from "phasegate";
import { ScriptedDecider } from "phasegate/ai";
import { createRoutedEngine } from "phasegate/routed";
import { FakeClock } from "phasegate/testing";
import { describe, expect, it } from "vitest";
import { openState } from "../../src/cli/state.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { askingFiles, people } from "../support/approvals.js";
import { DEPTH_GATE, gardenWith } from "../support/gated-garden.js";
import { howOften } from "../support/how-often.js";
import { emptyDatabase } from "../support/postgres.js";
import { built, twoPhases } from "../support/workflows.js";
import { run } from "./run-cli.js";

const SESSIONS = howOften(60, 5000);
/** Sessions that are made at once: a commit waits for the disk. */
const AT_ONCE = 20;
const DAYS = 86_400_000;
const DUG = { report: { status: "success", details: { depth: 20 } } } as const;

const STATES: Readonly<Record<string, () => Promise<string>>> = {
  files: async () => join(await temporaryFolder(), "state"),
  SQLite: async () => `sqlite:${join(await temporaryFolder(), "state.db")}`,
  PostgreSQL: emptyDatabase,
};

/** Creates engines on a storage whose clock tells the time some days ago. */
async function hostOf(storage: StorageAdapter, daysAgo: number) {
  const keys = await people();
  const clock = new FakeClock(new Date(Date.now() - daysAgo * DAYS).toISOString());
  const content = new MemoryContent({ workflows: [twoPhases], sources: { asking: askingFiles } });
  const limits = { maxAttempts: 1, maxAttemptsTotal: 1, maxActiveSessions: Number.POSITIVE_INFINITY };
  const common = { storage, clock, limits };
  const engine = createEngine({ ...common, content });
  const asking = createEngine({ ...common, content, approvers: { ann: keys.ann.publicKey } });
  const decider = new ScriptedDecider(["Sow", "Sow", "Sow"]);
  const routed = createRoutedEngine({ ...common, workflows: gardenWith(DEPTH_GATE), decider });
  const start = async (target: string) => (await engine.start({ workflowType: "two_phases", target })).sessionId;
  return { keys, engine, asking, routed, start };
}

type Host = Awaited<ReturnType<typeof hostOf>>;

/** Fills a storage with sessions that are at work or done. */
async function fill({ engine, start }: Host, count: number): Promise<void> {
  const one = async (index: number) => {
    const id = await start(`src/${index}.ts`);
    if (index % 3 === 0) return;
    await engine.session(id).completePhase(1, built);
    if (index % 3 === 1) await engine.session(id).completePhase(2, {});
  };
  for (let from = 0; from < count; from += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, index) => one(from + index)));
  }
}

/** Makes two sessions that are stuck in each of five ways. */
async function getStuck({ engine, asking, routed, start }: Host) {
  const spent = await start("spent");
  await engine.session(spent).completePhase(1, {});
  const { sessionId: undug } = await routed.start({ workflow: "GARDEN" });
  await routed.session(undug).advance({ report: { status: "success" } });

  const asks: string[] = [];
  for (const target of ["one", "two"]) {
    const { sessionId } = await asking.start({ workflowType: "asking", target });
    await asking.session(sessionId).completePhase(1, { tests_pass: true });
    asks.push(sessionId);
  }

  const unable = [await start("unable/one"), await start("unable/two")];
  for (const id of unable)
    await engine.session(id).requestWaiver(1, { fields: ["tests_pass"], reason: "no runner here" });

  const paused = await start("paused");
  await engine.session(paused).pause({ note: "back after lunch" });
  const { sessionId: suspended } = await routed.start({ workflow: "GARDEN" });
  await routed.session(suspended).suspend({ note: "rain" });

  const left = [await start("left/one"), await start("left/two")];
  return { spent: [spent, undug], asks, unable, paused: [paused, suspended], left };
}

const BY = ["--by", "ann", "--note", "cleared up this afternoon"];

describe.each(Object.keys(STATES))("an operator's afternoon on %s", (kind) => {
  it(`finds ten stuck sessions of ${SESSIONS}, and sets them going`, async () => {
    const state = (await STATES[kind]?.()) ?? "";
    const storage = await openState(state, { create: true });
    const host = await hostOf(storage, 0);
    const then = await hostOf(storage, 5);
    await fill(host, SESSIONS - 10);
    const stuck = await getStuck(then);
    const root = await temporaryFolder();
    const [key, approvers] = [join(root, "ann.pem"), join(root, "approvers.json")];
    await writeFile(key, then.keys.ann.privateKey, { mode: 0o600 });
    await writeFile(approvers, JSON.stringify({ ann: then.keys.ann.publicKey }));

    const cli = (command: string, ...args: string[]) => run(command, ...args, "--state", state);
    const found = async (...flags: string[]) => {
      const { code, stdout, stderr } = await cli("sessions", ...flags, "--ids", "--max-attempts-total", "1");
      expect([code, stderr]).toEqual([0, ""]);
      return stdout.split("\n").slice(0, -1).sort();
    };
    const done = async (command: string, ids: readonly string[], ...more: string[]) => {
      const { code, stdout, stderr } = await cli(command, ...ids, ...more);
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout.split("\n").length).toBe(ids.length + 1);
    };
    const shown = async (id: string) => JSON.parse((await cli("show", id, "--json")).stdout);

    const listed = JSON.parse((await cli("sessions", "--json", "--limit", "5")).stdout);
    expect([listed.count, listed.total]).toEqual([5, SESSIONS]);
    expect(await found("--waiting")).toEqual([...stuck.spent, ...stuck.asks, ...stuck.unable].sort());
    expect(await found("--older-than", "2d")).toEqual(Object.values(stuck).flat().sort());

    // Attempts that are used up: only the host can grant more.
    expect(await found("--waiting", "host")).toEqual([...stuck.spent].sort());
    await done("retry", stuck.spent, ...BY);
    const [spent = "", undug = ""] = stuck.spent;
    expect(await host.engine.session(spent).completePhase(1, built)).toMatchObject({ passed: true });
    expect((await host.routed.session(undug).advance(DUG)).nextStep.name).toBe("Sow");

    // Evidence that waits for an approval.
    expect(await found("--waiting", "approval", "--workflow", "asking")).toEqual([...stuck.asks].sort());
    for (const id of stuck.asks) {
      const { awaiting, phases } = await shown(id);
      expect(phases[0].attempts.at(-1)).toMatchObject({
        evidence: { tests_pass: true },
        evidenceHash: awaiting.evidenceHash,
      });
      const signed = ["--key", key, "--approvers", approvers, "--yes", "--evidence-hash", awaiting.evidenceHash];
      expect(await cli("approve", id, ...signed)).toMatchObject({ code: 0 });
      expect((await shown(id)).phases[0].attempts[0].notes).toMatchObject([
        { event: "approved", by: "ann", authenticated: true },
      ]);
    }

    // A field that the agent can't fill, and asks a person to waive.
    expect(await found("--waiting", "waiver", "--phase", "1")).toEqual([...stuck.unable].sort());
    for (const id of stuck.unable) {
      const { awaitingWaiver } = await shown(id);
      const waive = ["--by", "ann", "--yes", "--request", awaitingWaiver.request];
      expect(await cli("waive", id, ...waive)).toMatchObject({ code: 0 });
      const evidence = { summary: "without a runner" };
      expect(await host.engine.session(id).completePhase(1, evidence)).toMatchObject({ passed: true });
    }

    // Sessions that were paused and forgotten.
    expect(await found("--status", "paused", "--older-than", "2d")).toEqual([...stuck.paused].sort());
    await done("resume", stuck.paused, ...BY);
    const [paused = "", suspended = ""] = stuck.paused;
    expect(await host.engine.session(paused).completePhase(1, built)).toMatchObject({ passed: true });
    expect((await host.routed.session(suspended).advance(DUG)).nextStep.name).toBe("Sow");

    // Sessions whose agent has left: nothing waits, nothing happens.
    expect(await found("--stuck", "--older-than", "2d")).toEqual([...stuck.left].sort());
    const [one = "", two = ""] = stuck.left;
    await done("skip", [one], ...BY, "--phase", "1");
    await done("override", [two], ...BY, "--phase", "1");
    for (const id of stuck.left) {
      expect(await host.engine.session(id).completePhase(2, {})).toMatchObject({ passed: true });
    }

    expect(await found("--waiting")).toEqual([]);
    expect(await found("--stuck", "--older-than", "2d")).toEqual([]);
    expect(await found("--older-than", "2d")).toEqual([]);
    for (const id of [spent, paused]) {
      const { stdout } = await cli("show", id);
      expect(stdout).toMatch(/(retried|resumed) by ann: cleared up this afternoon/);
    }
    await storage.close?.();
  });
});
