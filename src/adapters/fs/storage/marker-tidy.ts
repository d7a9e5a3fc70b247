import type { Background } from "./background.js";
import type { CommitHeader } from "./commit-file.js";
import type { CommitReader } from "./commit-reader.js";
import type { Disk } from "./disk.js";
import { activeMarker, allMarker, type MarkerEntry } from "./marker.js";
import type { MarkerTrees } from "./marker-trees.js";
import type { NewestVersion } from "./newest-version.js";

/** A writer makes its marker right before its commit; one that has none after so long was left by a crash. */
const ORPHAN_MS = 3_600_000;

/** Takes away the markers that crashes left, as a list comes across them. */
export class MarkerTidy {
  readonly #disk: Disk;
  readonly #reader: CommitReader;
  readonly #trees: MarkerTrees;
  readonly #newest: NewestVersion;
  readonly #background: Background;

  constructor(disk: Disk, reader: CommitReader, trees: MarkerTrees, newest: NewestVersion, background: Background) {
    this.#disk = disk;
    this.#reader = reader;
    this.#trees = trees;
    this.#newest = newest;
    this.#background = background;
  }

  /** Compares a marker with the session's newest commit, and takes it away later if it says nothing true. */
  check(entry: MarkerEntry, newest: CommitHeader | undefined): void {
    if (newest === undefined) this.#background.run(entry.sessionId, () => this.#liftOrphan(entry));
    // A marker of a version yet to come is that of a commit under way.
    else if (entry.version <= newest.version && !isTrue(entry, newest)) {
      this.#background.run(entry.sessionId, () => this.#liftFalse(entry));
    }
  }

  // What made the marker false may not be on the disk yet, and must not be lost after the marker is.
  async #liftFalse(entry: MarkerEntry): Promise<void> {
    if (await this.#reader.settle(entry.sessionId)) await this.#trees.lift(entry.marker);
  }

  async #liftOrphan(entry: MarkerEntry): Promise<void> {
    const stat = await this.#disk.stat(this.#trees.path(entry.marker));
    if (stat === undefined || Date.now() - stat.mtimeMs < ORPHAN_MS) return;
    await this.#trees.lift(entry.marker);
    // Its writer may have slept all that time, and have published just now.
    const newest = await this.#newest.header(entry.sessionId);
    if (newest !== undefined && isTrue(entry, newest)) await this.#trees.place(entry.marker);
  }
}

function isTrue({ marker }: MarkerEntry, { summary }: CommitHeader): boolean {
  if (marker.tree === "active" && summary.status !== "active") return false;
  const { day, name } = marker.tree === "active" ? activeMarker(summary) : allMarker(summary);
  return marker.day === day && marker.name === name;
}
