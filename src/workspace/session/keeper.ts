/**
 * Sessions with everything that belongs to them: folder, manifest, log, figures and notifications. The entry file of
 * this folder; what is decided where:
 * - keeper.ts: whose a session is, and who may use it; a file is written before its log entry, the last log entry before
 *   the manifest; what tools know of a client
 * - folders.ts: ids of sessions, limits, where an output may be saved, and the errors with the call that helps
 * - manifest.ts: the format of `manifest.json`; a change is compare-and-swap
 * - machine.ts: what may happen to a recorded session, the format of its log, and its recorder: one commit per act
 */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { type CalledSession, type Caller, maySee, type Owner, ownedBy } from "../../ports/actor.js";
import type { FullClock } from "../../ports/clock.js";
import { admission, ownerFor } from "../../runtime/access.js";
import { RecentMap } from "../../workflow/cache.js";
import { parseSessionId } from "../../workflow/names.js";
import type { WorkspaceLimits, WorkspaceNotifications } from "../options.js";
import type { Roots } from "../roots/roots.js";
import { noSession, type SessionFacts, type SessionFolders } from "./folders.js";
import { type Recorder, recordedMachine, type WorkspaceAct } from "./machine.js";
import type { Manifest } from "./manifest.js";

/** The options of {@link SessionKeeper}. */
interface KeeperOptions {
  readonly folders: SessionFolders;
  /** Missing if sessions are not recorded. */
  readonly recorder?: Recorder | undefined;
  readonly notifications: WorkspaceNotifications;
  readonly counts: SessionCounts;
  /** Who owns the sessions that the host creates. Default: nobody. */
  readonly owner?: Owner | undefined;
}

/** The most sessions whose owner is kept in memory. */
const OWNED_MAX = 10_000;

/** The sessions of a workspace. */
export class SessionKeeper {
  readonly #options: KeeperOptions;
  /** For whom it is; for the host itself if missing. */
  readonly #caller: Caller | undefined;
  /** Whose the recorded sessions are: an owner never changes, so that a list of many need not read each of them again. */
  readonly #owned: RecentMap<string, { readonly session: CalledSession; readonly isChecked: boolean }>;

  constructor(options: KeeperOptions | SessionKeeper, caller?: Caller) {
    this.#caller = caller;
    this.#options = options instanceof SessionKeeper ? options.#options : options;
    this.#owned = options instanceof SessionKeeper ? options.#owned : new RecentMap(OWNED_MAX);
  }

  /** Returns the sessions of one caller: those that it may not see do not exist. */
  limitedTo(caller: Caller): SessionKeeper {
    return new SessionKeeper(this, caller);
  }

  /**
   * True if a new session may have an id of the model's choice. Where several actors share the workspace, it would tell
   * which ids somebody else has.
   */
  get takesIds(): boolean {
    return this.#caller === undefined;
  }

  /** Returns true if there is a session that the caller may see. */
  async sees(sessionId: string): Promise<boolean> {
    return this.#caller === undefined ? this.exists(sessionId) : this.#admits(this.#caller, "readFile", sessionId);
  }

  /**
   * Checks that the caller may do something with a session. Throws `SESSION_NOT_FOUND`, in the same words for one that
   * does not exist and for one that the caller can't see, and `NOT_ALLOWED`.
   */
  async require(operation: string, sessionId: string): Promise<void> {
    if (this.#caller === undefined || (await this.#admits(this.#caller, operation, sessionId))) return;
    throw noSession(sessionId, []);
  }

  /** Creates a session; `acts` were done before it, and are recorded in it. */
  async create(wanted: string | undefined, facts: SessionFacts, acts: readonly WorkspaceAct[]): Promise<Manifest> {
    const { folders, recorder, notifications, counts } = this.#options;
    const described = { ...facts, ...workflowOf(facts, acts), ...stepsOf(acts) };
    const owner = ownerFor(
      { options: this.#options, ...(this.#caller && { caller: this.#caller }) },
      factsOf(described),
      "createSession",
    );
    const known = { ...described, ...(owner && ownedBy(owner)) };
    const id = this.takesIds ? wanted : undefined;
    const manifest = await folders.create(id, known, async (id) => (await recorder?.knows(id)) ?? false);
    const { session_id: sessionId, workflow, agent, inputs } = manifest;
    await recorder?.open(sessionId, {
      workflow,
      agent,
      inputs,
      owner,
      acts,
    });
    counts.begun(sessionId);
    notifications.notify("sessionCreated", { sessionId, workflow });
    return manifest;
  }

  /** Reopens a session. */
  async reopen(sessionId: string, acts: readonly WorkspaceAct[]): Promise<Manifest> {
    const { folders, recorder, notifications, counts } = this.#options;
    await this.require("createSession", sessionId);
    await recorder?.knows(sessionId);
    const manifest = await folders.reopen(sessionId);
    const { owner: name, team } = manifest;
    await recorder?.reopen(sessionId, acts, name === undefined ? undefined : { name, ...(team && { team }) });
    counts.begun(sessionId);
    notifications.notify("sessionReopened", { sessionId });
    return manifest;
  }

  /** Saves a file; the path is relative to the session's folder. */
  async save(sessionId: string, path: string, content: string) {
    const { folders, recorder, notifications } = this.#options;
    await this.require("saveOutput", sessionId);
    // Throws if the log was changed or cannot be read: then nothing is saved.
    await recorder?.knows(sessionId);
    const saved = await folders.save(sessionId, path, content);
    const { bytes, hash, replaced } = saved;
    const shown = `{output-root}/${sessionId}/${saved.path}`;
    const act = { type: "saved", path: shown, bytes, hash, replaced } as const;
    await this.record(sessionId, act).catch((cause: unknown) => {
      throw isPhasegateError(cause, "TAMPERED") ? cause : notRecorded(shown, cause);
    });
    notifications.notify("saved", { sessionId, path: shown, bytes, replaced });
    return { ...saved, path: shown };
  }

  /** Ends a session. */
  async complete(sessionId: string, status: "completed" | "failed", summary?: string): Promise<Manifest> {
    const { folders, recorder, notifications, counts } = this.#options;
    await this.require("completeSession", sessionId);
    await folders.requireActive(sessionId);
    // The log first: if it cannot be written, the session stays active and the call can be repeated.
    await recorder?.complete(sessionId, status, summary);
    const manifest = await folders.complete(sessionId, status, summary);
    counts.ended(sessionId, status);
    const milliseconds = Date.parse(manifest.completed_at ?? manifest.created_at) - Date.parse(manifest.created_at);
    notifications.notify("sessionCompleted", { sessionId, status, milliseconds });
    return manifest;
  }

  /** Reads a session's manifest. Throws `SESSION_NOT_FOUND`. */
  async manifest(sessionId: string): Promise<Manifest> {
    await this.require("manifest", sessionId);
    return this.#options.folders.manifest(sessionId);
  }

  /** Returns true if a session has a folder. */
  exists(sessionId: string): Promise<boolean> {
    return this.#options.folders.exists(sessionId);
  }

  /**
   * Appends an act to a session's log, if sessions are recorded. The current step of a skill is also in its manifest.
   */
  async record(sessionId: string, act: WorkspaceAct): Promise<void> {
    await this.#options.recorder?.record(sessionId, act);
    // After the log: a step that could not be recorded was not given, so it must not become the current one.
    if (act.type === "step") await this.#options.folders.noteStep(sessionId, act.workflow, act.step);
  }

  async #admits(caller: Caller, operation: string, sessionId: string): Promise<boolean> {
    const session = await this.#called(caller, operation, sessionId);
    return session !== undefined && admission(caller, operation)(session);
  }

  /**
   * Returns whose a session is; undefined if there is none. The log says so; the manifest does where there is no log. A log
   * of somebody else is not parsed, so that it takes no longer, and its damage tells nothing.
   */
  async #called(caller: Caller, operation: string, sessionId: string): Promise<CalledSession | undefined> {
    const known = this.#owned.get(sessionId);
    // What was not checked against a log can refuse, but grant nothing.
    if (known !== undefined && (known.isChecked || !maySee(caller, operation, known.session))) return known.session;
    let logged: CalledSession | undefined;
    const admits = (summary: CalledSession) => {
      logged = summary;
      return maySee(caller, operation, summary);
    };
    const checked = await this.#options.recorder?.limitedTo(admits).lookAt(parseSessionId(sessionId));
    if (logged === undefined) return this.#unlogged(sessionId);
    this.#owned.set(sessionId, { session: logged, isChecked: checked !== undefined });
    return logged;
  }

  async #unlogged(sessionId: string): Promise<CalledSession | undefined> {
    try {
      return { sessionId, ...factsOf(await this.#options.folders.manifest(sessionId)) };
    } catch (error) {
      if (isPhasegateError(error)) return undefined;
      throw error;
    }
  }
}

/** Returns what a rule of the host is told about a session. */
function factsOf({ workflow, owner, team }: SessionFacts): Omit<CalledSession, "sessionId"> {
  const of = owner === undefined ? {} : { owner, team };
  return { kind: recordedMachine.kind, workflowType: workflow ?? "workspace", target: "", ...of };
}

/** Returns the workflow that was loaded last if none is named. */
function workflowOf({ workflow }: SessionFacts, acts: readonly WorkspaceAct[]): Pick<SessionFacts, "workflow"> {
  const loaded = acts.findLast((act) => act.type === "preloaded" || act.type === "step");
  return workflow === undefined && loaded !== undefined ? { workflow: loaded.workflow } : {};
}

/** Returns the last step of each skill that was given before there was a session. */
function stepsOf(acts: readonly WorkspaceAct[]): Pick<SessionFacts, "steps"> {
  const given = acts
    .filter((act) => act.type === "step")
    .map(({ workflow, step }): [string, string] => [workflow, step]);
  return given.length === 0 ? {} : { steps: Object.fromEntries(given) };
}

/** Figures of sessions since the workspace was created. */
export interface SessionFigures {
  /** The number of sessions created or reopened. A session that is reopened after its end counts again. */
  readonly begun: number;
  /** The number of sessions that ended as completed. */
  readonly completed: number;
  /** The number of sessions that ended as failed. */
  readonly failed: number;
  /** `completed` divided by `begun`, 0 to 1; undefined before the first session. */
  readonly completionRate: number | undefined;
}

/** Counts sessions. Only the ids of active sessions are kept in memory. */
export class SessionCounts {
  readonly #open = new Set<string>();
  #completed = 0;
  #failed = 0;

  /** Counts a session that was created or reopened. */
  begun(id: string): void {
    this.#open.add(id);
  }

  /** Counts a session that ended. */
  ended(id: string, status: "completed" | "failed"): void {
    this.#open.delete(id);
    if (status === "completed") this.#completed += 1;
    else this.#failed += 1;
  }

  /** Returns the figures so far. */
  report(): SessionFigures {
    const begun = this.#open.size + this.#completed + this.#failed;
    const completionRate = begun === 0 ? undefined : this.#completed / begun;
    return { begun, completed: this.#completed, failed: this.#failed, completionRate };
  }
}

/** Builds the error for a saved file whose act could not be appended to the log: by an error of the storage, or a foreign one. */
function notRecorded(path: string, cause: unknown): PhasegateError<"STORAGE_FAILED" | "INTERNAL"> {
  const remedy = "Save it again to the same path: that does no harm. If it fails again, tell the user.";
  return new PhasegateError(
    isPhasegateError(cause) ? "STORAGE_FAILED" : "INTERNAL",
    `${path} is saved, but could not be recorded`,
    {
      remedy,
      details: { operation: "record" },
      cause,
    },
  );
}

/** A client of a workspace: the roots that it reads, and the sessions that it may write. */
export interface Connection {
  readonly roots: Roots;
  readonly limits: WorkspaceLimits;
  readonly clock: FullClock;
  readonly sessions: SessionKeeper;
  /** The session that this connection created or reopened last; undefined before the first. */
  readonly sessionId: string | undefined;
  /** Returns true if the connection created or reopened this session. */
  owns(id: string): boolean;
  /** Returns true if the host lets the connection reopen this session. */
  mayReopen(id: string): boolean;
  /**
   * Makes a session the connection's current one. The first `recorded` of the pending acts are in its log already and
   * are dropped.
   */
  adopt(id: string, recorded: number): void;
  /**
   * Records an act in a session's log; default: the current session's. Without a session the act is pending until one
   * is created.
   */
  record(act: WorkspaceAct, sessionId?: string): Promise<void>;
  /** The pending acts: what was done before there was a session. */
  readonly kept: readonly WorkspaceAct[];
}
