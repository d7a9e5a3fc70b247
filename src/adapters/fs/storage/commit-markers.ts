import type { Commit } from "../../../ports/storage-adapter.js";
import { activeMarker, allMarker, type Marker } from "./marker.js";
import type { StoreParts } from "./store-parts.js";

/** The markers that have to be there before a commit is: made for it, kept for it, and taken back if it fails. */
export class CommitMarkers {
  readonly #parts: StoreParts;
  readonly #commit: Commit;
  readonly #needed: readonly Marker[];
  /** Those that this append made: any other may be another writer's. */
  readonly #made: Marker[] = [];

  constructor(parts: StoreParts, commit: Commit) {
    this.#parts = parts;
    this.#commit = commit;
    this.#needed = markersBefore(commit);
  }

  /** Brings them to the disk. */
  place(): Promise<void>[] {
    const { trees } = this.#parts;
    return this.#needed.map((marker) => trees.place(marker, () => this.#made.push(marker)));
  }

  /** A marker that was there already may be another writer's, who has just taken it back. */
  async keep(): Promise<void> {
    const { trees } = this.#parts;
    for (const marker of this.#needed) {
      if (!this.#made.some(({ tree }) => tree === marker.tree) && !(await trees.has(marker))) await trees.place(marker);
    }
  }

  /** Takes back those that were made for a commit that isn't there, unless another writer's is and needs them. */
  async takeBack(): Promise<void> {
    const { reader, trees } = this.#parts;
    const { sessionId: id, version } = this.#commit;
    for (const marker of this.#made) {
      if (await reader.has(id, version)) return;
      await trees.lift(marker);
      if (await reader.has(id, version)) await trees.place(marker);
    }
  }
}

function markersBefore({ summary, version }: Commit): Marker[] {
  const opens = summary.status === "active" && summary.activeSince === version;
  return [...(version === 1 ? [allMarker(summary)] : []), ...(opens ? [activeMarker(summary)] : [])];
}
