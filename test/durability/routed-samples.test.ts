/**
 * Logs of routed instances that earlier versions have written must stay readable, like those of phased sessions:
 * test/samples/<version>/routed/ has some (scripts/write-routed-samples.mjs adds to it).
 */
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryStorage, type StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { exportLines } from "../../src/cli/export.js";
import { checkLines, importBlock } from "../../src/cli/import.js";
import type { RoutedEngineOptions } from "../../src/routed/options.js";
import { ROUTED_SCHEMA } from "../../src/routed/state/events.js";
import { routed, Script } from "../routed/engine/garden.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";

const SAMPLES = "test/samples";
const names = (await readdir(SAMPLES)).sort();

async function imported(file: string, hashKey?: Uint8Array): Promise<StorageAdapter> {
  const storage = new MemoryStorage();
  for (const block of await checkLines(file, hashKey)) {
    expect(await importBlock(file, block, storage, hashKey)).toMatchObject({ commits: block.commits });
  }
  return storage;
}

/** Checks that every instance passes its audit with all approvals accepted, and can be read completely. */
async function expectReadable(storage: StorageAdapter, options: Partial<RoutedEngineOptions>) {
  const { engine } = routed(new Script(), { storage, ...options });
  const { items } = await engine.listSessions();
  expect(items.map(({ status }) => status).sort()).toEqual(["active", "active", "completed", "failed", "failed"]);
  const seen = new Set<string>();
  for (const { sessionId } of items) {
    const audit = await engine.session(sessionId).audit();
    expect(audit).toMatchObject({ intact: true });
    expect(audit.approvals.filter(({ distrust }) => distrust !== undefined)).toEqual([]);
    for (const { outcomeStatus, decision } of await engine.session(sessionId).history()) {
      seen.add(outcomeStatus);
      if (decision !== undefined) seen.add(`decided ${decision.status}`);
    }
    expect((await engine.session(sessionId).state()).sessionId).toBe(sessionId);
  }
  const usual = ["CANCELLED", "RESUMING", "RETRIED", "STARTED", "SUSPENDED", "failure", "success"];
  expect([...seen].sort()).toEqual([...usual, "decided active", "decided completed", "decided paused"].sort());
  return items;
}

it("there is a sample of every format of instances", async () => {
  const schemas = new Set<number>();
  for (const name of names) {
    const text = await readFile(join(SAMPLES, name, "routed", "sessions.jsonl"), "utf8");
    for (const [, schema] of text.matchAll(/"schema":(\d+),"previousHash"/g)) schemas.add(Number(schema));
  }
  expect([...schemas].sort()).toEqual(Array.from({ length: ROUTED_SCHEMA }, (_, index) => index + 1));
});

describe.each(names)("routed instances of %s", (name) => {
  const folder = join(SAMPLES, name, "routed");
  const approversOf = async () => JSON.parse(await readFile(join(folder, "approvers.json"), "utf8"));

  it("are imported from lines, and exported as the same lines", async () => {
    const file = join(folder, "sessions.jsonl");
    const storage = await imported(file);
    await expectReadable(storage, { approvers: await approversOf() });
    let again = "";
    for await (const line of exportLines(storage, {
      onRefused: () => expect.fail("all hold"),
      onEnd: () => undefined,
    })) {
      again += line;
    }
    const written = await readFile(file, "utf8");
    expect(again.split("\n").slice(1, -2)).toEqual(written.split("\n").slice(1, -2));
  });

  it("are read with their hash key", async () => {
    const hashKey = await readFile(join(folder, "hash.key"), "utf8");
    const storage = await imported(join(folder, "keyed.jsonl"), new TextEncoder().encode(hashKey));
    await expectReadable(storage, { approvers: await approversOf(), hashKey });
  });

  it("are read from a FileStorage's folder, listed, and continued", async () => {
    const copy = join(await temporaryFolder(), "state");
    await cp(join(folder, "file-store"), copy, { recursive: true });
    const storage = await FileStorage.open(copy);
    const items = await expectReadable(storage, { approvers: await approversOf() });
    for (const { sessionId, current } of items.filter(({ status }) => status === "active")) {
      const decider = new Script(current === "" ? "Dig" : "Sow");
      const { engine } = routed(decider, { storage });
      const next = await engine.session(sessionId).resume({ assumedStep: "Dig", report: { status: "resuming" } });
      expect(next).toMatchObject({ status: "active", currentStep: current === "" ? "Dig" : "Sow" });
      expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
    }
  });
});
