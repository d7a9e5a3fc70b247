import { isPhasegateError } from "../../errors.js";
import type { WorkspaceNotifications } from "../options.js";
import type { SessionFacts, SessionFolders } from "./folders.js";
import type { WorkspaceAct } from "./machine.js";
import type { Manifest } from "./manifest.js";
import { notRecorded, type Recorder } from "./recorder.js";

/** What {@link SessionKeeper} is made of. */
interface KeeperOptions {
  readonly folders: SessionFolders;
  /** Where the host wants sessions recorded. */
  readonly recorder?: Recorder | undefined;
  readonly notifications: WorkspaceNotifications;
  readonly counts: SessionCounts;
}

/** Sessions with all that is kept of them: folder, manifest, log, figures, and the news for the host. */
export class SessionKeeper {
  readonly #options: KeeperOptions;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Begins a session, with what was done before it. */
  async create(wanted: string | undefined, facts: SessionFacts, acts: readonly WorkspaceAct[]): Promise<Manifest> {
    const { folders, recorder, notifications, counts } = this.#options;
    const known = { ...facts, ...workflowOf(facts, acts), ...stepsOf(acts) };
    const manifest = await folders.create(wanted, known, async (id) => (await recorder?.knows(id)) ?? false);
    const { session_id: sessionId, workflow, agent, inputs } = manifest;
    await recorder?.open(sessionId, {
      ...(workflow === undefined ? {} : { workflow }),
      ...(agent === undefined ? {} : { agent }),
      ...(inputs === undefined ? {} : { inputs }),
      acts,
    });
    counts.begun(sessionId);
    notifications.notify("sessionCreated", { sessionId, workflow });
    return manifest;
  }

  /** Goes on with a session. */
  async reopen(sessionId: string, acts: readonly WorkspaceAct[]): Promise<Manifest> {
    const { folders, recorder, notifications, counts } = this.#options;
    await recorder?.knows(sessionId);
    const manifest = await folders.reopen(sessionId);
    await recorder?.reopen(sessionId, acts);
    counts.begun(sessionId);
    notifications.notify("sessionReopened", { sessionId });
    return manifest;
  }

  /** Saves a file of a session; the path is relative to its folder. */
  async save(sessionId: string, path: string, content: string) {
    const { folders, recorder, notifications } = this.#options;
    // A session whose log was changed, or can't be read, takes no file.
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
    await folders.requireActive(sessionId);
    // The log first: where it can't be written, the session is still under way, and the call can be made again.
    await recorder?.complete(sessionId, status, summary);
    const manifest = await folders.complete(sessionId, status, summary);
    counts.ended(sessionId, status);
    notifications.notify("sessionCompleted", { sessionId, status });
    return manifest;
  }

  /** What is known of a session. */
  manifest(sessionId: string): Promise<Manifest> {
    return this.#options.folders.manifest(sessionId);
  }

  /** Whether a session has a folder. */
  exists(sessionId: string): Promise<boolean> {
    return this.#options.folders.exists(sessionId);
  }

  /** Notes an act in a session's log, where it is recorded. Where a session stands is in its manifest, too. */
  async record(sessionId: string, act: WorkspaceAct): Promise<void> {
    await this.#options.recorder?.record(sessionId, act);
    // Second: a step that could not be recorded was not given, and must not be the one that is left next.
    if (act.type === "step") await this.#options.folders.noteStep(sessionId, act.workflow, act.step);
  }
}

/** A session whose workflow nobody names is on the one that was loaded last. */
function workflowOf({ workflow }: SessionFacts, acts: readonly WorkspaceAct[]): Pick<SessionFacts, "workflow"> {
  const loaded = acts.findLast((act) => act.type === "preloaded" || act.type === "step");
  return workflow === undefined && loaded !== undefined ? { workflow: loaded.workflow } : {};
}

/** The steps that were given before there was a session, the last of each skill. */
function stepsOf(acts: readonly WorkspaceAct[]): Pick<SessionFacts, "steps"> {
  const given = acts
    .filter((act) => act.type === "step")
    .map(({ workflow, step }): [string, string] => [workflow, step]);
  return given.length === 0 ? {} : { steps: Object.fromEntries(given) };
}

/** How sessions went since the workspace was made. */
export interface SessionFigures {
  /** Sessions that were created or reopened; one that was over and is reopened counts again. */
  readonly begun: number;
  readonly completed: number;
  readonly failed: number;
  /** The share of those begun that are completed, 0 to 1; undefined before the first. */
  readonly completionRate: number | undefined;
}

/** Sessions that are over are counted and forgotten, so that this grows with those under way alone. */
export class SessionCounts {
  readonly #open = new Set<string>();
  #completed = 0;
  #failed = 0;

  /** A session was created or reopened. */
  begun(id: string): void {
    this.#open.add(id);
  }

  /** A session is over. */
  ended(id: string, status: "completed" | "failed"): void {
    this.#open.delete(id);
    if (status === "completed") this.#completed += 1;
    else this.#failed += 1;
  }

  /** The figures so far. */
  report(): SessionFigures {
    const begun = this.#open.size + this.#completed + this.#failed;
    const completionRate = begun === 0 ? undefined : this.#completed / begun;
    return { begun, completed: this.#completed, failed: this.#failed, completionRate };
  }
}
