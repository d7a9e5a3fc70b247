import { LogFold } from "../kernel/log-fold.js";
import { type ArtifactName, artifactNames } from "../session/artifacts.js";
import type { SessionEvent } from "../session/events.js";
import type { SessionHead } from "../session/head.js";
import type { PhasedCommit, PhasedKernel, PhasedSession } from "./pinned.js";

type Found = ReadonlyMap<number, ArtifactName>;

/** What completed phases have handed on, by name, as it was handed in: out of the log. */
export class ArtifactNames {
  readonly #found: LogFold<SessionEvent, SessionHead, Found>;

  constructor(kernel: PhasedKernel) {
    this.#found = new LogFold<SessionEvent, SessionHead, Found>(kernel, new Map(), withNames);
  }

  /** The names by phase, for phases before one. */
  async before(session: PhasedSession, phase: number): Promise<Map<number, readonly string[]>> {
    const names = new Map<number, readonly string[]>();
    if (session.head.completed.length === 0) return names;
    const found = await this.#found.at(session);
    for (const [number, artifact] of [...found].sort(([one], [other]) => one - other)) {
      if (number < phase) names.set(number, artifact.names);
    }
    return names;
  }
}

function withNames(found: Found, { events, at, version }: PhasedCommit): Found {
  // Most commits change none; a copy of all with each would cost more than reading them.
  if (!events.some(({ type }) => type === "gate_passed" || type === "rolled_back")) return found;
  return artifactNames(
    events.map((event) => ({ event, at, version })),
    found,
  );
}
