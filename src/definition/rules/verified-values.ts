import type { JsonValue } from "../json.js";
import type { FieldType, VerifyDefinition } from "../structure.js";

/** Verifiers that look at a field's value: the param that they look at instead, and a value that looks right. */
const LOOKED_AT: ReadonlyMap<string, readonly [param: string, value: string]> = new Map([
  ["file_exists", ["path", "docs/report.md"]],
  ["directory_exists", ["path", "docs"]],
  ["file_matches", ["path", "docs/report.md"]],
  ["markdown_headings", ["path", "docs/report.md"]],
  ["git_commit_exists", ["commit", "0123abc"]],
  ["http_ok", ["url", "https://example.org/"]],
]);

/** A value of the form that verifiers look at: whether it is true only they can tell. */
export function verifiedValues(type: FieldType, checks: readonly VerifyDefinition[]): JsonValue[] {
  return checks.flatMap(({ verifier, params }): JsonValue[] => {
    const [param, value] = LOOKED_AT.get(verifier) ?? [];
    if (param === undefined || value === undefined || Object.hasOwn(params, param)) return [];
    if (type === "list") return [[value]];
    return type === "string" || type === "any" ? [value] : [];
  });
}
