import { PhasegateError } from "../../errors.js";

/** The module, loaded. */
type SqliteModule = typeof import("node:sqlite");

/**
 * Node's SQLite. Loaded when the first database is opened, so that importing this entry point fails nowhere; throws
 * `STORAGE_FAILED` in a runtime that has none.
 */
export function loadSqlite(): SqliteModule {
  const module = withoutItsWarning(() => process.getBuiltinModule("node:sqlite"));
  if (typeof module?.DatabaseSync === "function") return module;
  throw new PhasegateError("STORAGE_FAILED", "This runtime has no node:sqlite", {
    remedy: "Use Node 22.13 or later, or a Deno or Bun that has it; or keep the sessions in a FileStorage.",
    details: { operation: "open", cause: "node:sqlite is missing" },
  });
}

/**
 * Node 22 prints, once in a process, that its SQLite is experimental: that would stand in the terminal or the log of
 * every host. Only that warning is held back, and only while the module is loaded, in one turn of the event loop.
 */
function withoutItsWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = (...args: unknown[]) => {
    if (!String(args[0]).startsWith("SQLite is an experimental feature")) Reflect.apply(emitWarning, process, args);
  };
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
