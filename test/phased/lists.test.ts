import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MemoryStorage, type SessionId, type StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { PostgresStorage } from "phasegate/postgres";
import { SqliteStorage } from "phasegate/sqlite";
import type { SessionSummary } from "phasegate/storage";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { tampered } from "../../src/log/commit.js";
import { StoreLayout } from "../../src/storage/files/layout.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { newSchema, postgresUrl, runSql } from "../support/postgres.js";

const KEY = "only the host knows this";

/** A storage whose newest summaries can be replaced by any text. */
interface Altered {
  readonly storage: StorageAdapter;
  readonly alter: (id: SessionId, change: (summary: string) => string) => Promise<void>;
}

/** The memory storage has no texts: it shows an altered summary if it can be parsed, else the session is damaged. */
class AlteredMemory extends MemoryStorage {
  readonly altered = new Map<string, (summary: string) => string>();

  #summary(summary: SessionSummary): SessionSummary | undefined {
    try {
      return JSON.parse(this.altered.get(summary.sessionId)?.(JSON.stringify(summary)) ?? JSON.stringify(summary));
    } catch {
      return undefined;
    }
  }

  override async *log(id: SessionId, options: { after?: number; limit?: number } = {}) {
    for await (const commit of super.log(id, options)) {
      yield { ...commit, summary: this.#summary(commit.summary) ?? commit.summary };
    }
  }

  override async list(query: Parameters<MemoryStorage["list"]>[0]) {
    const { items } = await super.list({ ...query, status: ["active", "completed"] });
    const shown = items.flatMap((item) => this.#summary(item) ?? []);
    const damaged = items.filter((item) => this.#summary(item) === undefined).map(({ sessionId }) => sessionId);
    return { items: shown.filter(({ status }) => query.status?.includes(status) ?? true), damaged };
  }

  override async read(id: SessionId) {
    const commit = await super.read(id);
    if (commit === undefined) return undefined;
    const summary = this.#summary(commit.summary);
    if (summary === undefined) throw tampered(commit, "its summary can't be read");
    return { ...commit, summary };
  }
}

const STORAGES: Record<string, () => Promise<Altered>> = {
  MemoryStorage: async () => {
    const storage = new AlteredMemory();
    return { storage, alter: async (id, change) => void storage.altered.set(id, change) };
  },
  FileStorage: async () => {
    const root = await temporaryFolder();
    const storage = await FileStorage.open(root);
    onTestFinished(() => storage.close());
    const alter: Altered["alter"] = async (id, change) => {
      const folder = new StoreLayout(root).place(id).folder;
      const { version = 0 } = (await storage.read(id)) ?? {};
      const text = await readFile(join(folder, `${version}.json`), "utf8");
      const [header = "", body = ""] = text.split("\n");
      const start = header.indexOf('"summary":') + '"summary":'.length;
      const changed = `${header.slice(0, start)}${change(header.slice(start, -1))},\n${body}\n`;
      // New files are needed, as the hint is a hard link to the newest one.
      for (const file of [`${version}.json`, "head"]) {
        await rm(join(folder, file), { force: true });
        await writeFile(join(folder, file), changed);
      }
    };
    return { storage, alter };
  },
  SqliteStorage: async () => {
    const file = join(await temporaryFolder(), "state.db");
    const storage = await SqliteStorage.open(file);
    onTestFinished(() => storage.close());
    const alter: Altered["alter"] = async (id, change) => {
      const database = new DatabaseSync(file);
      const newest = `session = (SELECT number FROM phasegate_sessions WHERE session_id = '${id}')
        AND version = (SELECT max(version) FROM phasegate_commits c WHERE c.session = phasegate_commits.session)`;
      const row = database.prepare(`SELECT summary FROM phasegate_commits WHERE ${newest}`).get();
      const changed = change(String(row?.summary));
      database.prepare(`UPDATE phasegate_commits SET summary = ? WHERE ${newest}`).run(changed);
      const status = /"status":"(\w+)"/.exec(changed)?.[1] ?? "active";
      database.exec(`UPDATE phasegate_sessions SET status = '${status}' WHERE session_id = '${id}'`);
      database.close();
    };
    return { storage, alter };
  },
  PostgresStorage: async () => {
    const [url, schema] = [await postgresUrl(), newSchema()];
    const storage = await PostgresStorage.open({ url, schema });
    onTestFinished(() => storage.close());
    const alter: Altered["alter"] = async (id, change) => {
      const newest = `session_id = '${id}' AND version = (SELECT version FROM ${schema}.sessions WHERE session_id = '${id}')`;
      const [row] = await runSql(url, `SELECT summary FROM ${schema}.commits WHERE ${newest}`);
      const changed = change(String(row?.summary));
      const status = /"status":"(\w+)"/.exec(changed)?.[1] ?? "active";
      await runSql(
        url,
        `UPDATE ${schema}.commits SET summary = '${changed}' WHERE ${newest}`,
        `UPDATE ${schema}.sessions SET status = '${status}' WHERE session_id = '${id}'`,
      );
    };
    return { storage, alter };
  },
};

const asCompleted = (summary: string) =>
  summary.replace('"status":"active"', '"status":"completed"').replace('"current":1', '"current":2');

for (const [name, open] of Object.entries(STORAGES)) {
  describe(`${name}: a session's summary that was edited`, () => {
    const keys = [["no key", undefined] as const, ["a key", KEY] as const];
    it.each(keys)("changes no status in lists, and fails the audit, with %s", async (_, hashKey) => {
      const { storage, alter } = await open();
      const made = () => makeEngine({ storage, ...(hashKey === undefined ? {} : { hashKey }) }).engine;
      const [forged, other] = [await startTwoPhases(made(), "src/a.ts"), await startTwoPhases(made(), "src/b.ts")];
      expect(await made().session(forged).audit()).toMatchObject({ intact: true });
      await alter(forged, asCompleted);
      const stored = await storage.list({ status: ["completed"] });
      expect(stored.items).toMatchObject([{ sessionId: forged, status: "completed", current: 2 }]);
      const engine = made();
      const all = await engine.listSessions();
      expect(all.items.map(({ sessionId, status, current }) => [sessionId, status, current])).toEqual([
        [forged, "active", 1],
        [other, "active", 1],
      ]);
      expect((await engine.listSessions({ status: ["completed"] })).items).toEqual([]);
      const reason = expect.stringContaining("its summary is not that of its body");
      expect(await engine.session(forged).audit()).toMatchObject({ intact: false, versions: 0, reason });
      expect(await engine.session(other).audit()).toMatchObject({ intact: true });
    });

    it("hides no other session if it cannot be read, and its session is named", async () => {
      const { storage, alter } = await open();
      const { engine } = makeEngine({ storage });
      const [broken, other] = [await startTwoPhases(engine, "src/a.ts"), await startTwoPhases(engine, "src/b.ts")];
      await alter(broken, () => "{oops");
      const heard: unknown[] = [];
      engine.on("security", (refusal) => void heard.push(refusal));
      expect(await engine.listSessions({ status: ["active", "completed"] })).toMatchObject({
        items: [{ sessionId: other }],
        broken: [{ sessionId: broken, code: "TAMPERED" }],
      });
      expect(heard).toMatchObject([{ operation: "listSessions", code: "TAMPERED", sessionId: broken }]);
      expect((await failure(engine.session(broken).state())).code).toBe("TAMPERED");
      expect(await engine.approvals()).toEqual([]);
      expect(await engine.start({ workflowType: "two_phases", target: "src/a.ts" })).toMatchObject({ replayed: false });
      expect((await engine.cleanup({ olderThan: 0 })).removed).not.toContain(broken);
      const named: string[] = [];
      if (storage.damaged !== undefined) for await (const id of storage.damaged()) named.push(id);
      expect(named).toEqual(name === "MemoryStorage" ? [] : [broken]);
    });
  });
}

it("leaves others their turns while a long page is read from a storage that answers at once", async () => {
  const storage = new MemoryStorage();
  const started = makeEngine({ storage }).engine;
  for (let number = 0; number < 40; number += 1) await startTwoPhases(started, `src/${number}.ts`);
  const read = storage.read.bind(storage);
  storage.read = async (id) => {
    for (const end = performance.now() + 3; performance.now() < end; );
    return read(id);
  };
  let turns = 0;
  setTimeout(() => (turns += 1));
  expect((await makeEngine({ storage }).engine.listSessions({ limit: 40 })).items).toHaveLength(40);
  expect(turns).toBe(1);
});

describe("a list", () => {
  it("reads each commit once, and asks for none to be made durable", async () => {
    const storage = new MemoryStorage();
    const first = makeEngine({ storage }).engine;
    const [fresh, moved] = [await startTwoPhases(first, "src/a.ts"), await startTwoPhases(first, "src/b.ts")];
    await first.session(moved).pause();
    const { engine } = makeEngine({ storage });
    const [read, log] = [vi.spyOn(storage, "read"), vi.spyOn(storage, "log")];
    const names = { workflowName: "Two phases", phaseName: "Build" };
    expect((await engine.listSessions()).items).toMatchObject([
      { sessionId: fresh, ...names },
      { sessionId: moved, ...names },
    ]);
    expect(read.mock.calls).toEqual([
      [fresh, { durable: false }],
      [moved, { durable: false }],
    ]);
    // The newest commit of the other one names no workflow: that is in its first one.
    expect(log.mock.calls).toEqual([[moved, { after: 0, limit: 1 }]]);
  });
});
