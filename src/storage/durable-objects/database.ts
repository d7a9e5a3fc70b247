/** A Durable Object's database, as the log in tables needs it. */
import { PhasegateError } from "../../errors.js";
import type { LogDatabase, Row, SqlValue, Statement } from "../sql/database.js";
import { storageFailed } from "../sql/failures.js";
import { numberIn } from "../sql/rows.js";
import { type Statements, statements, type TableNames } from "../sql/tables.js";
import { bodyInParts } from "./parts.js";

/** A value of the database of a Durable Object. */
export type DurableObjectValue = null | number | string | ArrayBuffer;

/** The rows of a statement. */
export interface DurableObjectRows {
  /** Returns all of them, by the names of their columns. */
  toArray(): Record<string, DurableObjectValue>[];
}

/** The statements of a Durable Object's database. */
export interface DurableObjectSql {
  /** Runs a statement with its values, or several without values, synchronously. */
  exec(query: string, ...values: (null | number | string | Uint8Array)[]): DurableObjectRows;
}

/** What `DurableStorage` uses of a Durable Object's `ctx.storage`. The object's class has SQLite. */
export interface DurableObjectDatabase {
  /** Its statements. */
  readonly sql: DurableObjectSql;
  /** Runs an action in a transaction, which is rolled back if it throws. */
  transactionSync<T>(action: () => T): T;
  /** Resolves when all that was written is durable. */
  sync(): Promise<void>;
}

/** The name of SQLite's result, at the end of a message. */
const RESULT = /: (SQLITE_[A-Z]+)(?: \(extended: \w+\))?$/;
const FULL = "The object has all the data that it may have: remove sessions, or keep new ones in another object.";
const OTHER = "Look at the cause of this error, then repeat the call.";

export class ObjectDatabase implements LogDatabase {
  readonly names: TableNames;
  readonly sql: Statements;
  readonly #storage: DurableObjectDatabase;

  constructor(storage: DurableObjectDatabase, names: TableNames) {
    this.#storage = storage;
    this.names = names;
    this.sql = statements(names);
  }

  /** The object keeps the statements that it has prepared. */
  prepare(sql: string): Statement {
    const all = (...values: readonly SqlValue[]) => this.#rows(sql, values);
    return {
      all,
      get: (...values) => all(...values)[0],
      run: (...values) => {
        all(...values);
        const [counted] = this.#rows("SELECT changes() AS changes, last_insert_rowid() AS id", []);
        return { changes: numberIn(counted, "changes"), lastInsertRowid: numberIn(counted, "id") };
      },
    };
  }

  exec(sql: string): void {
    this.#storage.sql.exec(sql);
  }

  bodyOf(row: Row): string | undefined {
    return bodyInParts(this, row);
  }

  /** Nobody else has the database open. */
  isLocked(): boolean {
    return false;
  }

  asFailure(operation: string, error: unknown): unknown {
    if (error instanceof PhasegateError) return error;
    const cause = causeOf(error);
    return storageFailed(operation, cause, cause === "SQLITE_FULL" ? FULL : OTHER, error);
  }

  #rows(sql: string, values: readonly SqlValue[]): Row[] {
    return this.#storage.sql
      .exec(sql, ...values)
      .toArray()
      .map(rowOf);
  }
}

export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return RESULT.exec(error.message)?.[1] ?? error.name;
}

function rowOf(row: Readonly<Record<string, DurableObjectValue>>): Row {
  const values = Object.entries(row).map(([column, value]) => {
    return [column, value instanceof ArrayBuffer ? new Uint8Array(value) : value] as const;
  });
  return Object.fromEntries(values);
}
