import type * as z from "zod";
import { isJsonObject } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import type { RequestErrorCode } from "./error-codes.js";

/** What is wrong with a request that can't be carried out. */
export interface BadRequest {
  readonly errorCode: RequestErrorCode;
  readonly message: string;
  readonly remedy: string;
  readonly field?: string;
}

/** A request as it was read, or the first thing that is wrong with it. */
export type ReadRequest<T> =
  | { readonly ok: true; readonly params: T }
  | { readonly ok: false; readonly bad: BadRequest };

/** Reads the request of an operation; `null` at the top is as good as nothing. */
export function parseRequest<S extends z.ZodObject>(schema: S, input: unknown): ReadRequest<z.infer<S>> {
  if (!isJsonObject(input)) {
    const message = "The request must be a JSON object.";
    return { ok: false, bad: { errorCode: "INVALID_FORMAT", message, remedy: takes(schema) } };
  }
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null && value !== undefined));
  const parsed = schema.safeParse(given);
  if (parsed.success) return { ok: true, params: parsed.data };
  return { ok: false, bad: badRequest(schema, given, worstOf(parsed.error.issues)) };
}

/** What is missing is said before what is wrong, and that before what is too much. */
function worstOf(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue | undefined {
  return issues.find(({ code }) => code !== "unrecognized_keys") ?? issues[0];
}

function badRequest(schema: z.ZodObject, given: object, issue: z.core.$ZodIssue | undefined): BadRequest {
  if (issue?.code === "unrecognized_keys") return unknownField(schema, issue.keys[0] ?? "");
  const field = issue?.path.join(".") ?? "";
  const about = { field, remedy: takes(schema) };
  if (valueAt(given, issue?.path ?? []) === undefined) {
    return { errorCode: "MISSING_FIELD", message: `Missing required field: ${field}.`, ...about };
  }
  if (isWrongType(issue)) {
    return { errorCode: "INVALID_TYPE", message: `Invalid data type for field: ${field}.`, ...about };
  }
  return { errorCode: "INVALID_FIELD", message: `Invalid value for field: ${field}.`, ...about };
}

/** What is checked by hand is of the wrong type, unless it says what else. */
function isWrongType(issue: z.core.$ZodIssue | undefined): boolean {
  const kind: unknown = issue?.code === "custom" ? issue.params?.code : issue?.code;
  return kind === undefined || kind === "custom" || kind === "invalid_type";
}

function unknownField(schema: z.ZodObject, key: string): BadRequest {
  const meant = nearest(key, Object.keys(schema.shape));
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  return {
    errorCode: "INVALID_FIELD",
    message: `Unknown field: ${shown(key).slice(1, -1)}.${hint}`,
    field: shown(key).slice(1, -1),
    remedy: takes(schema),
  };
}

function takes(schema: z.ZodObject): string {
  const names = Object.entries(schema.shape).map(([name, part]) => (isOptional(part) ? `${name} (optional)` : name));
  return names.length === 0 ? "It takes no fields." : `It takes ${names.join(", ")}.`;
}

function isOptional(schema: z.core.$ZodType): boolean {
  return schema._zod.optin === "optional";
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}
