import type { Changes, Commit, SessionQuery, StorageAdapter } from "../../src/ports/storage-adapter.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { wrapStorage } from "../../src/testing/broken.js";
import { collect } from "../../src/testing/contract.js";
import type { SessionId } from "../../src/workflow/names.js";

/** Ways to get the methods wrong that an adapter may have. */
export interface Wrong {
  /** What a watch makes of the commits of which it is told. */
  readonly pass?: (commit: Commit, tell: (commit: Commit) => void) => void;
  readonly ignoresFilter?: true;
  readonly ignoresAbort?: true;
  /** Changes what the storage answers to `changes`. */
  readonly changes?: (found: Changes, inner: StorageAdapter) => Changes | Promise<Changes>;
  readonly size?: StorageAdapter["size"];
  readonly compact?: (id: SessionId, forget: () => Promise<void>) => Promise<void>;
}

/** A storage in memory with all that an adapter may have; several adapters see what one of them appends. */
export class FullStorage {
  readonly #inner = new MemoryStorage();
  readonly #payloadBytes = new Map<string, number>();
  readonly #watchers = new Set<(commit: Commit) => void>();
  readonly #wrong: Wrong;

  constructor(wrong: Wrong = {}) {
    this.#wrong = wrong;
  }

  adapter(): StorageAdapter {
    const inner = this.#inner;
    const { size, compact, changes = (found) => found } = this.#wrong;
    return wrapStorage(inner, {
      capabilities: { ...inner.capabilities, multiProcess: true },
      append: async (commit) => {
        await inner.append(commit);
        const bytes = (commit.payloads ?? []).reduce((sum, { body }) => sum + body.length, 0);
        this.#payloadBytes.set(commit.sessionId, bytes + (this.#payloadBytes.get(commit.sessionId) ?? 0));
        for (const tell of this.#watchers) tell(commit);
      },
      watch: (query, { signal }) => this.#watch(query, signal),
      changes: async (kind, since) => changes(await inner.changes(kind, since), inner),
      size: size ?? ((id) => this.#size(id)),
      compact: async (id) => compact?.(id, () => inner.remove(id)),
    });
  }

  async #size(id: SessionId) {
    const log = await collect(this.#inner.log(id));
    const bytes = log.reduce((sum, { body }) => sum + body.length, this.#payloadBytes.get(id) ?? 0);
    return log.length === 0 ? undefined : { commits: log.length, bytes };
  }

  #watch(query: SessionQuery, signal: AbortSignal): AsyncIterable<Commit> {
    const waiting: Commit[] = [];
    let wake = () => {};
    const { pass, ignoresAbort, ignoresFilter } = this.#wrong;
    const tell = (commit: Commit) => {
      waiting.push(commit);
      wake();
    };
    const hear = (commit: Commit) => {
      if (ignoresFilter || matches(commit, query)) (pass ?? ((one, on) => on(one)))(commit, tell);
    };
    this.#watchers.add(hear);
    if (!ignoresAbort) signal.addEventListener("abort", () => wake());
    const watchers = this.#watchers;
    return (async function* () {
      try {
        while (ignoresAbort || !signal.aborted) {
          const next = waiting.shift();
          if (next !== undefined) yield next;
          else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      } finally {
        watchers.delete(hear);
      }
    })();
  }
}

function matches({ summary }: Commit, { status, target, idPrefix = "" }: SessionQuery): boolean {
  const isWanted = (status?.includes(summary.status) ?? true) && (target ?? summary.target) === summary.target;
  return isWanted && summary.sessionId.startsWith(idPrefix);
}
