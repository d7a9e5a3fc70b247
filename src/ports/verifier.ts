import type { JsonObject, JsonValue } from "../workflow/json.js";

/** What a verifier is to look at. */
export interface VerifyRequest {
  /** What the gate says of it: paths, patterns, arguments. Placeholders such as `{target_file}` are filled in. */
  readonly params: JsonObject;
  /** The value of the evidence field that names the verifier; missing where the gate itself names it. */
  readonly value?: JsonValue;
  /** The whole submission. */
  readonly evidence: JsonObject;
  readonly session: {
    readonly id: string;
    readonly workflowType: string;
    /** Relative to the project root. */
    readonly target: string;
    readonly phase: number;
    /** Where the plan of a session on a `tasks.md` lies, relative to the project root. */
    readonly specPath?: string;
  };
  /** What {@link Verifier.snapshot} gave when the phase was entered. */
  readonly snapshot?: JsonValue;
  /**
   * What {@link Verifier.snapshot} gave when the phase was entered before, oldest first; missing where that never
   * happened. A phase that is entered again, after a rollback say, begins with whatever the agent has left there. Of
   * many there are the first one and the newest 31.
   */
  readonly earlierSnapshots?: readonly JsonValue[];
}

/** What a verifier has found. All of it is recorded in the session's log. */
export interface VerifyResult {
  readonly ok: boolean;
  /** What was found, in a sentence that tells an agent what to mend; without absolute paths. */
  readonly message: string;
  /** What was run or looked at: a path, a command with its arguments, a URL. */
  readonly ran?: string;
  /** The exit code of a command, the status of a response. */
  readonly exit?: number;
  /** SHA-256 of the output or the content that was looked at. */
  readonly digest?: string;
  /** The first lines of the output, and where there are more, `…` and the last ones: sums stand at the end. */
  readonly output?: readonly string[];
}

/** Checks evidence against reality. A host registers verifiers by name; a gate names them. */
export interface Verifier {
  /** Params that are code, such as patterns and rules: no placeholder is filled in, in them or below them. */
  readonly verbatim?: readonly string[];
  /** Throws `INVALID_INPUT` for params that it can't be run with: called when a definition is loaded. */
  check?(params: JsonObject): void;
  /** Looks at what a phase begins with; the result is recorded, and given to `verify`. */
  snapshot?(request: Omit<VerifyRequest, "value" | "evidence" | "snapshot" | "earlierSnapshots">): Promise<JsonValue>;
  /**
   * Looks whether the evidence is true. That it isn't is a result; a rejection says that it couldn't be
   * found out, which blocks the gate too. Ends soon after `signal` is aborted.
   */
  verify(request: VerifyRequest, options: { readonly signal: AbortSignal }): Promise<VerifyResult>;
}
