/**
 * Reads requests: checks the fields of a call against its schema and reports every fault. Each product words the
 * faults for its own clients.
 */

import * as z from "zod/mini";
import { isJsonObject } from "../workflow/json.js";
import { nearest, shown } from "../workflow/names.js";
import type { WireObject } from "./wire.js";

/** A fault of a request. */
export interface Fault {
  /** The path of the field, with dots; empty for the request itself. */
  readonly field: string;
  readonly kind: "no object" | "missing" | "unknown" | "type" | "value";
  /** The schema's message. */
  readonly message: string;
}

/** A request that was read, or its faults: of fields in the schema's order, then unknown fields. */
export type ParsedRequest<T> =
  | { readonly ok: true; readonly params: T }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** Returns the fields that a request gives. Some clients send `null` for a missing value, so null counts as missing. */
export function givenFields(input: WireObject): WireObject {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined && value !== null));
}

/** Returns the engine's option for an idempotency key. */
export function keyed(idempotencyKey: string | undefined): { readonly idempotencyKey?: string } {
  return idempotencyKey === undefined ? {} : { idempotencyKey };
}

/** Checks a request. */
export function parseRequest<S extends z.core.$ZodObject>(schema: S, input: unknown): ParsedRequest<z.output<S>> {
  const parsed = z.safeParse(schema, input);
  if (parsed.success) return { ok: true, params: parsed.data };
  return { ok: false, faults: parsed.error.issues.flatMap((issue) => faultsOf(issue, input)) };
}

/** Returns the names of the fields that a schema takes. */
export function fieldNames(schema: z.core.$ZodObject): string[] {
  return Object.keys(schema._zod.def.shape);
}

/** Returns true if a call may leave a field out. */
export function isOptional(schema: z.core.$ZodObject, field: string): boolean {
  return schema._zod.def.shape[field]?._zod.optin !== undefined;
}

/** Says that a field is unknown, and which one may be meant. */
export function unknownField(name: string, fields: readonly string[]): string {
  const meant = nearest(name, fields);
  return `${shown(name)} is unknown${meant === undefined ? "" : `: did you mean '${meant}'?`}`;
}

function faultsOf(issue: z.core.$ZodIssue, input: unknown): Fault[] {
  const { message, path } = issue;
  if (!isJsonObject(input)) return [{ field: "", kind: "no object", message }];
  if (issue.code === "unrecognized_keys") return issue.keys.map((field) => ({ field, kind: "unknown", message }));
  const kind = valueAt(input, path) === undefined ? "missing" : isWrongType(issue) ? "type" : "value";
  return [{ field: path.join("."), kind, message }];
}

/** A fault found by a custom check is a wrong type, unless it says otherwise. */
function isWrongType(issue: z.core.$ZodIssue): boolean {
  const kind: unknown = issue.code === "custom" ? issue.params?.code : issue.code;
  return kind === undefined || kind === "custom" || kind === "invalid_type";
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}
