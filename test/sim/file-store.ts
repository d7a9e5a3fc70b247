/**
 * Sessions in a FileStorage, on the disk in memory that knows what was synced. Each system call of each host is a step, so
 * hosts race for every file, and a crash comes between any two calls. A call may fail; and the power of the machine may,
 * after which only what was synced is certainly there.
 */
import { basename, dirname } from "node:path";
import { FileStorage, type FileSystem } from "phasegate/fs";
import type { Commit, StorageAdapter } from "../../src/ports/storage-adapter.js";
import { sessionOf } from "../../src/storage/files/layout.js";
import type { SessionId } from "../../src/workflow/names.js";
import type { FolderNode } from "../storage/files/power/nodes.js";
import { failure, PowerDisk } from "../storage/files/power/power-fs.js";
import { systemCalls } from "../storage/files/power/system-calls.js";
import { simulateRuntime } from "./runtime.js";
import type { Schedule } from "./schedule.js";
import { all, type Line, SharedStore, type Trouble } from "./store.js";

const ROOT = "/store";
const POLL_MS = 500;
/** How often a system call fails, in percent. */
const FAILS_PERCENT = 0.2;
const ERRORS = ["EIO", "ENOSPC", "EMFILE"] as const;

/** Hosts on one machine that share a folder. */
export class FileStore extends SharedStore {
  readonly nature = { isBehindNetwork: false, pollMs: POLL_MS };
  readonly #restore: () => void;
  readonly #disk: PowerDisk;

  constructor(schedule: Schedule, trouble: Trouble) {
    super(schedule, trouble);
    this.#restore = simulateRuntime(schedule);
    this.#disk = new PowerDisk({ of: (count) => schedule.choices.pick("power", count) });
  }

  open(line: Line): Promise<StorageAdapter> {
    const fs = this.#noting(systemCalls(this.#disk, (call, path) => this.#step(line, call, path)));
    return FileStorage.open(ROOT, { fs, watchIntervalMs: POLL_MS });
  }

  async commits(id: SessionId): Promise<Commit[]> {
    const storage = await FileStorage.open(ROOT, { fs: systemCalls(this.#disk, async () => {}) });
    return all(storage.log(id));
  }

  override losePower(): void {
    this.#disk.losePower();
    this.noteLoss(new Map(shelvesOn(this.#disk).flatMap(([, shelf]) => newestIn(shelf))));
  }

  /** Whatever a host was answered must be on the disk. Versions without a file of their own are in that of the first one. */
  override noteAnswered(of: string, { sessionId, version }: Pick<Commit, "sessionId" | "version">): void {
    const folder = shelvesOn(this.#disk)
      .flatMap(([, shelf]) => foldersIn(shelf))
      .find(([name]) => sessionOf(name) === sessionId)?.[1];
    const isOwn = ([name]: [string, unknown]) => versionOf(name) === version;
    const names = [...(folder?.entries ?? [])];
    const [name = "", file] = names.find(isOwn) ?? names.find(([one]) => versionOf(one) === 1) ?? [];
    const isOnDisk = file?.kind === "file" && folder?.onDisk.get(name) === file && file.data.equals(file.onDisk);
    if (!isOnDisk) this.undurable.push(`${of} was given ${version} of ${sessionId}, which a loss of power may undo`);
  }

  override close(): void {
    this.#restore();
  }

  async #step({ of, end }: Line, call: string, path: string): Promise<void> {
    if (end.aborted) return new Promise(() => {});
    await this.schedule.wait(of, `${call} ${path.replace(/[\da-f]{8}-[\da-f-]{27}/g, "…")}`);
    if (!this.fails(`disk-of-${of}`, FAILS_PERCENT)) return;
    const code = ERRORS[this.schedule.choices.pick(`disk-of-${of}`, ERRORS.length)] ?? "EIO";
    this.schedule.note(`disk: ${code}`);
    throw failure(code);
  }

  /** Notes the versions that become visible: a commit gets its version by a link. */
  #noting(fs: FileSystem): FileSystem {
    return {
      ...fs,
      link: async (from, to) => {
        await fs.link(from, to);
        const [id, version] = [sessionOf(basename(dirname(String(to)))), versionOf(basename(String(to)))];
        if (id !== undefined && version > 0) this.noteVersion(id, version);
      },
    };
  }
}

/** Returns the folders that the sessions' folders are in. */
function shelvesOn({ root }: PowerDisk): [string, FolderNode][] {
  const store = root.entries.get(ROOT.slice(1));
  const sessions = store?.kind === "folder" ? store.entries.get("sessions") : undefined;
  return sessions?.kind === "folder" ? foldersIn(sessions) : [];
}

function versionOf(name: string): number {
  return Number(/^(\d+)\.json$/.exec(name)?.[1] ?? 0);
}

/** Returns the newest version of each session in a folder of sessions. */
function newestIn(shelf: FolderNode): [SessionId, number][] {
  return foldersIn(shelf).flatMap(([name, { entries }]): [SessionId, number][] => {
    const [id, version] = [sessionOf(name), Math.max(0, ...[...entries.keys()].map(versionOf))];
    return id === undefined || version === 0 ? [] : [[id, version]];
  });
}

function foldersIn({ entries }: FolderNode): [string, FolderNode][] {
  return [...entries].flatMap(([name, node]): [string, FolderNode][] => (node.kind === "folder" ? [[name, node]] : []));
}
