import { Command, Option } from "commander";
import type { Engine } from "../engine/engine.js";
import type { SessionStatus, SessionSummary } from "../ports/storage-adapter.js";
import { EXIT, type SetExitCode } from "./exit-codes.js";
import { openState } from "./open-state.js";
import { jsonOption, logLevelOption, stateOption, wholeNumber } from "./option-values.js";
import { sessionTable } from "./session-table.js";
import { print, type Terminal } from "./terminal.js";

interface SessionsOptions {
  readonly state: string;
  readonly status?: SessionStatus;
  readonly limit?: number;
  readonly json?: true;
}

const STATUSES = ["active", "paused", "completed", "failed"] as const;
/** How many are asked for at once. */
const PAGE = 100;

/** `phasegate sessions`. */
export function sessionsCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("sessions")
    .summary("list the sessions in a state folder")
    .description("Lists the sessions in a state folder, newest first.")
    .addOption(stateOption().makeOptionMandatory())
    .addOption(new Option("--status <status>", "only sessions of this status").choices(STATUSES))
    .addOption(new Option("--limit <n>", "at most so many (default: all)").argParser(wholeNumber(1)))
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .action(async ({ state, status, limit, json }: SessionsOptions) => {
      const engine = await openState(state);
      const sessions = await allSessions(engine, status === undefined ? STATUSES : [status], limit ?? Infinity);
      await engine.close();
      if (json) print(terminal, JSON.stringify({ count: sessions.length, sessions }, undefined, 2));
      else for (const line of sessionTable(sessions, terminal.stdout)) print(terminal, line);
      setExitCode(EXIT.ok);
    });
}

async function allSessions(engine: Engine, status: readonly SessionStatus[], most: number): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  let cursor: string | undefined;
  do {
    const limit = Math.min(PAGE, most - found.length);
    const page = await engine.listSessions({ status, limit, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < most);
  return found;
}
