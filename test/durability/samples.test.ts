/**
 * Logs that earlier versions have written must stay readable. test/samples/ has some of each version. Nothing in it is
 * changed or removed (scripts/write-samples.mjs adds to it).
 */
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryStorage, type StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { exportLines } from "../../src/cli/export.js";
import { checkLines, importBlock } from "../../src/cli/import.js";
import { phasedMachine } from "../../src/phased/state/machine.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { makeEngine } from "../support/make-engine.js";

const SAMPLES = "test/samples";
const names = (await readdir(SAMPLES)).sort();

/** Returns the sessions of a sample's file, in memory. */
async function imported(file: string, hashKey?: Uint8Array): Promise<StorageAdapter> {
  const storage = new MemoryStorage();
  for (const block of await checkLines(file, hashKey)) {
    expect(await importBlock(file, block, storage, hashKey)).toMatchObject({ commits: block.commits });
  }
  return storage;
}

async function textOf(lines: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const line of lines) text += line;
  return text;
}

/** Checks that every session of a storage passes its audit with all approvals accepted, and can be read completely. */
async function expectReadable(
  storage: StorageAdapter,
  options: { approvers: Record<string, string>; hashKey?: string },
) {
  const { engine } = makeEngine({ storage, ...options });
  const { items } = await engine.listSessions();
  expect(items.map(({ workflowType }) => workflowType)).toEqual(
    expect.arrayContaining(["plain", "approved", "verified", "planned"]),
  );
  for (const { sessionId } of items) {
    const audit = await engine.session(sessionId).audit();
    expect(audit).toMatchObject({ intact: true });
    expect(audit.approvals.filter(({ distrust }) => distrust !== undefined)).toEqual([]);
    expect((await engine.session(sessionId).history()).length).toBeGreaterThan(0);
    expect((await engine.session(sessionId).fullState()).sessionId).toBe(sessionId);
  }
  return items;
}

it("there is a sample of every format of sessions", async () => {
  const schemas = new Set<number>();
  for (const name of names) {
    const text = await readFile(join(SAMPLES, name, "sessions.jsonl"), "utf8");
    for (const [, schema] of text.matchAll(/"schema":(\d+),"previousHash"/g)) schemas.add(Number(schema));
  }
  expect([...schemas].sort()).toEqual(Array.from({ length: phasedMachine.schema }, (_, index) => index + 1));
});

describe.each(names)("sessions of %s", (name) => {
  const folder = join(SAMPLES, name);
  const approversOf = async () => JSON.parse(await readFile(join(folder, "approvers.json"), "utf8"));

  it("are imported from lines, and exported as the same lines", async () => {
    const file = join(folder, "sessions.jsonl");
    const storage = await imported(file);
    await expectReadable(storage, { approvers: await approversOf() });
    const again = exportLines(storage, { onRefused: () => expect.fail("all hold"), onEnd: () => undefined });
    const written = await readFile(file, "utf8");
    // Other members of an older version's summary are kept, and so is a body; a newer header may differ.
    expect((await textOf(again)).split("\n").slice(1, -2)).toEqual(written.split("\n").slice(1, -2));
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
    const { engine } = makeEngine({ storage });
    const active = items.filter(({ status }) => status === "active");
    expect(active.length).toBeGreaterThan(0);
    for (const { sessionId } of active) {
      await engine.session(sessionId).pause();
      expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
    }
  });
});
