/**
 * What goes over the wire: answers of tools with their budget, and requests with their faults. An answer that is too long
 * and can be requested again is paged instead (pages.ts). Each product words the faults of a request for its own clients.
 */
import * as z from "zod/mini";
import { isJsonObject } from "../workflow/json.js";
import { nearest, shown } from "../workflow/names.js";
import type { ObjectSchema } from "./schemas.js";

/** An answer of a tool, or a part of one. */
export type WireObject = { [key: string]: unknown };

/** Returns an object without its undefined keys. */
export function compact(entries: WireObject): WireObject {
  const object: WireObject = {};
  for (const key in entries) if (entries[key] !== undefined) object[key] = entries[key];
  return object;
}

/** Shortens a text from a definition for a brief answer. */
export function brief(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** Returns true if the JSON of a value has at most `maxChars` characters. */
export function fits(value: unknown, maxChars: number): boolean {
  return (JSON.stringify(value) ?? "").length <= maxChars;
}

/** Decides what an answer can do without. */
export interface ShrinkRules {
  /** Keys that an answer must have. */
  readonly kept: ReadonlySet<string>;
  /** Texts are cut to this length; if missing, they are omitted like other parts. */
  readonly textMax?: number;
  /** Returns the part that is omitted when nothing else helps: its name, and the answer without it. */
  readonly last?: (answer: WireObject) => { readonly name: string; readonly answer: WireObject } | undefined;
  /** The call that shows what was omitted. */
  readonly next: (answer: WireObject, leftOut: readonly string[]) => unknown;
}

/**
 * Shortens an answer that is too long and can't be requested again because the call has changed something: omits the
 * longest parts, names them in `left_out`, and makes `next` the call that shows them.
 */
export function shrinkAnswer(answer: WireObject, maxChars: number, rules: ShrinkRules): WireObject {
  const { kept, textMax, last, next } = rules;
  const lengthOf = (key: string) => JSON.stringify(answer[key])?.length ?? 0;
  const parts = Object.keys(answer).filter((key) => !kept.has(key));
  parts.sort((one, other) => lengthOf(other) - lengthOf(one));
  const leftOut: string[] = [];
  let rest = answer;
  const whole = () => compact({ ...rest, left_out: leftOut, next: next(answer, leftOut) });
  for (const key of parts) {
    const { [key]: value, ...others } = rest;
    rest = typeof value === "string" && textMax !== undefined ? { ...others, [key]: brief(value, textMax) } : others;
    leftOut.push(key);
    const shorter = whole();
    if (fits(shorter, maxChars)) return shorter;
  }
  const without = last?.(rest);
  if (without !== undefined) {
    leftOut.push(without.name);
    rest = without.answer;
  }
  return whole();
}

/** A Standard Schema, as the AI SDK and MCP servers take it. It publishes a JSON Schema; the tool itself checks calls. */
export interface PassedSchema {
  /** The properties of a Standard Schema. */
  readonly "~standard": {
    /** The version of Standard Schema. */
    readonly version: 1;
    /** The library that the schema comes from. */
    readonly vendor: string;
    /** Accepts everything. */
    readonly validate: (value: unknown) => { readonly value: unknown };
    /** The published schema. */
    readonly jsonSchema: {
      /** The JSON Schema of a call's arguments. */
      readonly input: () => Record<string, unknown>;
      /** The same schema. */
      readonly output: () => Record<string, unknown>;
    };
  };
}

/**
 * Returns a schema that publishes a JSON Schema and accepts everything. Servers answer a wrong call with their
 * validator's message; the tool knows the action that was meant, and tells the agent what to write instead.
 */
export function passThroughSchema(schema: ObjectSchema): PassedSchema {
  const published = () => ({ ...schema });
  return {
    "~standard": {
      version: 1,
      vendor: "phasegate",
      validate: (value) => ({ value }),
      jsonSchema: { input: published, output: published },
    },
  };
}

export interface Fault {
  /** The path of the field, with dots; empty for the request itself. */
  readonly field: string;
  readonly kind: "no object" | "missing" | "unknown" | "type" | "value";
  readonly message: string;
}

/** Returns the fields that a request gives. Some clients send `null` for a missing value, so null counts as missing. */
export function givenFields(input: WireObject): WireObject {
  const given = { ...input };
  for (const key in given) if (given[key] === undefined || given[key] === null) delete given[key];
  return given;
}

/** Checks a request. Returns its parameters, or its faults: of fields in the schema's order, then unknown fields. */
export function parseRequest<S extends z.core.$ZodObject>(
  schema: S,
  input: unknown,
): { readonly ok: true; readonly params: z.output<S> } | { readonly ok: false; readonly faults: readonly Fault[] } {
  const parsed = z.safeParse(schema, input);
  if (parsed.success) return { ok: true, params: parsed.data };
  return { ok: false, faults: parsed.error.issues.flatMap((issue) => faultsOf(issue, input)) };
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
  return path.reduce<unknown>((inner, key) => Reflect.get(Object(inner), key), value);
}
