/** A client of a workspace: what it reads, the sessions that it may write, and what it was given so far. */
import { yesOrNo } from "../../ports/actor.js";
import type { WorkspaceNotifications } from "../notifications.js";
import type { WorkspaceLimits } from "../options.js";
import { type Location, sessionPath } from "../roots/paths.js";
import type { Roots } from "../roots/roots.js";
import { Turns } from "./folders.js";
import type { WorkspaceAct } from "./machine.js";
import type { Sessions } from "./sessions.js";

export interface ConnectionParts {
  readonly roots: Roots;
  readonly limits: WorkspaceLimits;
  readonly sessions: Sessions;
  readonly notifications: WorkspaceNotifications;
}

/** The most acts that are kept before there is a session; the oldest are dropped. */
const KEPT_MAX = 200;

/** A client of a workspace. */
export class Connection {
  readonly roots: Roots;
  readonly limits: WorkspaceLimits;
  readonly sessions: Sessions;
  /** The revision of each file that it has, by path. */
  readonly given = new Map<string, string>();
  /** The last step of each skill, while there is no session. */
  readonly steps = new Map<string, string>();
  /** Failures of gates by skill and step. They survive a new session, so that it is not a way to continue guessing. */
  readonly failures = new Map<string, number>();
  readonly #notifications: WorkspaceNotifications;
  readonly #mayReopen: (sessionId: string) => boolean;
  readonly #own = new Set<string>();
  readonly #turns = new Turns();
  #kept: readonly WorkspaceAct[] = [];
  #sessionId: string | undefined;

  constructor({ roots, limits, sessions, notifications }: ConnectionParts, mayReopen: (id: string) => boolean) {
    this.roots = roots;
    this.limits = limits;
    this.sessions = sessions;
    this.#notifications = notifications;
    this.#mayReopen = mayReopen;
  }

  /** The session that it created or reopened last; undefined before the first. */
  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /** What was done before there was a session. */
  get kept(): readonly WorkspaceAct[] {
    return this.#kept;
  }

  owns(id: string): boolean {
    return this.#own.has(id);
  }

  /** Returns true if the host lets it reopen this session. */
  mayReopen(id: string): boolean {
    return yesOrNo("mayReopen", this.#mayReopen(id));
  }

  /** Makes a session the current one. The first `recorded` of the kept acts are in its log already, and are dropped. */
  adopt(id: string, recorded: number): void {
    this.#own.add(id);
    this.#sessionId = id;
    this.#kept = this.#kept.slice(recorded);
  }

  resolve(path: string): Location {
    return this.roots.resolve(sessionPath(path, this.#sessionId));
  }

  /** Runs one task after the other: two concurrent calls must not both leave the same step. */
  inTurn<T>(task: () => Promise<T>): Promise<T> {
    return this.#turns.run("", task);
  }

  /** Records an act in the log of the current session. Without one it is kept until one is created. */
  async record(act: WorkspaceAct): Promise<void> {
    const sessionId = this.#sessionId;
    if (act.type === "read") {
      this.#notifications.notify("fileRead", { path: act.path, bytes: act.bytes, sessionId });
    }
    if (sessionId !== undefined) return this.sessions.record(sessionId, act);
    this.#kept = [...this.#kept, act].slice(-KEPT_MAX);
  }
}
