/** Verifiers: checks of evidence against reality. `verifiers/` has implementations. */
import type { JsonObject, JsonValue } from "../workflow/json.js";

/** The input of a verifier. */
export interface VerifyRequest {
  /** The gate's params for this check: paths, patterns, arguments. Placeholders such as `{target_file}` are filled in. */
  readonly params: JsonObject;
  /** The value of the evidence field that names the verifier; missing where the gate itself names it. */
  readonly value?: JsonValue;
  /** The whole submission. */
  readonly evidence: JsonObject;
  /** The session that submits the evidence. */
  readonly session: {
    readonly id: string;
    readonly workflowType: string;
    /** Relative to the project root. */
    readonly target: string;
    /** The number of the current phase. */
    readonly phase: number;
    /** For a session on a `tasks.md`: the path of the plan, relative to the project root. */
    readonly specPath?: string;
    /** The options that the session was started with, if there are any. */
    readonly options?: JsonObject;
  };
  /** The result of {@link Verifier.snapshot} when the phase was entered, or at the end of the phase in `since`. */
  readonly snapshot?: JsonValue;
  /**
   * When `snapshot` was taken, if that was later than the moment that it stands for: ISO 8601, UTC. It contains the changes
   * in between.
   */
  readonly snapshotTakenAt?: string;
  /**
   * The results of {@link Verifier.snapshot} from earlier entries into this phase, oldest first; missing if there were none.
   * A phase that is entered again, for example after a rollback, starts with the files that the agent has left there. At
   * most the first one and the newest 31.
   */
  readonly earlierSnapshots?: readonly JsonValue[];
}

/** The result of a verifier. All of it is recorded in the session's log. */
export interface VerifyResult {
  /** True if the evidence is true. */
  readonly ok: boolean;
  /** The finding, in a sentence that tells an agent what to fix; without absolute paths. */
  readonly message: string;
  /** The source of the finding: a path, a command with its arguments, a URL. */
  readonly ran?: string;
  /** The exit code of a command, or the status of a response. */
  readonly exit?: number;
  /** SHA-256 of the output or the content. */
  readonly digest?: string;
  /** The first lines of the output; if there are more, `…` and the last ones, since summaries are at the end. */
  readonly output?: readonly string[];
}

/** Checks evidence against reality. A host registers verifiers by name; a gate names them. */
export interface Verifier {
  /** Names params that are code, such as patterns and rules. Placeholders in them stay as they are. */
  readonly verbatim?: readonly string[];
  /**
   * Checks params when a definition is loaded.
   * @throws {PhasegateError} `INVALID_INPUT` when the verifier can't run with these params.
   */
  check?(params: JsonObject): void | Promise<void>;
  /**
   * Records the state that a phase begins with; the result is logged and given to `verify`. For a check whose params
   * have `since: {phase: 1}` it is called when that earlier phase is passed, skipped or overridden.
   */
  snapshot?(
    request: Omit<VerifyRequest, "value" | "evidence" | "snapshot" | "snapshotTakenAt" | "earlierSnapshots">,
  ): Promise<JsonValue>;
  /**
   * True if a snapshot counts until the phase before is passed again: a rollback to the phase itself takes no new one.
   * Default: false.
   */
  readonly keepsSnapshot?: boolean;
  /**
   * True if it may write files, as a command does. The checks of a gate that do not write begin after those that do, and see
   * their files. Default: false.
   */
  readonly mayWrite?: boolean;
  /**
   * Checks if the evidence is true. False evidence is a result, not an error; a rejection means that the
   * check could not be made, which also blocks the gate. Ends soon after `signal` is aborted.
   */
  verify(request: VerifyRequest, options: { readonly signal: AbortSignal }): Promise<VerifyResult>;
}
