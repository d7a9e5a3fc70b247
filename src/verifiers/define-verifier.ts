/**
 * Defines a verifier. Errors that an agent can fix are problems at the gate; all others are thrown. No result shows the absolute
 * path of the project.
 */
import * as z from "zod";
import { isPhasegateError } from "../errors.js";
import { checkPlaceholders } from "../gate/fill-params.js";
import type { Verifier, VerifyRequest, VerifyResult } from "../ports/verifier.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { defined, type JsonValue } from "../workflow/json.js";
import { checkFixedPaths, checkPath, errorOf, parseParams, refuseFilledGlobs, WrongParam } from "./params.js";

/** Limits of verifiers. */
export interface VerifierLimits {
  /** Maximum size of a file that is read, in bytes. Default 1 MiB. */
  readonly maxFileBytes: number;
  /** Maximum size of a command's output or a server's answer, in bytes. Default 1 MiB. */
  readonly maxOutputBytes: number;
  /** Maximum time of a command whose gate sets none, in milliseconds. Default 60,000. */
  readonly commandTimeoutMs: number;
  /** Maximum time that a gate may set for a command, in milliseconds. Default 600,000. */
  readonly maxCommandTimeoutMs: number;
}

export interface CommandLine {
  readonly words: readonly string[];
  readonly executable: string;
}

/** The commands that the host allows. */
export interface Commands {
  /** Absolute paths of executables, by the names that gates may use; gates choose the arguments. */
  readonly executables: ReadonlyMap<string, string>;
  /** Commands with all of their arguments, by their words as JSON. */
  readonly lines: ReadonlyMap<string, CommandLine>;
}

/** A project, and what its host lets verifiers use. */
export interface Project {
  /** Its real path. */
  readonly root: string;
  readonly sandbox: Sandbox;
  readonly limits: VerifierLimits;
  readonly commands: Commands;
  readonly env: Readonly<Record<string, string>>;
  /** The allowed servers by `name:port` as a URL has it, with true for those that may be private. */
  readonly hosts: ReadonlyMap<string, boolean>;
  /** The absolute path of git. */
  readonly git: string | undefined;
  /** What the commands of checks have written, by git's names, with what the files were like then. */
  readonly written: Map<string, string>;
  /** Returns a text without the absolute path of the project. */
  withoutRoot(text: string): string;
}

/** What a verifier is asked, besides its parameters. */
export interface Asked extends Omit<VerifyRequest, "params"> {
  readonly project: Project;
  readonly signal: AbortSignal;
}

export type Outcome = VerifyResult;

/** Thrown where a check can't be passed: something can't be read, or is not what it is said to be. */
export class CheckFailed extends Error {
  readonly found: Partial<Outcome>;

  constructor(message: string, found: Partial<Outcome> = {}) {
    super(message);
    this.found = found;
  }
}

/** The form of a snapshot that could not be taken: the reason, which an agent may have caused. */
export const failedSchema = z.strictObject({ failed: z.string() });

/** Returns what a snapshot has recorded of `what`. Throws `CheckFailed` if there is nothing. */
export function recordedState<T>(
  schema: z.ZodType<T>,
  snapshot: JsonValue | undefined,
  what = "state of the files",
): T {
  const failed = failedSchema.safeParse(snapshot);
  if (failed.success) throw new CheckFailed(`the ${what} could not be recorded: ${failed.data.failed}`);
  const state = schema.safeParse(snapshot);
  if (state.success) return state.data;
  throw new CheckFailed(`the ${what} ${what.endsWith("tests") ? "were" : "was"} not recorded`);
}

interface Spec<S extends z.ZodObject> {
  /** What it checks, for editors. */
  readonly about: string;
  readonly params: S;
  /** Parameters in which no placeholder is filled in. */
  readonly verbatim?: readonly string[];
  readonly keepsSnapshot?: true;
  readonly mayWrite?: true;
  readonly usesGit?: true;
  /** Returns the paths and globs that must be known when the phase begins. */
  fixedPaths?(given: z.infer<S>): readonly string[];
  /** Throws for what the schema can't express. Texts may still contain placeholders. */
  check?(given: z.infer<S>, project: Project): void | Promise<void>;
  snapshot?(given: z.infer<S>, asked: Pick<Asked, "project" | "session" | "signal">): Promise<JsonValue>;
  verify(given: z.infer<S>, asked: Asked): Promise<Outcome>;
}

export interface BuiltIn {
  readonly about: string;
  readonly params: z.ZodObject;
  /** Returns it for a project, under a name. */
  of(name: string, project: Project): Verifier;
}

/** Errors that an agent can fix: a path outside the project, a file that is missing, too large or not text. */
const FIXABLE: readonly string[] = ["PATH_REFUSED", "FILE_NOT_FOUND", "TOO_LARGE", "INVALID_INPUT"];

/** Time limit of a snapshot that git takes, in milliseconds. */
const SNAPSHOT_MS = 60_000;

/** Returns a verifier that checks its parameters when a definition is loaded, and again before it runs. */
export function defineVerifier<S extends z.ZodObject>(spec: Spec<S>): BuiltIn {
  return { about: spec.about, params: spec.params, of: (name, project) => verifierOf(name, spec, project) };
}

function verifierOf<S extends z.ZodObject>(name: string, spec: Spec<S>, project: Project): Verifier {
  const { verbatim = [], keepsSnapshot, mayWrite, snapshot, fixedPaths = () => [] } = spec;
  const requireGit = () => {
    if (spec.usesGit && project.git === undefined) throw new WrongParam("", "this host has no git");
  };
  const read = async (params: VerifyRequest["params"]) => {
    const given = parseParams(spec.params, params);
    requireGit();
    await spec.check?.(given, project);
    checkPath(params.path);
    checkFixedPaths(fixedPaths(given), "within" in spec.params.shape ? "; use within" : "");
    return given;
  };
  const takeSnapshot = async (take: NonNullable<Spec<S>["snapshot"]>, request: SnapshotRequest) => {
    try {
      const given = parseParams(spec.params, request.params);
      requireGit();
      refuseFilledGlobs(fixedPaths(given), request.session);
      const signal = spec.usesGit ? AbortSignal.timeout(SNAPSHOT_MS) : new AbortController().signal;
      return await take(given, { project, session: request.session, signal });
    } catch (thrown) {
      const error = errorOf(name, thrown);
      // A retry would take the snapshot after the agent has changed what it must not change.
      const mayBeCaused = keepsSnapshot === true && spec.usesGit !== true && isPhasegateError(error);
      if (error instanceof CheckFailed || mayBeCaused) return { failed: error.message };
      throw error;
    }
  };
  return {
    verbatim,
    keepsSnapshot,
    mayWrite,
    snapshot: snapshot && ((request) => takeSnapshot(snapshot, request)),
    async check(params) {
      try {
        checkPlaceholders(params, { verbatim });
        await read(params);
      } catch (error) {
        throw errorOf(name, error);
      }
    },
    async verify(request, { signal }) {
      signal.throwIfAborted();
      try {
        const given = await read(request.params);
        refuseFilledGlobs(fixedPaths(given), request.session);
        return resultOf(await spec.verify(given, { ...request, project, signal }), project);
      } catch (thrown) {
        const error = errorOf(name, thrown);
        if (error instanceof CheckFailed) {
          return resultOf({ ok: false, message: error.message, ...error.found }, project);
        }
        if (!isPhasegateError(error) || !FIXABLE.includes(error.code)) throw error;
        return resultOf({ ok: false, message: `${error.message}. ${error.remedy}` }, project);
      }
    },
  };
}

type SnapshotRequest = Parameters<NonNullable<Verifier["snapshot"]>>[0];

function resultOf({ message, ran, output, ...rest }: Outcome, { withoutRoot }: Project): VerifyResult {
  return defined({
    ...rest,
    message: withoutRoot(message),
    ran: ran === undefined ? undefined : withoutRoot(ran),
    output: output?.map(withoutRoot),
  });
}
