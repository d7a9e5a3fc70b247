/** `phasegate sessions`: lists the sessions of a state as a table, and those that cannot be shown. */
import type { Writable } from "node:stream";
import { Command, Option } from "commander";
import { type BrokenSession, checkedPage, type LookAt } from "../phased/lists.js";
import { LIVING } from "../phased/options.js";
import type { SessionSize, SessionStatus, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { EXIT, type SetExitCode } from "./exit-codes.js";
import { jsonOption, logLevelOption, stateOption, wholeNumber } from "./options.js";
import { styledStatus } from "./show.js";
import { createLooker, openState } from "./state.js";
import { counted, print, printable, printJson, sizeText, styled, type Terminal, timeText } from "./terminal.js";
import { KEY_HINT, readTrust, type TrustOptions, trustOptions } from "./trust.js";

interface SessionsOptions extends TrustOptions {
  readonly state: string;
  readonly status?: SessionStatus;
  readonly limit?: number;
  readonly sizes?: true;
  readonly json?: true;
}

const HELP = `
If approvers are given, a session is listed as it was before any approval that is not by one of them. The exit code
is 1 if there are sessions that cannot be shown.`;

/** Sessions per request to the storage. */
const PAGE = 100;

/** Creates `phasegate sessions`. */
export function sessionsCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("sessions")
    .summary("list the sessions of a state")
    .description("Lists the sessions of a state, newest first, with what their logs say.")
    .addOption(stateOption().makeOptionMandatory())
    .addOption(new Option("--status <status>", "only sessions of this status").choices(LIVING))
    .addOption(new Option("--limit <n>", "maximum number of sessions; all if not given").argParser(wholeNumber(1)))
    .option("--sizes", "show the number of commits and the size of each session")
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
          for (const line of tableLines(sized, terminal.stdout, sizes === true)) print(terminal, line);
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

/** A session with its size, if that was requested and is known. */
interface SizedSession extends SessionSummary {
  readonly size?: SessionSize;
}

/** Adds the sizes. A session that was removed meanwhile has none, and some kinds of state do not know them. */
async function withSizes(storage: StorageAdapter, sessions: readonly SessionSummary[]): Promise<SizedSession[]> {
  const sized: SizedSession[] = [];
  for (const session of sessions) {
    const size: SessionSize | undefined = await storage.size?.(session.sessionId);
    sized.push(size === undefined ? session : { ...session, size });
  }
  return sized;
}

const HEADINGS = ["SESSION", "STATUS", "PHASE", "UPDATED", "WORKFLOW", "TARGET"] as const;
const SIZE_HEADINGS = ["COMMITS", "SIZE"] as const;
const STATUS_COLUMN = HEADINGS.indexOf("STATUS");

function tableLines(sessions: readonly SizedSession[], stream: Writable, sizes: boolean): string[] {
  const summary = counted(sessions.length, "session");
  if (sessions.length === 0) return [summary];
  const known = sizes && sessions.some(({ size }) => size !== undefined);
  const headings = known ? [...HEADINGS, ...SIZE_HEADINGS] : HEADINGS;
  const rows = sessions.map((session) => [...cells(session), ...(known ? sizeCells(session) : [])]);
  const widths = headings.map((heading, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), heading.length),
  );
  const padded = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  const lines = rows.map((row, index) => {
    const status = sessions[index]?.status ?? "active";
    return joined(padded(row).map((cell, at) => (at === STATUS_COLUMN ? styledStatus(stream, status, cell) : cell)));
  });
  const last = sizes
    ? `${summary}, ${known ? total(sessions) : "sizes unknown: this kind of state does not know them"}`
    : summary;
  return [styled(stream, "bold", joined(padded(headings))), ...lines, "", last];
}

function cells({ sessionId, status, current, total, updatedAt, workflowType, target }: SessionSummary): string[] {
  const phase = total === undefined ? `${current}` : `${current} (${total} in all)`;
  return [sessionId, status, phase, timeText(updatedAt), workflowType, target].map((cell) => printable(cell));
}

function sizeCells({ size }: SizedSession): string[] {
  return size === undefined ? ["", ""] : [`${size.commits}`, sizeText(size.bytes)];
}

function joined(cells: readonly string[]): string {
  return cells.join("  ").trimEnd();
}

function total(sessions: readonly SizedSession[]): string {
  let [commits, bytes] = [0, 0];
  for (const { size } of sessions) {
    commits += size?.commits ?? 0;
    bytes += size?.bytes ?? 0;
  }
  return `${counted(commits, "commit")}, ${sizeText(bytes)}`;
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
