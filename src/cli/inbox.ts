/** `phasegate inbox`: what waits for a person, each with the command that answers; also as it comes. */

import type { BrokenSession } from "../engine/lists.js";
import { isPhasegateError } from "../errors.js";
import type { Commit, StorageAdapter } from "../ports/storage-adapter.js";
import { KINDS, type WaitingLine } from "../read/model.js";
import { lineIn, readInbox } from "../read/waiting.js";
import { escapeHidden } from "../workflow/hidden.js";
import { type AnswerCommands, answersFor, firstText, serverText } from "./answer-command.js";
import { command, flag, required } from "./command.js";
import { CommandFailure, EXIT, type ExitCode, endOnSignals } from "./exit-codes.js";
import { aligned, columnsOf, cutMiddle, fitted, type Give, widthOf, wrapped } from "./layout.js";
import { type OpenedState, openAll } from "./opened.js";
import { jsonOption, stateOption } from "./options.js";
import { shortIdsIn } from "./session-id.js";
import { brokenLines } from "./sessions.js";
import {
  agoText,
  isTty,
  print,
  printable,
  printJson,
  printLines,
  styled,
  type Terminal,
  timeText,
} from "./terminal.js";
import { readTrust, trustOptions } from "./trust.js";

const HELP = `
It lists approvals and waivers that agents wait for, the oldest request first. The commands show what is asked before they
answer. They have your key, if one in ~/.keys is an approver's; if not, the commands come first that make one.

With --watch it goes on and prints what comes, until Ctrl+C; with --json, too, each as one line of JSON.

The exit code is 1 if there are sessions that cannot be shown: they may wait, too.

Sessions that have used up their attempts wait for the host: phasegate sessions --waiting host.`;

export const inboxCommand = command({
  name: "inbox",
  description: "Lists what waits for a person, the oldest request first, each with the command that answers.",
  options: {
    state: required(stateOption()),
    watch: flag("--watch", "go on, and print what comes, until Ctrl+C"),
    wide: flag("--wide", "print whole ids, times and questions, as in a pipe, however wide the terminal is"),
    json: jsonOption(),
    ...trustOptions(),
  },
  help: HELP,
  async run({ watch, wide, json, ...place }, terminal) {
    const trust = await readTrust(place);
    const opened = await openAll(place.state, trust);
    try {
      const width = wide ? undefined : columnsOf(terminal.stdout);
      const { answers } = await answersFor(place, trust.approvers);
      const look: Look = { terminal, answers, width, isKeyed: trust.hashKey !== undefined };
      if (!watch) return await list(opened, look, json === true);
      await follow(opened, look, json === true);
      return EXIT.ok;
    } finally {
      await opened.engine.close();
    }
  },
});

interface Look {
  readonly terminal: Terminal;
  readonly answers: AnswerCommands["answers"];
  /** The columns of the terminal; undefined if nothing is cut. */
  readonly width: number | undefined;
  /** True if the command has a hash key. */
  readonly isKeyed: boolean;
}

async function list(opened: OpenedState, look: Look, json: boolean): Promise<ExitCode> {
  const { terminal, width, isKeyed } = look;
  const { items, broken } = await readInbox(opened);
  if (json) {
    const more = broken.length === 0 ? undefined : broken;
    printJson(terminal, { count: items.length, items: items.map((one) => withAnswer(one, look)), broken: more });
  } else {
    if (items.length > 0) {
      const { heading, lines } = await tableOf(items, opened, look);
      printLines(terminal, [...firstLines(items, look), heading, ...lines]);
    } else print(terminal, broken.length === 0 ? "nothing waits for a person" : "nothing that can be shown waits");
    printLines(terminal, brokenLines(broken, isKeyed, { stream: terminal.stdout, width }, "shown"));
  }
  return broken.length === 0 ? EXIT.ok : EXIT.problems;
}

/** Prints what waits, then what comes, until a signal. */
async function follow(opened: OpenedState, look: Look, json: boolean): Promise<void> {
  const { terminal } = look;
  const seen = new Set<string>();
  const tell = async (items: readonly WaitingLine[]) => {
    const keyOf = ({ sessionId, request }: WaitingLine) => `${sessionId} ${request}`;
    const isFirst = seen.size === 0;
    const fresh = items.filter((one) => !seen.has(keyOf(one)));
    for (const one of fresh) seen.add(keyOf(one));
    if (fresh.length === 0) return;
    if (json) {
      for (const one of fresh) print(terminal, escapeHidden(JSON.stringify(withAnswer(one, look))));
    } else {
      const { heading, lines } = await tableOf(fresh, opened, look);
      printLines(terminal, isFirst ? [...firstLines(fresh, look), heading, ...lines] : lines);
    }
  };
  const end = new AbortController();
  const close = () => end.abort();
  const release = endOnSignals({ close }, { info: () => {} });
  // The reader of a pipe has gone.
  terminal.stdout.once("error", close);
  if (isTty(terminal.stdout)) terminal.stderr.write("phasegate: watching what comes; Ctrl+C ends it\n");
  try {
    const tellAll = async () => {
      const { items, broken } = await readInbox(opened);
      await tell(items);
      for (const one of broken) tellBroken(one, terminal);
    };
    for await (const commit of watched(opened.storage, end.signal, tellAll)) {
      await tell(await waitingAfter(opened, commit, terminal));
    }
  } finally {
    release();
    terminal.stdout.off("error", close);
  }
}

function tellBroken({ sessionId, message }: Pick<BrokenSession, "sessionId" | "message">, { stderr }: Terminal): void {
  stderr.write(`${printable(`phasegate: ${sessionId}: ${message}`)}\n`);
}

function withAnswer(waiting: WaitingLine, { answers }: Look) {
  const { first, yes } = answers(waiting, waiting.sessionId);
  return { ...waiting, first: first.length === 0 ? undefined : first, answer: yes };
}

/** Returns what a person does once, who has no approver's key yet; nothing for the others. */
function firstLines(items: readonly WaitingLine[], { answers, terminal, width }: Look): string[] {
  const needed = items.map((one) => answers(one, one.sessionId)).filter(({ first }) => first.length > 0);
  if (needed.length === 0) return [];
  const people = [...new Set(needed.map(({ who }) => who))];
  const servers = [...new Set(needed.flatMap(({ server }) => server ?? []))].map(serverText);
  return [
    ...people.flatMap((person) => {
      const commands = needed.flatMap(({ who, first }) => (who === person ? first : []));
      const lines = [...new Set(commands)].map((command) => `  ${printable(command)}`);
      return [styled(terminal.stdout, "bold", firstText(person)), ...lines];
    }),
    ...servers.flatMap((text) => wrapped(`  ${printable(text)}`, width)),
    "",
  ];
}

interface Column extends Give {
  readonly heading: string;
  readonly cell: (waiting: WaitingLine) => string;
}

/** Returns what waits as a table. Where the commands do not fit beside it, each is in a line of its own. */
async function tableOf(
  items: readonly WaitingLine[],
  { storage }: OpenedState,
  { terminal, answers: answersTo, width }: Look,
) {
  const ids = items.map(({ sessionId }) => sessionId);
  const short = width === undefined ? String : await shortIdsIn(storage, ids);
  const about: readonly Column[] = [
    { heading: "ASKED", cell: ({ askedAt }) => (width === undefined ? timeText(askedAt) : agoText(askedAt)) },
    { heading: "WAITS FOR", cell: waitsText, least: 8 },
    {
      heading: "PHASE",
      cell: ({ kind, phase, phaseName }) => (kind === "routed" ? phaseName : `${phase} ${phaseName}`),
      least: 10,
    },
    { heading: "TARGET", cell: ({ target, workflowType }) => target || workflowType, ...{ least: 12, cut: cutMiddle } },
    { heading: "QUESTION", cell: ({ question }) => question, least: 24 },
  ];
  const answer: Column = { heading: "ANSWER", cell: (one) => answersTo(one, short(one.sessionId)).yes };
  const linesOf = (columns: readonly Column[]) => {
    const rows = items.map((one) => columns.map(({ cell }) => printable(cell(one))));
    return aligned(fitted([columns.map(({ heading }) => heading), ...rows], columns, width).rows);
  };
  const whole = linesOf([...about, answer]);
  const isNarrow = whole.some((line) => widthOf(line) > (width ?? Number.POSITIVE_INFINITY));
  const [heading = "", ...lines] = isNarrow ? linesOf(about) : whole;
  const answers = items.map((one) => `  ${printable(answer.cell(one))}`);
  return {
    heading: styled(terminal.stdout, "bold", heading),
    lines: isNarrow ? lines.flatMap((line, index) => [line, answers[index] ?? ""]) : lines,
  };
}

function waitsText({ what, approvers }: WaitingLine): string {
  return approvers === undefined ? what : `${what} by ${approvers.join(" or ")}`;
}

/** Watches all commits of a state. `onReady` runs before the first is read: nothing is missed between them. */
async function* watched(
  storage: StorageAdapter,
  signal: AbortSignal,
  onReady: () => Promise<void>,
): AsyncGenerator<Commit> {
  if (storage.watch === undefined) {
    throw new CommandFailure("this kind of state can't be watched", EXIT.usage, "Leave out --watch.");
  }
  let ready = () => {};
  const isReady = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const commits = storage.watch({}, { signal, onReady: ready })[Symbol.asyncIterator]();
  const first = commits.next();
  await Promise.race([isReady, first]);
  await onReady();
  for (let found = await first; !found.done; found = await commits.next()) yield found.value;
}

/** Returns what a session waits for after a commit, if anything. One that can't be read does not end the watch. */
async function waitingAfter(
  opened: OpenedState,
  { sessionId, summary }: Commit,
  terminal: Terminal,
): Promise<WaitingLine[]> {
  const kind = KINDS.find((one) => one === summary.kind);
  if (kind === undefined || summary.status !== "active") return [];
  try {
    return [(await lineIn(opened, kind, sessionId)) ?? []].flat();
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    if (error.code !== "SESSION_NOT_FOUND") tellBroken({ sessionId, message: error.message }, terminal);
    return [];
  }
}
