import type { SessionId } from "../definition/names.js";
import type { Receipt } from "../kernel/audit.js";
import { RecentMap } from "../kernel/recent-map.js";
import { type ArtifactName, artifactNames } from "../session/artifacts.js";
import type { RecordedEvent } from "../session/history.js";
import type { PhasedKernel, PhasedSession } from "./pinned.js";

/** What is known of a session's artifacts up to a commit. */
interface Known {
  readonly upTo: Receipt;
  readonly found: ReadonlyMap<number, ArtifactName>;
}

/** For how many sessions artifacts are kept. */
const SESSIONS_KEPT = 256;

/**
 * What completed phases have handed on, by name, as it was handed in: out of the log, of which only the
 * commits that are new since the last look are read.
 */
export class ArtifactNames {
  readonly #kernel: PhasedKernel;
  readonly #known = new RecentMap<SessionId, Known>(SESSIONS_KEPT);

  constructor(kernel: PhasedKernel) {
    this.#kernel = kernel;
  }

  /** The names by phase, for phases before one. */
  async before(session: PhasedSession, phase: number): Promise<Map<number, readonly string[]>> {
    const { completed } = session.head;
    const found = completed.length === 0 ? new Map<number, ArtifactName>() : await this.#found(session);
    const names = new Map<number, readonly string[]>();
    for (const [number, artifact] of [...found].sort(([one], [other]) => one - other)) {
      if (number < phase) names.set(number, artifact.names);
    }
    return names;
  }

  async #found({ sessionId, version, hash }: PhasedSession): Promise<ReadonlyMap<number, ArtifactName>> {
    const known = this.#known.get(sessionId);
    if (known?.upTo.hash === hash) return known.found;
    const after = known !== undefined && known.upTo.version < version ? known.upTo : undefined;
    const events: RecordedEvent[] = [];
    let upTo = after ?? { version: 0, hash: "" };
    for await (const commit of this.#kernel.log(sessionId, after)) {
      if (commit.version > version) break;
      upTo = { version: commit.version, hash: commit.hash };
      for (const event of commit.events) events.push({ event, at: commit.at, version: commit.version });
    }
    const found = artifactNames(events, after === undefined ? new Map() : (known?.found ?? new Map()));
    this.#known.set(sessionId, { upTo, found });
    return found;
  }
}
