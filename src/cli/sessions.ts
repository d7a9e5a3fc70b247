/** `phasegate sessions`: lists the sessions of a state as a table, and those that cannot be shown. */
import type { Writable } from "node:stream";
import { type BrokenSession, checkedPage, type ListedSession, type LookAt, type WaitsFor } from "../engine/lists.js";
import { DEFAULT_LIMITS, LIVING, type LivingStatus } from "../phased/options.js";
import { isOnOlder, newestRevisions, type Revisions } from "../phased/revisions.js";
import { pagesOf, type SessionQuery, type SessionSize, type StorageAdapter } from "../ports/storage-adapter.js";
import { isChosen, isStuck, STUCK_SECONDS } from "../read/filter.js";
import { comparePositions, positionOf } from "../read/order.js";
import { STANDING_WORDS, STANDINGS, standingOf, standingText } from "../read/standing.js";
import { defined } from "../workflow/json.js";
import { age, bare, choice, command, flag, parsed, required, text, type Values, wholeNumber } from "./command.js";
import { EXIT } from "./exit-codes.js";
import { aligned, columnsOf, cutMiddle, fitted, type Give, wrapped } from "./layout.js";
import { createLooker } from "./looker.js";
import { jsonOption, limit, requireFolder, stateOption, workflowsOption } from "./options.js";
import { shortIdsIn } from "./session-id.js";
import { styledStanding, styledStatus } from "./standing-styles.js";
import { withState } from "./state.js";
import { agoText, counted, print, printable, printJson, printLines, sizeText, styled, timeText } from "./terminal.js";
import { KEY_HINT, readTrust, trustOptions } from "./trust.js";

const HELP = `
A session waits for an approval, for a waiver, or for the host: it has used all its attempts at a gate, and only
\`phasegate retry\` grants more. A stuck session is active, and nothing has happened in it for an hour, or for --older-than.

At a terminal the table is cut to its width: --wide prints all of it. A command takes the short id for the whole one.

If approvers are given, a session is listed as it was before any approval that is not by one of them. The exit code
is 1 if there are sessions that cannot be shown.

Examples:
  phasegate sessions --state .phasegate --stuck --older-than 2d
  phasegate sessions --state .phasegate --waiting approval --workflow release_v1
  phasegate retry --state .phasegate --by ann $(phasegate sessions --state .phasegate --waiting host --ids)`;

const PAGE = 1000;

const WAITING = ["approval", "waiver", "host"] as const satisfies readonly WaitsFor[];

/** A shorter list is seen as a whole. */
const COUNTED_LEAST = 20;

/** A storage lists sessions as they were created, the newest first. */
const ORDERS = ["created", "updated", "workflow", "target", "status", "phase", "owner"] as const;

/** How an active session stands, and what the page calls those that are completed. */
const STANDING = ["working", "refused", "needs_you", "done"] as const;

/** Sessions in which something was waived, however they stand. */
const WAIVED = "waived";

const sessionsOptions = () => ({
  state: required(stateOption()),
  status: choice("--status <status>", "only sessions of this status, that stand so, or in which something was waived", [
    ...LIVING,
    ...STANDING,
    WAIVED,
  ]).conflicts("stuck"),
  workflow: text("--workflow <type>", "only sessions on this workflow"),
  target: text("--target <path>", "only sessions on this target"),
  owner: text("--owner <name>", "only sessions of this owner"),
  phase: text("--phase <phase>", "only sessions in this phase, or at this step"),
  waiting: bare(choice("--waiting [for]", "only sessions that wait for this, or for any of these", WAITING)),
  waived: flag("--waived", "only sessions in which something was waived"),
  stuck: flag("--stuck", "only active sessions without a commit for --older-than, or for an hour"),
  olderThan: parsed("--older-than <age>", "only sessions without a commit for this long: 12h, 7d", age),
  maxAttemptsTotal: limit(
    "--max-attempts-total <n>",
    "the server's limit: with as many failures a session waits for the host",
    DEFAULT_LIMITS.maxAttemptsTotal,
  ),
  sort: choice(
    "--sort <by>",
    "created and updated: newest first; status: the most urgent first; the others: ascending. By updated if not given; with --stuck or --older-than, the longest without a commit first",
    ORDERS,
  ),
  limit: parsed(
    "--limit <n>",
    "maximum number of sessions; all if not given. With --sort created no more are read",
    wholeNumber(1),
  ),
  sizes: flag("--sizes", "show the number of commits and the size of each session"),
  workflows: workflowsOption("the server's folders of phased workflows: shows which sessions are on an older revision"),
  wide: flag("--wide", "print whole ids, times and targets, as in a pipe, however wide the terminal is"),
  ids: flag("--ids", "print only the ids, one a line, for another command").conflicts("json"),
  json: jsonOption(),
  ...trustOptions(),
});
type SessionsOptions = Values<ReturnType<typeof sessionsOptions>>;

export const sessionsCommand = command({
  name: "sessions",
  description: "Lists the sessions of a state, the last changed first, with what their logs say.",
  options: sessionsOptions(),
  help: HELP,
  async run({ state, json, sizes, ids, wide, maxAttemptsTotal, ...options }, terminal) {
    const trust = await readTrust(options);
    const newest = await revisionsIn(options.workflows);
    return withState(state, async (storage) => {
      const lookAt = createLooker(storage, { ...trust, limits: { maxAttemptsTotal } });
      const { sessions, broken, total } = await chosenSessions(storage, options, lookAt, Date.now());
      const marked = sessions.map((session) => (isOnOlder(session, newest) ? { ...session, older: true } : session));
      const sized: readonly SizedSession[] = sizes ? await withSizes(storage, marked) : marked;
      if (ids) {
        for (const { sessionId } of sessions) print(terminal, printable(sessionId));
      } else if (json) {
        const more = broken.length === 0 ? undefined : broken;
        printJson(terminal, { count: sized.length, total, sessions: sized, broken: more });
      } else {
        const { stdout } = terminal;
        const look: Look = { stream: stdout, sizes: sizes === true, width: wide ? undefined : columnsOf(stdout) };
        const short =
          look.width === undefined
            ? String
            : await shortIdsIn(
                storage,
                sized.map(({ sessionId }) => sessionId),
              );
        printLines(terminal, tableLines(sized, total, short, look));
        printLines(terminal, brokenLines(broken, trust.hashKey !== undefined, look, "shown"));
      }
      return broken.length === 0 ? EXIT.ok : EXIT.problems;
    });
  },
});

function statusesOf(given: SessionsOptions["status"]): readonly LivingStatus[] {
  if (given === undefined || given === WAIVED) return LIVING;
  const status = LIVING.find((one) => one === given);
  return [status ?? (given === "done" ? "completed" : "active")];
}

interface Chosen {
  readonly sessions: readonly ListedSession[];
  readonly broken: readonly BrokenSession[];
  /** The number of all sessions that match, also of those above the limit; without broken ones. */
  readonly total: number;
}

async function chosenSessions(
  storage: StorageAdapter,
  options: Omit<SessionsOptions, "state" | "maxAttemptsTotal" | "wide">,
  lookAt: LookAt,
  now: number,
): Promise<Chosen> {
  const { limit = Infinity, phase, waiting: awaited, stuck } = options;
  const silent = options.olderThan ?? (stuck ? STUCK_SECONDS * 1000 : undefined);
  const standing = STANDING.find((one) => one === options.status);
  const status = stuck ? (["active"] as const) : statusesOf(options.status);
  const { workflow: workflowType, target, owner } = options;
  const updatedBefore = silent === undefined ? undefined : new Date(Math.max(0, now - silent)).toISOString();
  const query: SessionQuery = defined({ status, workflowType, target, owner, updatedBefore });
  const filter = defined({
    ...{ phase, status: standing, waiting: awaited === true ? "any" : awaited },
    waived: options.waived || options.status === WAIVED ? "yes" : undefined,
  });
  const isFiltered = stuck === true || Object.keys(filter).length > 0;
  const sort = options.sort ?? "updated";
  const sessions: ListedSession[] = [];
  const broken: BrokenSession[] = [];
  let cursor: string | undefined;
  do {
    const left = sort === "created" && !isFiltered ? limit - sessions.length : PAGE;
    const page = defined({ ...query, limit: Math.min(PAGE, left), cursor });
    const shown = await checkedPage(await storage.list(page), query, lookAt);
    const isShown = (one: ListedSession) => isChosen(one, filter) && (!stuck || isStuck(one, 0, now));
    sessions.push(...shown.items.filter(isShown));
    broken.push(...(shown.broken ?? []));
    cursor = shown.cursor;
    // They come newest first. Any other order needs all of them, and what a session waits for is only in its log.
  } while (cursor !== undefined && (sort !== "created" || isFiltered || sessions.length < limit));
  let total = sessions.length;
  if (cursor !== undefined) {
    const rest = pagesOf((one) => storage.list(one), { ...query, limit: 1000, cursor });
    for await (const { items } of rest) total += items.length;
  }
  if (sort !== "created") {
    // Of those that are stuck, the longest without a commit come first, unless another order is asked for.
    const isDescending = sort === "updated" && (options.sort !== undefined || silent === undefined);
    const order = { sort: sort === "updated" ? "changed" : sort, isDescending } as const;
    const at = (session: ListedSession) => positionOf(session, order);
    sessions.sort((one, other) => comparePositions(at(one), at(other), order));
  }
  return { sessions: sessions.slice(0, limit), broken, total };
}

interface SizedSession extends ListedSession {
  readonly size?: SessionSize;
  /** True if its workflow has a newer revision. */
  readonly older?: boolean;
}

/** Returns the newest revisions of the workflows in these folders; none without folders. */
async function revisionsIn(workflows: readonly string[] | undefined): Promise<Revisions> {
  if (workflows === undefined) return new Map();
  const roots = await Promise.all(workflows.map((path) => requireFolder(path, "the workflows folder")));
  const { FileContent } = await import("../content/files.js");
  const content = new FileContent({ roots });
  return newestRevisions({ listWorkflows: () => content.list() });
}

/** Adds the sizes. A session that was removed meanwhile has none, and some kinds of state do not know them. */
async function withSizes(storage: StorageAdapter, sessions: readonly SizedSession[]): Promise<SizedSession[]> {
  const sized: SizedSession[] = [];
  for (const session of sessions) {
    const size: SessionSize | undefined = await storage.size?.(session.sessionId);
    sized.push(size === undefined ? session : { ...session, size });
  }
  return sized;
}

interface Column extends Give {
  readonly heading: string;
  readonly cell: (session: SizedSession) => string;
  /** The column is left out if no session has it. */
  readonly shown?: (session: SizedSession) => boolean;
}

/** Columns that both tables have at their ends. */
const MORE: readonly Column[] = [
  {
    heading: "OWNER",
    cell: ({ owner = "" }) => owner,
    shown: ({ owner }) => owner !== undefined,
    ...{ least: 5, optional: 2 },
  },
  {
    heading: "WAITS FOR",
    cell: ({ waitsFor = [] }) => waitsFor.join(", "),
    shown: ({ waitsFor }) => waitsFor !== undefined,
    optional: 1,
  },
  {
    heading: "WAIVED",
    cell: ({ waived }) => (waived ? "yes" : ""),
    shown: ({ waived }) => waived === true,
    optional: 1,
  },
  { heading: "REVISION", cell: ({ older }) => (older ? "older" : ""), shown: ({ older }) => older === true },
  {
    heading: "COMMITS",
    cell: ({ size }) => `${size?.commits ?? ""}`,
    shown: ({ size }) => size !== undefined,
    optional: 1,
  },
  {
    heading: "SIZE",
    cell: ({ size }) => (size === undefined ? "" : sizeText(size.bytes)),
    shown: ({ size }) => size !== undefined,
    optional: 1,
  },
];

/** The table that programs read, too: everything as it is stored. */
const WHOLE: readonly Column[] = [
  { heading: "SESSION", cell: ({ sessionId }) => sessionId },
  { heading: "STATUS", cell: ({ status }) => status },
  {
    heading: "PHASE",
    cell: ({ current, total }) => (total === undefined ? `${current}` : `${current} (${total} in all)`),
  },
  { heading: "UPDATED", cell: ({ updatedAt }) => timeText(updatedAt) },
  { heading: "WORKFLOW", cell: ({ workflowType }) => workflowType },
  { heading: "TARGET", cell: ({ target }) => target },
  ...MORE,
];

/** The table for a person at a terminal. */
function brief(short: (id: string) => string): readonly Column[] {
  return [
    { heading: "SESSION", cell: ({ sessionId }) => short(sessionId) },
    { heading: "STATUS", cell: standingText, least: 9 },
    { heading: "PHASE", cell: phaseText, ...{ least: 10, optional: 1 } },
    { heading: "WORKFLOW", cell: ({ workflowType }) => workflowType, ...{ least: 10, optional: 2 } },
    { heading: "TARGET", cell: ({ target }) => target, ...{ least: 16, cut: cutMiddle, optional: 1 } },
    { heading: "UPDATED", cell: ({ updatedAt }) => agoText(updatedAt), optional: 1 },
    ...MORE,
  ];
}

/** Returns where a session is: `2/5 Plan`, or the step of an instance. */
export function phaseText({ current, total, phaseName = "" }: ListedSession): string {
  return typeof current === "number" ? `${current}/${total} ${phaseName}`.trimEnd() : current;
}

interface Look {
  readonly stream: Writable;
  readonly sizes: boolean;
  /** The columns of the terminal; undefined if nothing is cut. */
  readonly width: number | undefined;
}

function tableLines(
  sessions: readonly SizedSession[],
  all: number,
  short: (id: string) => string,
  { stream, sizes, width }: Look,
): string[] {
  const summary = `${all > sessions.length ? `${sessions.length} of ` : ""}${counted(all, "session")}`;
  if (sessions.length === 0) return [summary];
  const older = sessions.filter((session) => session.older === true).length;
  const known = sizes && sessions.some(({ size }) => size !== undefined);
  const columns = (width === undefined ? WHOLE : brief(short)).filter(({ shown }) => !shown || sessions.some(shown));
  const rows = sessions.map((session) => columns.map(({ cell }) => printable(cell(session))));
  const table = fitted([columns.map(({ heading }) => heading), ...rows], columns, width);
  const style = (cell: string, row: number, column: number) => {
    const session = columns[table.columns[column] ?? 0]?.heading === "STATUS" ? sessions[row - 1] : undefined;
    if (session === undefined) return cell;
    return width === undefined ? styledStatus(stream, session.status, cell) : styledStanding(stream, session, cell);
  };
  const [first = "", ...lines] = aligned(table.rows, [], style);
  const last = sizes
    ? `${summary}, ${known ? sum(sessions) : "sizes unknown: this kind of state does not know them"}`
    : summary + (width === undefined || all > sessions.length ? "" : standingsText(sessions));
  const show = width === undefined ? [] : [`phasegate show ${short(sessions[0]?.sessionId ?? "")} shows the first one`];
  const more = older === 0 ? [] : [`${counted(older, "session")} on an older revision: phasegate migrate moves them`];
  return [
    styled(stream, "bold", first),
    ...lines,
    "",
    ...[last, ...more, ...show].flatMap((line) => wrapped(line, width)),
  ];
}

/** Returns how many stand how, the most urgent first: of a long list a terminal shows the end. */
function standingsText(sessions: readonly ListedSession[]): string {
  const standings = STANDINGS.flatMap((standing) => {
    const count = sessions.filter((session) => standingOf(session) === standing).length;
    return count === 0 ? [] : [`${count} ${STANDING_WORDS[standing].toLowerCase()}`];
  });
  const stuck = sessions.filter((session) => isStuck(session, STUCK_SECONDS, Date.now())).length;
  const all = stuck === 0 ? standings : [...standings, `${stuck} stuck (--stuck)`];
  return sessions.length < COUNTED_LEAST ? "" : `: ${all.join(", ")}`;
}

function sum(sessions: readonly SizedSession[]): string {
  const commits = sessions.reduce((all, { size }) => all + (size?.commits ?? 0), 0);
  const bytes = sessions.reduce((all, { size }) => all + (size?.bytes ?? 0), 0);
  return `${counted(commits, "commit")}, ${sizeText(bytes)}`;
}

/** Returns the lines about sessions that can't be `done`, such as "shown". */
export function brokenLines(
  broken: readonly BrokenSession[],
  isKeyed: boolean,
  { stream, width }: Pick<Look, "stream" | "width">,
  done: string,
): string[] {
  if (broken.length === 0) return [];
  const mayBeKeyed = !isKeyed && broken.some(({ code }) => code === "TAMPERED");
  return [
    "",
    styled(stream, "red", `${counted(broken.length, "session")} can't be ${done}:`),
    ...broken.flatMap(({ sessionId, message }) => wrapped(`  ${printable(sessionId)}: ${printable(message)}`, width)),
    ...(mayBeKeyed ? wrapped(KEY_HINT, width) : []),
  ];
}
