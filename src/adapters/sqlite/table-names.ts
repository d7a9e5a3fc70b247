import { shown } from "../../definition/names.js";
import { PhasegateError } from "../../errors.js";

/** What the tables are called, the host's prefix included. */
export interface TableNames {
  readonly prefix: string;
  readonly migrations: string;
  readonly sessions: string;
  readonly commits: string;
  readonly payloads: string;
  readonly removed: string;
  readonly events: string;
  readonly instances: string;
  readonly history: string;
}

/** The names with a prefix; throws `INVALID_INPUT` for one that could be anything but the beginning of a name. */
export function tableNames(prefix: string): TableNames {
  if (!/^([A-Za-z_][A-Za-z0-9_]{0,31})?$/.test(prefix) || /^sqlite_/i.test(prefix)) throw badPrefix(prefix);
  const own = (name: string) => `${prefix}phasegate_${name}`;
  return {
    prefix,
    migrations: own("migrations"),
    sessions: own("sessions"),
    commits: own("commits"),
    payloads: own("payloads"),
    removed: own("removed"),
    events: own("events"),
    instances: `${prefix}workflow_instances`,
    history: `${prefix}workflow_history`,
  };
}

function badPrefix(prefix: unknown): PhasegateError {
  return new PhasegateError("INVALID_INPUT", `tablePrefix is not valid: ${shown(prefix)}`, {
    remedy: "Use at most 32 letters, digits and '_', the first no digit, and not 'sqlite_'.",
    details: { field: "tablePrefix", expected: "[A-Za-z_][A-Za-z0-9_]{0,31}" },
  });
}
