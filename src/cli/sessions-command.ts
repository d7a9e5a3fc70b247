import { Command, Option } from "commander";
import { LIVING } from "../engine/retention.js";
import type { SessionSize, SessionStatus, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { EXIT, type SetExitCode } from "./exit-codes.js";
import { openState } from "./open-state.js";
import { jsonOption, logLevelOption, stateOption, wholeNumber } from "./option-values.js";
import { type SizedSession, sessionTable } from "./session-table.js";
import { print, printJson, type Terminal } from "./terminal.js";

interface SessionsOptions {
  readonly state: string;
  readonly status?: SessionStatus;
  readonly limit?: number;
  readonly sizes?: true;
  readonly json?: true;
}

/** How many are asked for at once. */
const PAGE = 100;

/** `phasegate sessions`. */
export function sessionsCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("sessions")
    .summary("list the sessions of a state")
    .description("Lists the sessions of a state, newest first.")
    .addOption(stateOption().makeOptionMandatory())
    .addOption(new Option("--status <status>", "only sessions of this status").choices(LIVING))
    .addOption(new Option("--limit <n>", "at most so many (default: all)").argParser(wholeNumber(1)))
    .option("--sizes", "how many commits each one has, and how much room it takes")
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .action(async ({ state, status, limit, json, sizes }: SessionsOptions) => {
      const storage = await openState(state);
      try {
        const query = { status: status === undefined ? LIVING : [status] };
        const listed = await allSessions(storage, query, limit ?? Infinity);
        const sized = sizes === true ? await withSizes(storage, listed) : listed;
        if (json) printJson(terminal, { count: sized.length, sessions: sized });
        else for (const line of sessionTable(sized, terminal.stdout, { sizes: sizes === true })) print(terminal, line);
      } finally {
        await storage.close?.();
      }
      setExitCode(EXIT.ok);
    });
}

async function allSessions(
  storage: StorageAdapter,
  query: { readonly status: readonly SessionStatus[] },
  most: number,
): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  let cursor: string | undefined;
  do {
    const limit = Math.min(PAGE, most - found.length);
    const page = await storage.list({ ...query, limit, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < most);
  return found;
}

/** A session that was removed meanwhile has no size; nor has any, where the state can't tell. */
async function withSizes(storage: StorageAdapter, sessions: readonly SessionSummary[]): Promise<SizedSession[]> {
  const sized: SizedSession[] = [];
  for (const session of sessions) {
    const size: SessionSize | undefined = await storage.size?.(session.sessionId);
    sized.push(size === undefined ? session : { ...session, size });
  }
  return sized;
}
