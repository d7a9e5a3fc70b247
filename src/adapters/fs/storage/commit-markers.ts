import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import { activeMarker, allMarker, type Marker } from "./marker.js";
import type { StoreParts } from "./store-parts.js";

/** The markers that have to be there before a commit is: made for it, kept for it, and taken back if it fails. */
export class CommitMarkers {
  readonly #parts: StoreParts;
  readonly #id: SessionId;
  readonly #needed: readonly Marker[];
  /** Those that this append made: any other may be another writer's. */
  readonly #made: Marker[] = [];

  /** Of several commits that appear at once, the first and the last one. */
  constructor(parts: StoreParts, first: Commit, last: Commit) {
    this.#parts = parts;
    this.#id = first.sessionId;
    this.#needed = markersBefore(first, last);
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
      if (this.#made.some(({ tree }) => tree === marker.tree) || (await trees.has(marker))) continue;
      await this.#parts.tidy.restore(this.#id, marker);
    }
  }

  /** Takes back those that were made for a commit that isn't there, unless another writer's is and needs them. */
  async takeBack(): Promise<void> {
    for (const marker of this.#made) await this.#parts.tidy.lift(this.#id, marker);
  }
}

function markersBefore({ version }: Commit, { summary, version: last }: Commit): Marker[] {
  const { activeSince, status } = summary;
  const opens = status === "active" && activeSince >= version && activeSince <= last;
  return [...(version === 1 ? [allMarker(summary)] : []), ...(opens ? [activeMarker(summary)] : [])];
}
