import { PhasegateError } from "../../errors.js";

/** The module, loaded. */
export type PgModule = typeof import("pg");

/** Loads `pg`, which hosts that keep their sessions elsewhere need not have. `INTERNAL` where it is not installed. */
export async function loadPg(load: () => Promise<PgModule> = () => import("pg")): Promise<PgModule> {
  try {
    return await load();
  } catch (error) {
    throw new PhasegateError("INTERNAL", "sessions in PostgreSQL need pg, which can't be loaded", {
      remedy: "Install it beside phasegate: npm install pg@8",
      details: { cause: "pg" },
      cause: error,
    });
  }
}
