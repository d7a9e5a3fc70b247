import type { SessionId } from "../definition/names.js";
import type { Commit, SessionQuery, SessionSummary } from "../ports/storage-adapter.js";

/** What a storage must list, as simply as it can be said. */
export class StorageModel {
  readonly #newest = new Map<SessionId, Commit>();

  put(commit: Commit): void {
    this.#newest.set(commit.sessionId, commit);
  }

  remove(id: SessionId): void {
    this.#newest.delete(id);
  }

  /** The newest commits of all sessions. */
  newest(): Commit[] {
    return [...this.#newest.values()];
  }

  summary(id: SessionId): SessionSummary | undefined {
    return this.#newest.get(id)?.summary;
  }

  /** All that a query lets through, in the order of a list. */
  list(query: SessionQuery): SessionSummary[] {
    const found = this.newest().map(({ summary }) => summary);
    return found.filter((summary) => passes(summary, query)).sort(inOrder);
  }
}

function passes(summary: SessionSummary, query: SessionQuery): boolean {
  const { status = [summary.status], idPrefix = "", updatedBefore } = query;
  const same = (["workflowType", "target", "kind"] as const).every(
    (key) => query[key] === undefined || query[key] === summary[key],
  );
  const isOlder = updatedBefore === undefined || summary.updatedAt < updatedBefore;
  return same && isOlder && status.includes(summary.status) && summary.sessionId.startsWith(idPrefix);
}

function inOrder(one: SessionSummary, other: SessionSummary): number {
  const [newer, older] = [one.createdAt > other.createdAt, one.createdAt < other.createdAt];
  if (newer || older) return newer ? -1 : 1;
  return one.sessionId < other.sessionId ? -1 : 1;
}
