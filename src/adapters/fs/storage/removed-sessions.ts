import { isSessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import { orDamaged } from "./fs-failure.js";
import type { StoreParts } from "./store-parts.js";
import type { TrashEntry } from "./trash.js";
import type { WatchedSessions } from "./watched-sessions.js";

/** The last commits of sessions that are removed while somebody watches, read out of the trash. */
export class RemovedSessions {
  readonly #parts: StoreParts;
  readonly #sessions: WatchedSessions;
  readonly #idPrefix: string;
  readonly #seen = new Set<string>();

  constructor(parts: StoreParts, sessions: WatchedSessions, idPrefix: string) {
    this.#parts = parts;
    this.#sessions = sessions;
    this.#idPrefix = idPrefix;
  }

  /** What is there now was removed before. */
  async begin(): Promise<void> {
    for (const { name } of await this.#parts.trash.entries()) this.#seen.add(name);
  }

  /** What was removed since the last round. */
  async *round(): AsyncGenerator<Commit> {
    const entries = await this.#parts.trash.entries();
    for (const entry of entries) if (!this.#seen.has(entry.name)) yield* this.#last(entry);
    const there = new Set(entries.map(({ name }) => name));
    for (const name of this.#seen) if (!there.has(name)) this.#forget(name);
  }

  async *#last({ name, path, id }: TrashEntry): AsyncGenerator<Commit> {
    this.#seen.add(name);
    if (!id.startsWith(this.#idPrefix)) return;
    const watched = this.#sessions.get(id) ?? this.#sessions.add(id);
    const at = { id, folder: path };
    for (;;) {
      const commit = await this.#parts.reader.commit(id, watched.version + 1, at).catch(orDamaged);
      if (commit === undefined) return;
      watched.version = commit.version;
      yield commit;
    }
  }

  #forget(name: string): void {
    this.#seen.delete(name);
    const [, id] = name.split("~");
    if (isSessionId(id)) this.#sessions.forget(id);
  }
}
