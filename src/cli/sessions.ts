import { Command, Option } from "commander";
import { type BrokenSession, checkedPage, type LookAt } from "../phased/lists.js";
import { LIVING } from "../phased/options.js";
import type { SessionSize, SessionStatus, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { EXIT, type SetExitCode } from "./exit-codes.js";
import { jsonOption, logLevelOption, stateOption, wholeNumber } from "./options.js";
import { type SizedSession, sessionTable } from "./session-lines.js";
import { createLooker, openState } from "./state.js";
import { counted, print, printable, printJson, styled, type Terminal } from "./terminal.js";
import { KEY_HINT, readTrust, type TrustOptions, trustOptions } from "./trust.js";

interface SessionsOptions extends TrustOptions {
  readonly state: string;
  readonly status?: SessionStatus;
  readonly limit?: number;
  readonly sizes?: true;
  readonly json?: true;
}

const HELP = `
Where the approvers are given, a session that passed a gate on an approval by anybody else is not shown
as if it had. Exit code 1 says that there are sessions that can't be shown.`;

/** How many are asked for at once. */
const PAGE = 100;

/** `phasegate sessions`. */
export function sessionsCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("sessions")
    .summary("list the sessions of a state")
    .description("Lists the sessions of a state, newest first, each as its log has it.")
    .addOption(stateOption().makeOptionMandatory())
    .addOption(new Option("--status <status>", "only sessions of this status").choices(LIVING))
    .addOption(new Option("--limit <n>", "at most so many (default: all)").argParser(wholeNumber(1)))
    .option("--sizes", "how many commits each one has, and how much room it takes")
    .addOption(jsonOption());
  for (const option of trustOptions()) command.addOption(option);
  return command
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async ({ state, status, limit, json, sizes, ...options }: SessionsOptions) => {
      const trust = await readTrust(options);
      const storage = await openState(state);
      try {
        const query = { status: status === undefined ? LIVING : [status] };
        const { sessions, broken } = await allSessions(storage, query, limit ?? Infinity, createLooker(storage, trust));
        const sized = sizes === true ? await withSizes(storage, sessions) : sessions;
        if (json) {
          const more = broken.length === 0 ? {} : { broken };
          printJson(terminal, { count: sized.length, sessions: sized, ...more });
        } else {
          for (const line of sessionTable(sized, terminal.stdout, { sizes: sizes === true })) print(terminal, line);
          for (const line of brokenLines(broken, trust.hashKey !== undefined, terminal)) print(terminal, line);
        }
        setExitCode(broken.length === 0 ? EXIT.ok : EXIT.problems);
      } finally {
        await storage.close?.();
      }
    });
}

async function allSessions(
  storage: StorageAdapter,
  query: { readonly status: readonly SessionStatus[] },
  most: number,
  lookAt: LookAt,
): Promise<{ readonly sessions: readonly SessionSummary[]; readonly broken: readonly BrokenSession[] }> {
  const sessions: SessionSummary[] = [];
  const broken: BrokenSession[] = [];
  let cursor: string | undefined;
  do {
    const limit = Math.min(PAGE, most - sessions.length);
    const listed = await storage.list({ ...query, limit, ...(cursor === undefined ? {} : { cursor }) });
    const page = await checkedPage(listed, query, lookAt);
    sessions.push(...page.items);
    broken.push(...(page.broken ?? []));
    cursor = page.cursor;
  } while (cursor !== undefined && sessions.length < most);
  return { sessions, broken };
}

function brokenLines(broken: readonly BrokenSession[], isKeyed: boolean, { stdout }: Terminal): string[] {
  if (broken.length === 0) return [];
  const mayBeKeyed = !isKeyed && broken.some(({ code }) => code === "TAMPERED");
  return [
    "",
    styled(stdout, "red", `${counted(broken.length, "session")} can't be shown:`),
    ...broken.map(({ sessionId, message }) => `  ${printable(sessionId)}: ${printable(message)}`),
    ...(mayBeKeyed ? [KEY_HINT] : []),
  ];
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
