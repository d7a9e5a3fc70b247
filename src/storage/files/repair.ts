/**
 * Rebuilds what can be derived from the sessions: the markers for lists, and the heads. Commits never change, and
 * others may use the store meanwhile.
 */
import { join } from "node:path";
import { isPhasegateError } from "../../errors.js";
import type { RepairReport, SessionSummary } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import type { SessionCompactor } from "./compact.js";
import { type SessionPlace, sessionOf } from "./layout.js";
import { activeMarker, allMarker, type Marker } from "./markers.js";
import type { StoreParts } from "./parts.js";

/** Sessions read in parallel. */
const BATCH = 64;

/** The repairs over all sessions. */
interface Repaired {
  sessions: number;
  removed: number;
  heads: number;
  readonly missing: { readonly id: SessionId; readonly marker: Marker }[];
  readonly damaged: { readonly sessionId: SessionId; readonly reason: string }[];
}

/**
 * Rebuilds markers and heads. A copy that was made while the store was in use needs it, since its parts are from
 * different times: a session may lack markers, or exist although its removal was copied too.
 */
export class StoreRepair {
  readonly #parts: StoreParts;
  readonly #compactor: SessionCompactor;

  constructor(parts: StoreParts, compactor: SessionCompactor) {
    this.#parts = parts;
    this.#compactor = compactor;
  }

  /** Creates missing markers and completes removals. */
  async rebuild(): Promise<Repaired> {
    const { markerCheck, trees } = this.#parts;
    const sum: Repaired = { sessions: 0, removed: 0, heads: 0, missing: [], damaged: [] };
    for await (const ids of this.#sessions()) await Promise.all(ids.map((id) => this.#repairOne(id, sum)));
    await trees.placeAll(sum.missing.map(({ marker }) => marker));
    // A session may have ended since its newest commit was read.
    for (const { id, marker } of sum.missing) if (marker.tree === "active") await markerCheck.remove(id, marker);
    return sum;
  }

  /** Does the same, removes superfluous markers, and reports damage. */
  async repair(): Promise<RepairReport> {
    const { background, trees } = this.#parts;
    // Wait for heads that are about to be written.
    await background.idle();
    const { sessions, removed, heads, missing, damaged } = await this.rebuild();
    const before = await this.#count();
    for (const tree of ["all", "active"] as const) {
      for await (const batch of trees.walk(tree, undefined, BATCH)) {
        const headers = await Promise.all(batch.map(({ sessionId }) => this.#parts.markerCheck.header(sessionId)));
        for (const [index, entry] of batch.entries()) {
          const newest = headers[index];
          if (newest !== "damaged") this.#parts.markerCheck.check(entry, newest);
        }
      }
    }
    await this.#compactor.deleteAllPacked();
    await background.idle();
    const found = {
      "list markers made": missing.length,
      "list markers taken away": Math.max(0, before - (await this.#count())),
      "heads written": heads,
      "removals finished": removed,
    };
    const repaired = Object.entries(found).map(([what, count]) => ({ what, count }));
    return { sessions, repaired: repaired.filter(({ count }) => count > 0), damaged };
  }

  async #count(): Promise<number> {
    const { trees } = this.#parts;
    return (await trees.all("all")).length + (await trees.all("active")).length;
  }

  async #repairOne(id: SessionId, sum: Repaired): Promise<void> {
    const { disk, heads, layout, newest, trash } = this.#parts;
    const at = layout.place(id);
    if (await disk.exists(layout.removed(id))) {
      const folder = await trash.put(at);
      if (folder !== undefined) await disk.dropFolder(folder);
      sum.removed += 1;
      return;
    }
    const found = await this.#newest(at);
    // A folder without a commit belongs to a session that is about to begin, or never did.
    if (found === undefined) return;
    sum.sessions += 1;
    if (found.damage !== undefined) sum.damaged.push({ sessionId: id, reason: found.damage });
    for (const marker of found.summary === undefined ? [] : markersOf(found.summary, found.damage !== undefined)) {
      if (!(await this.#parts.trees.has(marker))) sum.missing.push({ id, marker });
    }
    if (found.damage !== undefined) return;
    const hinted = await newest.hint(id);
    // This head was written in this folder (a copy's may be ahead), so commits are missing. It stays as the evidence.
    if (hinted > found.version) {
      const reason = `Commits are gone: there was a version ${hinted}, and the newest one is ${found.version}`;
      sum.damaged.push({ sessionId: id, reason });
    }
    if (hinted >= found.version) return;
    heads.point(at, found.version);
    sum.heads += 1;
  }

  /** Returns the newest commit or, if it is unreadable, the first commit's summary. */
  async #newest(at: SessionPlace) {
    const { newest, reader } = this.#parts;
    try {
      const header = await newest.header(at.id);
      if (header === undefined) return undefined;
      return { summary: header.summary, version: header.version, damage: await this.#gap(at, header.version) };
    } catch (error) {
      if (!isPhasegateError(error, "TAMPERED")) throw error;
      const first = await reader.header(at, 1).catch(() => undefined); // the damage of this session is reported already
      return { summary: first?.summary, version: 0, damage: error.message };
    }
  }

  /** Returns the damage of a log that lacks a version. */
  async #gap(at: SessionPlace, newest: number): Promise<string | undefined> {
    const { reader } = this.#parts;
    const { count: packed } = await reader.pack(at);
    const versions = new Set(await reader.versions(at));
    for (let version = packed + 1; version <= newest; version++) {
      if (!versions.has(version) && !(await reader.has(at, version))) return `Version ${version} is missing`;
    }
    return undefined;
  }

  /** Yields the ids of all sessions that have a folder, in batches. */
  async *#sessions(): AsyncGenerator<SessionId[]> {
    const { disk, layout } = this.#parts;
    const top = layout.top("sessions");
    for (const shelf of await disk.names(top)) {
      if (!/^[0-9a-f]{2}$/.test(shelf)) continue;
      const ids = (await disk.names(join(top, shelf))).map(sessionOf).filter((id) => id !== undefined);
      for (let from = 0; from < ids.length; from += BATCH) yield ids.slice(from, from + BATCH);
    }
  }
}

function markersOf(summary: SessionSummary, isDamaged: boolean): Marker[] {
  const isActive = summary.status === "active" && !isDamaged;
  return [allMarker(summary), ...(isActive ? [activeMarker(summary)] : [])];
}
