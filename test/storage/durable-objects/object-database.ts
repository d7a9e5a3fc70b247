/** A database as that of a Durable Object, on `node:sqlite`: what is not in workerd is fast, and can be made to fail. */
import { DatabaseSync } from "node:sqlite";
import type { DurableObjectDatabase, DurableObjectValue } from "phasegate/durable-objects";

/** Returns an empty database. */
export function objectDatabase(): DurableObjectDatabase {
  const database = new DatabaseSync(":memory:");
  return {
    sql: {
      exec(query, ...values) {
        if (values.length > 100) throw new Error("too many SQL variables: SQLITE_ERROR");
        // Several statements, none of which has values.
        if (values.length === 0 && query.includes(";")) database.exec(query);
        const rows = query.includes(";") ? [] : database.prepare(query).all(...values);
        return { toArray: () => rows.map((row) => mapped(row)) };
      },
    },
    transactionSync(action) {
      database.exec("BEGIN");
      try {
        const result = action();
        database.exec("COMMIT");
        return result;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    sync: async () => undefined,
  };
}

function mapped(row: Readonly<Record<string, unknown>>): Record<string, DurableObjectValue> {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, durableValue(value)]));
}

function durableValue(value: unknown): DurableObjectValue {
  if (value instanceof Uint8Array) return value.slice().buffer as ArrayBuffer;
  if (value === null || typeof value === "number" || typeof value === "string") return value;
  throw new TypeError(`a Durable Object gives no ${typeof value}`);
}
