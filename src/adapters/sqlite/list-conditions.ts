import type { SQLInputValue } from "node:sqlite";
import type { SessionQuery } from "../../ports/storage-adapter.js";
import { storedText } from "./stored-text.js";

/** What a list asks of a session, on its row `s`, and where it has no index on its newest commit `c`. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
  /** The index that finds those that meet it, by the end of its name. */
  readonly index?: string;
  /** Whether that index has them in the order of a list. */
  readonly ordered?: boolean;
  /** Conditions with that order of which one must be met, where the condition itself hasn't got it. */
  readonly alternatives?: readonly Condition[];
}

/** The filters of a query, those first that leave the fewest sessions as a rule. */
export function conditionsOf(query: SessionQuery): Condition[] {
  const { status, workflowType, target, kind, idPrefix, updatedBefore } = query;
  const conditions: Condition[] = [];
  if (target !== undefined) conditions.push(equals("target", target));
  if (idPrefix !== undefined && idPrefix !== "") conditions.push(beginsWith(idPrefix));
  if (updatedBefore !== undefined) conditions.push(...olderThan(updatedBefore));
  if (workflowType !== undefined) conditions.push(equals("workflow_type", workflowType));
  if (status !== undefined) conditions.push(isOneOf(status));
  if (kind !== undefined) conditions.push(equals("kind", kind));
  return conditions;
}

function equals(column: string, value: string): Condition {
  return { sql: `s.${column} = ?`, values: [storedText(value)], index: `by_${column}`, ordered: true };
}

function isOneOf(status: readonly string[]): Condition {
  const alternatives = [...new Set(status)].map((one) => equals("status", one));
  const values = alternatives.flatMap((one) => one.values);
  const sql = `s.status IN (${alternatives.map(() => "?").join(", ")})`;
  return { sql, values, index: "by_status", ordered: true, alternatives };
}

// Ids are ASCII: whatever begins so comes before the same with the largest character behind it.
function beginsWith(prefix: string): Condition {
  return {
    sql: "s.session_id >= ? AND s.session_id < ?",
    values: [storedText(prefix), storedText(`${prefix}\u{10ffff}`)],
    index: "by_id",
  };
}

// The day finds them; of those of the last day the newest commit tells. Its summary has the time only where that is another
// one than the commit's; and one that is damaged is told of where it is read.
function olderThan(time: string): Condition[] {
  const day = storedText(time.slice(0, 10));
  const updatedAt = `CASE WHEN instr(c.summary, '"updatedAt":') > 0 AND json_valid(c.summary)
    THEN c.summary ->> '$.updatedAt' ELSE c.at END`;
  return [
    { sql: "s.updated_day <= ?", values: [day], index: "by_updated_day" },
    { sql: `s.updated_day < ? OR ${updatedAt} < ?`, values: [day, storedText(time)] },
  ];
}
