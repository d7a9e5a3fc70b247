/** The paths of a file store, and the state and tasks that its operations share. */
import { hash } from "node:crypto";
import { dirname, join } from "node:path";
import type { RecentMap } from "../../workflow/cache.js";
import { isSessionId, parseSessionId, type SessionId } from "../../workflow/names.js";
import type { Disk } from "./disk.js";
import { ignore, isMissing } from "./failures.js";

/** Device names that Windows reserves. A session id never begins with `_`, so the escaped name is free. */
const DEVICES = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/;

export const TOP_FOLDERS = ["sessions", "all", "active", "removed", "packed", "trash", "watching"] as const;

/** A session and its folder; for a removed session, its folder in the trash. */
export interface SessionPlace {
  readonly id: SessionId;
  readonly folder: string;
}

/**
 * The paths of a store:
 *
 * ```
 * format.json                                format version and publishing method
 * sessions/<2 hex>/<id>/<version>.json       one commit each, immutable; 1.json may be a pack of the first commits
 * sessions/<2 hex>/<id>/head                 a hint: the newest version's number, or an earlier one
 * sessions/<2 hex>/<id>/payloads/<hash>.gz
 * all/<day>/<time>~<id>                      markers of all sessions, by creation time
 * active/<day>/<time>~<id>~<version>         markers of active sessions
 * removed/<2 hex>/<id>                       ids that are never used again
 * packed/<id>                                sessions that may still have files of packed versions
 * trash/removed~<id>~<time>~<unique>/        removed folders, until they are deleted
 * watching/<unique>                          heartbeats of watchers, which read removed sessions from the trash
 * ```
 *
 * The two hexadecimal digits are the first of the id's SHA-256, so that no folder gets too many entries.
 *
 * A tool that copies the tree file by file, in any order and over any time, must get each session complete. Therefore
 * a session keeps one folder for its whole life, its files never change, a replacement has the same name as the file
 * it replaces, and a file whose content has moved is deleted only after a delay.
 */
export class StoreLayout {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  place(id: SessionId): SessionPlace {
    return { id, folder: this.#spread("sessions", id) };
  }

  shelf(id: SessionId): string {
    return dirname(this.#spread("sessions", id));
  }

  removed(id: SessionId): string {
    return this.#spread("removed", id);
  }

  /** Returns the note that a session was packed and has files to delete. */
  packed(id: SessionId): string {
    return join(this.root, "packed", this.#name(id));
  }

  top(name: (typeof TOP_FOLDERS)[number]): string {
    return join(this.root, name);
  }

  format(): string {
    return join(this.root, "format.json");
  }

  #spread(top: "sessions" | "removed", id: SessionId): string {
    return join(this.root, top, hash("sha256", id, "hex").slice(0, 2), this.#name(id));
  }

  // The id was checked by the caller. It is checked again because it becomes a path, and callers may be untyped.
  #name(id: SessionId): string {
    return DEVICES.test(parseSessionId(id)) ? `_${id}` : id;
  }
}

/** Returns the session to which a folder's name belongs; undefined if it is not a session's. */
export function sessionOf(name: string): SessionId | undefined {
  const id = name.startsWith("_") && DEVICES.test(name.slice(1)) ? name.slice(1) : name;
  return isSessionId(id) ? id : undefined;
}

/** Gives a commit its version, if free. It is staged in the session's folder, which a removal takes away. */
export interface Publisher {
  /** The system call that publishes. */
  readonly way: "link" | "rename";
  /** Returns the path of a version. The pack is at that of version 1: it replaces this file, so no copy lacks it. */
  path(folder: string, version: number): string;
  /** Returns the version to which a name in a session's folder belongs; 0 if it is not a version's. */
  versionOf(name: string): number;
  /** Writes a commit to a temp file and returns its path. */
  stage(folder: string, data: string | Uint8Array): Promise<string>;
  /** Returns false if the version is taken or the folder gone. Only after `outcomeUnknown` may it be published. */
  publish(folder: string, staged: string, version: number): Promise<boolean>;
  /** Deletes a version's file because the version is in the pack or lost a race. */
  remove(folder: string, version: number): Promise<void>;
  /** Deletes what staging has left, whether the commit was published or not. */
  discard(staged: string): Promise<void>;
}

/** The state of a pack. */
export interface Pack {
  /** The number of packed versions; 0 if there is no pack. */
  readonly count: number;
  readonly indexAt: number;
  /** Identifies the file and its state: a pack is replaced by a longer one. */
  readonly identity: string;
  readonly mtimeMs: number;
}

/** A version that was seen on the disk. Versions never change, so this stays true unless a backup is restored. */
interface KnownVersion {
  readonly version: number;
  /** Its hash, if it is synced: lists sync nothing. */
  readonly hash: string | undefined;
}

export interface Store {
  readonly disk: Disk;
  readonly layout: StoreLayout;
  readonly publisher: Publisher;
  readonly limits: {
    readonly maxCommitBytes: number;
    readonly watchIntervalMs: number;
    readonly copyWindowMs: number;
  };
  readonly folders: Folders;
  readonly background: Background;
  readonly packs: Map<string, Pack>;
  /** The newest versions that this process has seen: with one, a read looks at two files and not at three, and syncs nothing. */
  readonly newest: RecentMap<SessionId, KnownVersion>;
  readonly heads: Map<SessionId, number>;
  /** The watchers of this process, which are called with each version that it may have written. */
  readonly listeners: Set<(id: SessionId, version: number) => void>;
}

const MAX_KNOWN = 4096;
const ATTEMPTS = 3;

/** Makes folders on first use. Folders known to exist on the disk cost nothing afterwards. */
export class Folders {
  readonly #disk: Disk;
  readonly #known = new Set<string>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Runs an action in a folder, made if need be. An empty `transient` one may be deleted: it is not remembered. */
  async within<T>(folder: string, action: () => Promise<T>, transient = false): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const known = this.#known.has(folder);
      if (!known) await this.#disk.makeFolder(folder);
      try {
        const result = await action();
        if (!known) await this.#keep(folder, transient);
        return result;
      } catch (error) {
        this.#known.delete(folder);
        if (!isMissing(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #keep(folder: string, transient: boolean): Promise<void> {
    await this.#disk.syncFolder(dirname(folder));
    if (transient) return;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.add(folder);
  }
}

/** Runs tasks that no caller waits for and that may fail: in order for each key. `idle` waits for all. */
export class Background {
  readonly #tails = new Map<string, Promise<void>>();
  /** They end the pauses. */
  readonly #paused = new Set<() => void>();
  /** The number of callers that wait for tasks: none pauses then. */
  #waiting = 0;

  /** Runs a task after those of the same key. */
  run(key: string, task: () => Promise<void>): void {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const tail = before.then(task).catch(ignore);
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
  }

  /** Lets a task wait for a time in milliseconds, or until somebody waits for the tasks. */
  async pause(ms: number): Promise<void> {
    if (this.#waiting > 0) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#paused.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      // A task that waits for its time, such as a hint, must not keep the process alive.
      timer.unref();
      this.#paused.add(end);
    });
  }

  /** Resolves when no task is running. Tasks don't pause meanwhile. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await this.current();
  }

  /** Resolves when the tasks that are running now have ended, and ends their pauses. */
  async current(): Promise<void> {
    this.#waiting += 1;
    for (const end of this.#paused) end();
    // They never fail.
    await Promise.all(this.#tails.values());
    this.#waiting -= 1;
  }
}
