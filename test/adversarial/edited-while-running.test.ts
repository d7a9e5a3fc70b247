import { hash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createEngine, defineWorkflow, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { SqliteStorage } from "phasegate/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { parseSessionId } from "../../src/workflow/names.js";
import { failure } from "../support/failure.js";

const workflow = defineWorkflow({
  type: "two",
  revision: "1",
  name: "Two",
  description: "two phases",
  phases: [1, 2, 3].map((number) => ({ number, name: `Phase ${number}`, purpose: "to be done", content: "# Do it" })),
});

/** A storage, and how somebody edits a session's newest commit in it. */
interface Edited {
  readonly storage: StorageAdapter;
  edit(id: string, version: number, from: string, to: string): Promise<void>;
}

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "phasegate-edited-"));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

function editRow(database: DatabaseSync, id: string, version: number, from: string, to: string): void {
  const sql = `UPDATE phasegate_commits SET body = replace(body, ?, ?)
    WHERE version = ? AND session = (SELECT number FROM phasegate_sessions WHERE session_id = ?)`;
  expect(database.prepare(sql).run(from, to, version, id).changes).toBe(1);
}

const STORES: Record<string, () => Promise<Edited>> = {
  files: async () => {
    const root = await folder();
    const storage = await FileStorage.open(root);
    const edit = async (id: string, version: number, from: string, to: string) => {
      const file = join(root, "sessions", hash("sha256", id, "hex").slice(0, 2), id, `${version}.json`);
      await writeFile(file, (await readFile(file, "utf8")).replaceAll(from, to));
    };
    return { storage, edit };
  },
  "a SQLite file": async () => {
    const file = join(await folder(), "sessions.db");
    const storage = await SqliteStorage.open(file);
    const edit = async (...edited: [id: string, version: number, from: string, to: string]) => {
      const database = new DatabaseSync(file);
      editRow(database, ...edited);
      database.close();
    };
    return { storage, edit };
  },
  "a host's own SQLite connection": async () => {
    const database = new DatabaseSync(join(await folder(), "sessions.db"));
    const storage = await SqliteStorage.open(database);
    return { storage, edit: async (...edited) => editRow(database, ...edited) };
  },
};

describe.each(Object.entries(STORES))("a newest commit that is edited under a running host, in %s", (_, open) => {
  /** An engine that has seen a session's second commit, which somebody then edits. */
  async function edited() {
    const { storage, edit } = await open();
    const engine = createEngine({ storage, content: new MemoryContent({ workflows: [workflow] }) });
    onTestFinished(async () => {
      await engine.close();
      await storage.close?.();
    });
    const { sessionId } = await engine.start({ workflowType: "two", target: "a.ts" });
    await engine.completePhase(sessionId, { phase: 1, evidence: { said: "honest" } });
    await edit(sessionId, 2, "honest", "forged");
    const complete = () => engine.completePhase(sessionId, { phase: 2, evidence: {} });
    return { engine, storage, sessionId, complete, undo: () => edit(sessionId, 2, "forged", "honest") };
  }

  it("is refused before anything follows it, as often as the host tries", async () => {
    const { complete, storage, sessionId } = await edited();
    for (let tries = 0; tries < 3; tries += 1) expect((await failure(complete())).code).toBe("TAMPERED");
    const versions: number[] = [];
    for await (const { version } of storage.log(parseSessionId(sessionId))) versions.push(version);
    expect(versions).toEqual([1, 2]);
  });

  it("is refused after it was read, too", async () => {
    const { engine, sessionId, complete } = await edited();
    expect((await failure(engine.getState(sessionId))).code).toBe("TAMPERED");
    expect((await failure(complete())).code).toBe("TAMPERED");
  });

  it("is no obstacle once it is what it was", async () => {
    const { complete, engine, sessionId, undo } = await edited();
    expect((await failure(complete())).code).toBe("TAMPERED");
    await undo();
    expect(await complete()).toMatchObject({ passed: true });
    expect(await engine.audit(sessionId)).toMatchObject({ intact: true, versions: 3 });
  });
});
