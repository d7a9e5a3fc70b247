import { expect } from "vitest";
import { isPhasegateError } from "../../../../src/errors.js";
import type { Commit } from "../../../../src/ports/storage-adapter.js";
import { FileStorage } from "../../../../src/storage/files/storage.js";
import { collect, makeCommit, nextCommit } from "../../../../src/testing/contract.js";
import type { Chance } from "./chance.js";
import type { PowerDisk } from "./power-fs.js";

const STATUSES = ["active", "active", "paused", "completed"] as const;

/** The commits that a session must hold after a loss of power, and those that it may hold. */
interface Expected {
  acknowledged: Commit[];
  /** The commit that was in progress. */
  tried: Commit | undefined;
  removal: "none" | "tried" | "done";
}

/** Random work on some sessions, with a record of what was acknowledged. */
class StorageWork {
  readonly #disk: PowerDisk;
  readonly #sessions = new Map<string, Expected>();
  #count = 0;

  constructor(disk: PowerDisk) {
    this.#disk = disk;
  }

  /** Works until the power fails, or for the given number of steps; on so many sessions at a time. */
  async run(root: string, calls: number, steps: number, width: number): Promise<void> {
    const fs = this.#disk.fs(calls);
    try {
      const storage = await FileStorage.open(root, { fs });
      for (let step = 0; step < steps && !this.#disk.isOff; step++) {
        const names = Array.from({ length: width }, (_, index) => `s${2 * index + this.#disk.chance.of(2)}`);
        const ids = names.map((name) => `${name}_${this.#era(name)}`);
        await Promise.all(ids.map((id) => this.#step(storage, id)));
      }
      await storage.close();
    } catch (error) {
      if (!this.#disk.isOff) throw error;
    }
  }

  /** Returns a number for a new id: a removed id is never used again. */
  #era(name: string): number {
    let era = 0;
    while (this.#sessions.get(`${name}_${era}`)?.removal === "done") era++;
    return era;
  }

  async #step(storage: FileStorage, id: string): Promise<void> {
    const expected = this.#sessions.get(id) ?? { acknowledged: [], tried: undefined, removal: "none" };
    this.#sessions.set(id, expected);
    const newest = expected.acknowledged.at(-1);
    const dice = this.#disk.chance.of(12);
    if (newest === undefined || dice < 8) await this.#append(storage, id, expected, newest);
    else if (dice < 10) {
      // A session with payloads of this hour is not packed.
      if (this.#disk.chance.of(4) > 0) this.#disk.wait(7_200_000);
      await storage.compact(newest.sessionId);
      // Commits that were packed long ago are deleted by the next compaction.
      if (this.#disk.chance.of(2) === 0) this.#disk.wait(7_200_000);
    } else if (dice === 10) await storage.list({ status: ["active"] });
    else if (this.#disk.chance.of(4) === 0) {
      expected.removal = "tried";
      await storage.remove(newest.sessionId);
      expected.removal = "done";
    }
  }

  async #append(storage: FileStorage, id: string, expected: Expected, newest: Commit | undefined): Promise<void> {
    this.#count += 1;
    const body = `${this.#count} ${"y".repeat(this.#disk.chance.of(60))}`;
    const payloads = this.#disk.chance.of(3) > 0 ? [] : [{ hash: String(this.#count).padStart(64, "0"), body }];
    const status = STATUSES[this.#disk.chance.of(STATUSES.length)] ?? "active";
    const parts = { body, payloads, summary: { status } };
    const commit = newest === undefined ? makeCommit({ sessionId: id, ...parts }) : nextCommit(newest, parts);
    expected.tried = commit;
    await storage.append(commit);
    expected.acknowledged.push(commit);
    expected.tried = undefined;
  }

  /** Checks the store as a new process after a loss of power: no acknowledged commit is lost, and none is torn. */
  async check(root: string): Promise<void> {
    const storage = await FileStorage.open(root, { fs: this.#disk.fs() });
    const there: Commit[] = [];
    for (const [id, expected] of this.#sessions) {
      const newest = await this.#checkSession(storage, id, expected);
      if (newest !== undefined) there.push(newest);
    }
    for (const status of [undefined, ["active"]] as const) {
      const summaries = there
        .map(({ summary }) => summary)
        .filter((one) => status === undefined || one.status === "active");
      const page = await storage.list(status === undefined ? {} : { status });
      expect(page.items.map((one) => JSON.stringify(one)).sort(), "list").toEqual(
        summaries.map((one) => JSON.stringify(one)).sort(),
      );
    }
    const active = there.filter(({ summary }) => summary.status === "active").length;
    expect(await storage.countActive(1000), "countActive").toBeGreaterThanOrEqual(active);
    await storage.close();
  }

  async #checkSession(storage: FileStorage, id: string, expected: Expected): Promise<Commit | undefined> {
    const { acknowledged, tried, removal } = expected;
    const { sessionId } = makeCommit({ sessionId: id });
    const newest = await storage.read(sessionId);
    const log = await collect(storage.log(sessionId));
    expect(log.at(-1), "the newest is the last of the log").toEqual(newest);
    if (removal === "done") expect(newest, "a removed session is back").toBeUndefined();
    if (removal !== "none" && newest === undefined) {
      expected.removal = "done";
      await expect(storage.append(makeCommit({ sessionId: id }))).rejects.toSatisfy((error) => isPhasegateError(error));
      return undefined;
    }
    const made = tried !== undefined && log.length > acknowledged.length ? [...acknowledged, tried] : acknowledged;
    expect(
      log.map(({ hash, body }) => [hash, body]),
      `the log of ${id}`,
    ).toEqual(made.map(({ hash, body }) => [hash, body]));
    for (const { payloads = [] } of made) {
      for (const { hash, body } of payloads) expect(await storage.payload(sessionId, hash), "a payload").toBe(body);
    }
    Object.assign(expected, { acknowledged: [...made], tried: undefined, removal: "none" });
    return newest;
  }
}

/** Runs one round: work, loss of power, check, and the same again on what is left. */
export async function powerRound(disk: PowerDisk, chance: Chance): Promise<void> {
  const work = new StorageWork(disk);
  for (let loss = 0; loss < 3; loss++) {
    const width = chance.of(2) === 0 ? 2 : 8;
    await work.run("/store", 20 + chance.of(300 * width), 30, width);
    disk.losePower();
    await work.check("/store");
    // The check itself may write; commits that were read must not be lost either.
    disk.losePower();
    await work.check("/store");
  }
}
