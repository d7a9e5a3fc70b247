import type { AppendOptions, Commit } from "../../src/ports/storage-adapter.js";
import { commitConflict } from "../../src/storage/common/session-query.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import type { SessionId } from "../../src/workflow/names.js";
/** A storage whose log was edited by hand. */
export class AlteredStorage extends MemoryStorage {
  /** Alters the commits of a session when they are read. */
  alter: ((commits: readonly Commit[]) => readonly Commit[]) | undefined;

  /** Edits one commit. */
  edit(version: number, parts: Partial<Commit>): void {
    this.alter = (commits) => commits.map((commit) => (commit.version === version ? { ...commit, ...parts } : commit));
  }

  async #commits(id: SessionId): Promise<readonly Commit[]> {
    const commits: Commit[] = [];
    for await (const commit of super.log(id)) commits.push(commit);
    return this.alter?.(commits) ?? commits;
  }

  override async read(id: SessionId): Promise<Commit | undefined> {
    return (await this.#commits(id)).at(-1);
  }

  /** Refuses to follow what was edited, as an adapter does whose sessions somebody can edit. */
  override async append(commit: Commit, { follows }: AppendOptions = {}): Promise<void> {
    const newest = await this.read(commit.sessionId);
    if (follows !== undefined && newest?.body !== follows)
      throw commitConflict(commit.sessionId, commit.version, "edited");
    await super.append(commit);
  }

  override async *log(id: SessionId, { after = 0, limit = 1e9 } = {}): AsyncGenerator<Commit> {
    yield* (await this.#commits(id)).filter(({ version }) => version > after).slice(0, limit);
  }
}
