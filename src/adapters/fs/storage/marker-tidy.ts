import type { SessionId } from "../../../definition/names.js";
import { isPhasegateError } from "../../../errors.js";
import type { Background } from "./background.js";
import type { CommitHeader } from "./commit-file.js";
import type { CommitReader } from "./commit-reader.js";
import type { Disk } from "./disk.js";
import { activeMarker, allMarker, type Marker, type MarkerEntry } from "./marker.js";
import type { MarkerTrees } from "./marker-trees.js";
import type { NewestVersion } from "./newest-version.js";
import type { StoreLayout } from "./store-layout.js";

/** A writer makes its marker right before its commit; one that has none after so long was left by a crash. */
const ORPHAN_MS = 3_600_000;
/** So many sessions are read at once. */
const BATCH = 64;

/** What a session's newest commit is, where that can be told. */
export type FoundHeader = CommitHeader | "damaged" | undefined;

/** Compares markers with sessions, and takes those away that say nothing true. */
export class MarkerTidy {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  readonly #reader: CommitReader;
  readonly #trees: MarkerTrees;
  readonly #newest: NewestVersion;
  readonly #background: Background;

  constructor(
    { disk, layout, background }: { disk: Disk; layout: StoreLayout; background: Background },
    reader: CommitReader,
    trees: MarkerTrees,
    newest: NewestVersion,
  ) {
    this.#disk = disk;
    this.#layout = layout;
    this.#reader = reader;
    this.#trees = trees;
    this.#newest = newest;
    this.#background = background;
  }

  /** A session's newest commit. Lists go on without a session that is damaged; reading that one tells. */
  async header(id: SessionId): Promise<FoundHeader> {
    try {
      return await this.#newest.header(id);
    } catch (error) {
      if (isPhasegateError(error, "TAMPERED")) return "damaged";
      throw error;
    }
  }

  /** Compares a marker with the session's newest commit, and takes it away later if it says nothing true. */
  check(entry: MarkerEntry, newest: CommitHeader | undefined): void {
    const { marker, sessionId: id } = entry;
    if (newest === undefined) this.#background.run(id, () => this.#liftOrphan(entry));
    else if (isFalse(entry, newest)) this.#background.run(id, () => this.lift(id, marker));
  }

  /**
   * Counts the active sessions, as their newest commits say, no further than `upTo`. What a crash or a pause of a process
   * left among the markers is not counted, and taken away.
   */
  async countActive(upTo: number): Promise<number> {
    const active = new Set<SessionId>();
    for await (const batch of this.#trees.walk("active", undefined, BATCH)) {
      const headers = await Promise.all(batch.map(({ sessionId }) => this.header(sessionId)));
      for (const [index, entry] of batch.entries()) {
        const newest = headers[index];
        if (newest === "damaged" || newest === undefined || !isFalse(entry, newest)) active.add(entry.sessionId);
        if (newest !== "damaged") this.check(entry, newest);
      }
      if (active.size >= upTo) return upTo;
    }
    return active.size;
  }

  /** Takes a marker away, unless the session's newest commit needs it. */
  async lift(id: SessionId, marker: Marker): Promise<void> {
    if (await this.#isNeeded(id, marker)) return;
    // What made the marker false may not be on the disk yet, and must not be lost after the marker is.
    await this.#reader.settle(id);
    await this.#trees.lift(marker);
    // The commit that needs it may have been published just now.
    if (await this.#isNeeded(id, marker)) await this.restore(id, marker);
  }

  /** Makes a marker that a commit needs; the session may have gone on since, and who ended it have looked for none. */
  async restore(id: SessionId, marker: Marker): Promise<void> {
    await this.#trees.place(marker);
    if (await this.#isNeeded(id, marker)) return;
    await this.#reader.settle(id);
    await this.#trees.lift(marker);
  }

  async #isNeeded(id: SessionId, marker: Marker): Promise<boolean> {
    const newest = await this.#newest.header(id);
    return newest !== undefined && isTrue(marker, newest);
  }

  async #liftOrphan({ sessionId: id, marker }: MarkerEntry): Promise<void> {
    const stat = await this.#disk.stat(this.#trees.path(marker));
    if (stat === undefined || Date.now() - stat.mtimeMs < ORPHAN_MS) return;
    if ((await this.#disk.now(this.#layout.top("trash"))) - stat.mtimeMs >= ORPHAN_MS) await this.lift(id, marker);
  }
}

// A marker of a version yet to come is that of a commit under way.
function isFalse({ marker, version }: MarkerEntry, newest: CommitHeader): boolean {
  return version <= newest.version && !isTrue(marker, newest);
}

/** Whether a marker is one that a session's newest commit needs. */
function isTrue(marker: Marker, { summary }: Pick<CommitHeader, "summary">): boolean {
  if (marker.tree === "active" && summary.status !== "active") return false;
  const { day, name } = marker.tree === "active" ? activeMarker(summary) : allMarker(summary);
  return marker.day === day && marker.name === name;
}
