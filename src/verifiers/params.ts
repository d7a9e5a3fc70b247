/**
 * Parameters of verifiers: how they are read, which error a wrong one is, and which paths must be known when a phase begins.
 */
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { checkPlaceholders, hasPlaceholder } from "../gate/fill-params.js";
import type { VerifyRequest } from "../ports/verifier.js";
import { orNearest, parseRelativePath, shown } from "../workflow/names.js";
import { innermostIssue } from "../workflow/zod-issues.js";

export const textParam = z.string().min(1);

export const countParam = z.int().min(0);

export const pathsParam = z.array(textParam).min(1).max(100).optional();

/** Thrown for a parameter with which a verifier can't run. The empty text stands for the verifier as a whole. */
export class WrongParam extends Error {
  readonly param: string;
  readonly known: readonly string[];

  constructor(param: string, reason: string, known: readonly string[] = []) {
    super(reason);
    this.param = param;
    this.known = known;
  }
}

/** Returns an error as a host sees it: a wrong parameter with the name of the verifier. */
export function errorOf(verifier: string, error: unknown): unknown {
  if (!(error instanceof WrongParam)) return error;
  const { param, message: reason, known } = error;
  const name = param === "" ? verifier : `${shown(param).slice(1, -1)} of ${verifier}`;
  return new PhasegateError("INVALID_INPUT", `${name}: ${reason}`, {
    remedy:
      known.length === 0
        ? "Correct the parameter, or the evidence that it is filled from."
        : `${verifier} has these parameters: ${known.join(", ")}.`,
    details: { field: param === "" ? verifier : `${verifier}.${param}`, expected: reason },
  });
}

/** Reads parameters. Throws `WrongParam` for the first one that is wrong. */
export function parseParams<S extends z.ZodObject>(schema: S, params: unknown): z.infer<S> {
  const result = schema.safeParse(params);
  if (result.success) return result.data;
  const issue = result.error.issues.map(innermostIssue)[0];
  const path = issue?.path.map(String).join(".") ?? "";
  const known = Object.keys(schema.shape);
  if (issue?.code !== "unrecognized_keys" || path !== "") {
    throw new WrongParam(path, issue?.message ?? "is not valid", known);
  }
  const unknown = issue.keys[0] ?? "";
  const meant = orNearest(unknown, known, (near) => `'${near}'`);
  throw new WrongParam(unknown, `there is no such parameter${meant}`, known);
}

/** Throws `PATH_REFUSED` for a path that is invalid in every session. */
export function checkPath(path: unknown): void {
  if (typeof path === "string" && !hasPlaceholder(path)) parseRelativePath(path);
}

/** Throws for paths that can't be used, or depend on evidence: they must be known when the phase begins. */
export function checkFixedPaths(paths: readonly string[], instead = ""): void {
  for (const path of paths) {
    checkPath(path);
    if (checkPlaceholders({ path }).some((name) => name.startsWith("evidence."))) {
      throw new WrongParam("path", `there is no evidence when the phase begins${instead}`);
    }
  }
}

export function isGlob(path: string): boolean {
  return /[*?]/.test(path);
}

/**
 * Throws `WrongParam` for a path that a placeholder has made a glob: only authors write globs. Otherwise an agent could choose
 * a target, or an option, that names more than one file.
 */
export function refuseFilledGlobs(
  paths: readonly string[],
  { target, specPath, options = {} }: VerifyRequest["session"],
): void {
  const texts = [target, specPath, ...Object.values(options)].filter((value) => typeof value === "string");
  for (const value of texts.filter(isGlob)) {
    if (!paths.some((path) => path.includes(value))) continue;
    throw new WrongParam("path", `${shown(value)} of the session would be a glob, which only a gate can have`);
  }
}
