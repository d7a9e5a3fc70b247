/**
 * What happens in sessions without a commit: checks that run, and repeated calls that were answered again. No storage knows
 * of it, so it is known of the sessions that the inspector's own process works on.
 */
import type { RunningChecks } from "../phased/verify/run-verifiers.js";
import { RecentMap } from "../runtime/cache.js";
import type { InspectorSources } from "./sources.js";
import type { Activity, Kind } from "./wire.js";

/** Limits of how many sessions, and of how many commits of one, repeated calls are remembered. */
const [SESSIONS, COMMITS] = [1000, 100];

/** Listens to engines. */
export class Activities {
  readonly #verifying = new Map<string, readonly string[]>();
  readonly #replays = new RecentMap<string, Map<number, number>>(SESSIONS);
  readonly #onChange: (kind: Kind, sessionId: string) => void;
  readonly #stops: readonly (() => void)[];

  constructor({ engine, routed }: InspectorSources, onChange: (kind: Kind, sessionId: string) => void) {
    this.#onChange = onChange;
    this.#stops = [
      engine?.on("verifying", (checks) => this.#check("phased", checks.sessionId, checks)),
      routed?.on("verifying", (checks) => this.#check("routed", checks.instanceId, checks)),
      engine?.on("replayed", ({ sessionId, version }) => this.#replay("phased", sessionId, version)),
      routed?.on("replayed", ({ instanceId, version }) => this.#replay("routed", instanceId, version)),
    ].filter((stop) => stop !== undefined);
  }

  /** Returns what is known of a session. */
  of(sessionId: string): Activity {
    const verifying = this.#verifying.get(sessionId);
    const replays = this.#replays.get(sessionId);
    return {
      ...(verifying && { verifying }),
      ...(replays && { replays: Object.fromEntries(replays) }),
    };
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  #check(kind: Kind, sessionId: string, { running }: RunningChecks): void {
    if (running.length > 0) this.#verifying.set(sessionId, running);
    else this.#verifying.delete(sessionId);
    this.#onChange(kind, sessionId);
  }

  #replay(kind: Kind, sessionId: string, version: number): void {
    const own = this.#replays.get(sessionId) ?? new Map<number, number>();
    own.set(version, (own.get(version) ?? 0) + 1);
    const [oldest] = own.keys();
    if (own.size > COMMITS && oldest !== undefined) own.delete(oldest);
    this.#replays.set(sessionId, own);
    this.#onChange(kind, sessionId);
  }
}
