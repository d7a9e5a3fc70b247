import * as z from "zod";
import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import { PhasegateError } from "../../errors.js";

/** Reads the params of a verifier; throws `INVALID_INPUT` that names the first one that is wrong. */
export function parseParams<S extends z.ZodObject>(verifier: string, schema: S, params: unknown): z.infer<S> {
  const result = schema.safeParse(params);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.map(String).join(".") ?? "";
  const known = Object.keys(schema.shape);
  if (issue?.code !== "unrecognized_keys" || path !== "") {
    throw wrongParam(verifier, path, issue?.message ?? "is not valid", known);
  }
  const unknown = issue.keys[0] ?? "";
  const near = nearest(unknown, known);
  throw wrongParam(verifier, unknown, `there is no such param${near ? `; did you mean '${near}'?` : ""}`, known);
}

/** A param that a verifier can't be run with. */
export function wrongParam(
  verifier: string,
  param: string,
  reason: string,
  known: readonly string[] = [],
): PhasegateError<"INVALID_INPUT"> {
  const name = param === "" ? verifier : `${shown(param).slice(1, -1)} of ${verifier}`;
  return new PhasegateError("INVALID_INPUT", `${name}: ${reason}`, {
    remedy:
      known.length === 0
        ? "Mend the param, or the evidence that it comes from."
        : `The params of ${verifier}: ${known.join(", ")}.`,
    details: { field: param === "" ? verifier : `${verifier}.${param}`, expected: reason },
  });
}

/** A text that is not empty. */
export const textParam = z.string().min(1);

/** A whole number from 0 on. */
export const countParam = z.int().min(0);
