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
import { submitTo } from "../support/submit.js";

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
    onTestFinished(async () => storage.close?.());
    const limits = { maxActiveSessions: 1000 };
    const newEngine = () => createEngine({ storage, content: new MemoryContent({ workflows: [workflow] }), limits });
    const engine = newEngine();
    const ann = engine.as({ name: "ann" });
    const { sessionId } = await ann.start({ workflowType: "two", target: "a.ts" });
    await ann.session(sessionId).completePhase(1, { said: "honest" });
    await edit(sessionId, 2, "honest", "forged");
    const complete = () => ann.session(sessionId).completePhase(2, {});
    const undo = () => edit(sessionId, 2, "forged", "honest");
    return { engine, newEngine, storage, sessionId, complete, undo };
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
    expect((await failure(engine.session(sessionId).state())).code).toBe("TAMPERED");
    expect((await failure(complete())).code).toBe("TAMPERED");
  });

  it("is refused after another engine has read it, or somebody who may not see it has asked for it", async () => {
    const { engine, newEngine, sessionId, complete } = await edited();
    expect((await failure(engine.as({ name: "bob" }).session(sessionId).state())).code).toBe("SESSION_NOT_FOUND");
    expect((await failure(complete())).code).toBe("TAMPERED");
    expect((await failure(newEngine().session(sessionId).completePhase(2, {}))).code).toBe("TAMPERED");
    expect((await failure(complete())).code).toBe("TAMPERED");
  });

  it("is refused after many others were read, so that a cache has no place for it", async () => {
    const { newEngine, complete } = await edited();
    // Of another engine: this one still has what it has decided on.
    const other = newEngine();
    const note = "x".repeat(600_000);
    for (let session = 0; session < 30; session += 1) {
      const { sessionId } = await other.start({ workflowType: "two", target: `other-${session}.ts` });
      await other.session(sessionId).completePhase(1, { note });
    }
    expect((await failure(complete())).code).toBe("TAMPERED");
  });

  it("is no obstacle once it is what it was", async () => {
    const { complete, engine, sessionId, undo } = await edited();
    expect((await failure(complete())).code).toBe("TAMPERED");
    await undo();
    expect(await complete()).toMatchObject({ passed: true });
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true, versions: 3 });
  });
});

describe("a newest commit that is edited by somebody who holds the lock of a SQLite file", () => {
  it.each(["before the append begins", "while it waits for the lock"])("is refused: %s", async (when) => {
    const file = join(await folder(), "sessions.db");
    const storage = await SqliteStorage.open(file);
    const engine = createEngine({ storage, content: new MemoryContent({ workflows: [workflow] }) });
    const [here, there] = [
      await engine.start({ workflowType: "two", target: "a.ts" }),
      await engine.start({ workflowType: "two", target: "b.ts" }),
    ];
    for (const { sessionId } of [here, there]) {
      await engine.session(sessionId).completePhase(1, { said: "honest" });
    }
    const complete = ({ sessionId }: typeof here) => engine.session(sessionId).completePhase(2, {});
    const editor = new DatabaseSync(file);
    onTestFinished(async () => {
      editor.close();
      await storage.close();
    });
    const isFirst = when === "before the append begins";
    editor.exec("BEGIN IMMEDIATE");
    if (!isFirst) editRow(editor, here.sessionId, 2, "honest", "forged");
    const waiting = complete(isFirst ? there : here).then(
      () => "done",
      ({ code }) => code,
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
    editor.exec("COMMIT");
    expect(await waiting).toBe(isFirst ? "done" : "TAMPERED");
    if (isFirst) editRow(editor, here.sessionId, 2, "honest", "forged");
    expect((await failure(complete(here))).code).toBe("TAMPERED");
  });
});

it("a call is not repeated with the answer of a commit that is gone: a session of files was restored from a backup", async () => {
  const root = await folder();
  const content = new MemoryContent({ workflows: [workflow] });
  const [here, there] = [await FileStorage.open(root), await FileStorage.open(root)].map((storage) =>
    createEngine({ storage, content }),
  );
  if (here === undefined || there === undefined) throw new Error("two engines");
  const { sessionId } = await here.start({ workflowType: "two", target: "a.ts" });
  const request = { phase: 1, evidence: { said: "honest" }, idempotencyKey: "key-1" };
  expect(await submitTo(here.session(sessionId), request)).toMatchObject({ passed: true });
  const place = join(root, "sessions", hash("sha256", sessionId, "hex").slice(0, 2), sessionId);
  for (const name of ["2.json", "head"]) await rm(join(place, name), { force: true });
  await there.session(sessionId).pause();
  expect((await failure(submitTo(here.session(sessionId), request))).code).toBe("INVALID_TRANSITION");
  for (const engine of [here, there]) await engine.close();
});
