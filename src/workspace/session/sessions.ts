/**
 * Sessions with everything that belongs to them: folder, manifest, log, figures and notifications. The entry file of
 * this folder; what is decided where:
 * - sessions.ts: whose a session is, and who may use it; a file is written before its log entry, the last log entry before
 *   the manifest
 * - connection.ts: what a client of a workspace has, and what was done before it had a session
 * - folders.ts: limits, where an output may be saved, and the errors with the call that helps
 * - manifest.ts: the format of `manifest.json`; a change is compare-and-swap
 * - machine.ts: what may happen to a recorded session, the format of its log, and its recorder: one commit per act
 */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { type CalledSession, type Caller, maySee, type Owner, ownedBy } from "../../ports/actor.js";
import { admission, ownerFor } from "../../runtime/access.js";
import { RecentMap } from "../../workflow/cache.js";
import { parseSessionId } from "../../workflow/names.js";
import type { WorkspaceNotifications } from "../notifications.js";
import { noSession, type SessionFacts, type SessionFolders } from "./folders.js";
import { type Recorder, recordedMachine, type WorkspaceAct } from "./machine.js";
import type { Manifest } from "./manifest.js";

interface SessionParts {
  readonly folders: SessionFolders;
  /** Missing if sessions are not recorded. */
  readonly recorder?: Recorder;
  readonly notifications: WorkspaceNotifications;
  readonly counts: SessionCounts;
  /** Who owns the sessions that the host creates. Default: nobody. */
  readonly owner?: Owner;
}

/** The most sessions whose owner is kept in memory. */
const OWNED_MAX = 10_000;

/** The owners of recorded sessions, which never change: a list of many need not read each of them again. */
type Owned = RecentMap<string, { readonly session: CalledSession; readonly isChecked: boolean }>;

/** The sessions of a workspace: of all, or those that one caller may see. */
export class Sessions {
  readonly #parts: SessionParts;
  readonly #caller: Caller | undefined;
  readonly #owned: Owned;

  constructor(parts: SessionParts, caller?: Caller, owned: Owned = new RecentMap(OWNED_MAX)) {
    this.#parts = parts;
    this.#caller = caller;
    this.#owned = owned;
  }

  /** Returns the sessions of one caller: those that it may not see do not exist. */
  limitedTo(caller: Caller): Sessions {
    return new Sessions(this.#parts, caller, this.#owned);
  }

  /** Where several actors share the workspace, an id of the model's choice would tell which ones somebody else has. */
  get takesIds(): boolean {
    return this.#caller === undefined;
  }

  /** Returns true if there is a session that the caller may see. */
  async sees(sessionId: string): Promise<boolean> {
    return this.#caller === undefined ? this.exists(sessionId) : this.#admits(this.#caller, "readFile", sessionId);
  }

  /** Throws `SESSION_NOT_FOUND`, in the same words for one that the caller can't see, and `NOT_ALLOWED`. */
  async require(operation: string, sessionId: string): Promise<void> {
    if (this.#caller === undefined || (await this.#admits(this.#caller, operation, sessionId))) return;
    throw noSession(sessionId, []);
  }

  /** Creates a session; `acts` were done before it, and are recorded in it. */
  async create(wanted: string | undefined, given: SessionFacts, acts: readonly WorkspaceAct[]): Promise<Manifest> {
    const { folders, recorder, notifications, counts } = this.#parts;
    const loaded = acts.findLast((act) => act.type === "preloaded" || act.type === "step");
    const facts = { ...given, workflow: given.workflow ?? loaded?.workflow, steps: stepsIn(acts) };
    const owner = ownerFor({ options: this.#parts, caller: this.#caller }, calledAs(facts), "createSession");
    const manifest = await folders.create(
      this.takesIds ? wanted : undefined,
      { ...facts, ...(owner && ownedBy(owner)) },
      async (id) => (await recorder?.knows(id)) ?? false,
    );
    const { session_id: sessionId, workflow, agent, inputs } = manifest;
    await recorder?.open(sessionId, { workflow, agent, inputs, owner, acts });
    counts.begun(sessionId);
    notifications.notify("sessionCreated", { sessionId, workflow });
    return manifest;
  }

  async reopen(sessionId: string, acts: readonly WorkspaceAct[]): Promise<Manifest> {
    const { folders, recorder, notifications, counts } = this.#parts;
    await this.require("createSession", sessionId);
    await recorder?.knows(sessionId);
    const manifest = await folders.reopen(sessionId);
    const { owner: name, team } = manifest;
    await recorder?.reopen(sessionId, acts, name === undefined ? undefined : { name, team });
    counts.begun(sessionId);
    notifications.notify("sessionReopened", { sessionId });
    return manifest;
  }

  /** Saves a file; the path is relative to the session's folder. */
  async save(sessionId: string, path: string, content: string) {
    const { folders, recorder, notifications } = this.#parts;
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
    return { path: shown, bytes, replaced };
  }

  async complete(sessionId: string, status: "completed" | "failed", summary?: string): Promise<Manifest> {
    const { folders, recorder, notifications, counts } = this.#parts;
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
    return this.#parts.folders.manifest(sessionId);
  }

  exists(sessionId: string): Promise<boolean> {
    return this.#parts.folders.exists(sessionId);
  }

  /** Appends an act to a session's log, if sessions are recorded. The current step of a skill is also in its manifest. */
  async record(sessionId: string, act: WorkspaceAct): Promise<void> {
    await this.#parts.recorder?.record(sessionId, act);
    // After the log: a step that could not be recorded was not given, so it must not become the current one.
    if (act.type === "step") await this.#parts.folders.noteStep(sessionId, act.workflow, act.step);
  }

  async #admits(caller: Caller, operation: string, sessionId: string): Promise<boolean> {
    const session = await this.#called(caller, operation, sessionId);
    return session !== undefined && admission(caller, operation)(session);
  }

  /** Looks in the log, else in the manifest. Somebody else's log is not parsed: its length and damage tell nothing. */
  async #called(caller: Caller, operation: string, sessionId: string): Promise<CalledSession | undefined> {
    const known = this.#owned.get(sessionId);
    // An owner that was not checked against a log can refuse, but grant nothing.
    if (known !== undefined && (known.isChecked || !maySee(caller, operation, known.session))) return known.session;
    let logged: CalledSession | undefined;
    const admits = (summary: CalledSession) => {
      logged = summary;
      return maySee(caller, operation, summary);
    };
    const checked = await this.#parts.recorder?.limitedTo(admits).lookAt(parseSessionId(sessionId));
    if (logged === undefined) return this.#unlogged(sessionId);
    this.#owned.set(sessionId, { session: logged, isChecked: checked !== undefined });
    return logged;
  }

  async #unlogged(sessionId: string): Promise<CalledSession | undefined> {
    try {
      return { sessionId, ...calledAs(await this.#parts.folders.manifest(sessionId)) };
    } catch (error) {
      if (isPhasegateError(error)) return undefined;
      throw error;
    }
  }
}

/** Returns what a rule of the host is told about a session. */
function calledAs({ workflow = "workspace", owner, team }: SessionFacts): Omit<CalledSession, "sessionId"> {
  const whose = owner === undefined ? {} : { owner, team };
  return { kind: recordedMachine.kind, workflowType: workflow, target: "", ...whose };
}

/** Returns the last step of each skill that was given before there was a session. */
function stepsIn(acts: readonly WorkspaceAct[]): SessionFacts["steps"] {
  const given = acts.flatMap((act) => (act.type === "step" ? [[act.workflow, act.step] as const] : []));
  return given.length === 0 ? undefined : Object.fromEntries(given);
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
  readonly #ended = { completed: 0, failed: 0 };

  begun(id: string): void {
    this.#open.add(id);
  }

  ended(id: string, status: "completed" | "failed"): void {
    this.#open.delete(id);
    this.#ended[status] += 1;
  }

  report(): SessionFigures {
    const { completed, failed } = this.#ended;
    const begun = this.#open.size + completed + failed;
    return { begun, completed, failed, completionRate: begun === 0 ? undefined : completed / begun };
  }
}

/** Builds the error for a saved file whose act could not be appended to the log: by an error of the storage, or a foreign one. */
function notRecorded(path: string, cause: unknown): PhasegateError<"STORAGE_FAILED" | "INTERNAL"> {
  const code = isPhasegateError(cause) ? "STORAGE_FAILED" : "INTERNAL";
  return new PhasegateError(code, `${path} is saved, but could not be recorded`, {
    remedy: "Save it again to the same path: that does no harm. If it fails again, tell the user.",
    details: { operation: "record" },
    cause,
  });
}
