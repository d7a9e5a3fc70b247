import { utf8ToBytes } from "@noble/hashes/utils.js";
import { Command } from "commander";
import { LogRefusal } from "../phased/log-check.js";
import type { Appended } from "../phased/log-copy.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { matchesQuery } from "../storage/common/session-query.js";
import { EXIT, type ExitCode, type SetExitCode } from "./exit-codes.js";
import {
  choiceOf,
  type FilterOptions,
  filterOptions,
  logLevelOption,
  notEmpty,
  requireFile,
  stateOption,
} from "./options.js";
import { openState } from "./state.js";
import { counted, print, printable, type Terminal } from "./terminal.js";
import { type Block, checkLines, importBlock } from "./transfer/check.js";
import { spooled } from "./transfer/export.js";
import { hashKeyOption, KEY_HINT, readHashKey } from "./trust.js";

interface ImportOptions extends FilterOptions {
  readonly state: string;
  readonly check?: true;
  readonly hashKeyFile?: string;
}

const HELP = `
The whole file is checked before anything is written: one that was cut or changed on the way is refused.
A session is imported whole, gone on with where the state has its beginning, or refused with the line that
says why; the others are imported, and the exit code is 1. Importing a file twice does no harm.`;

/** `phasegate import`. */
export function importCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("import")
    .summary("take over sessions that were exported")
    .description("Appends the sessions in a file of `phasegate export` to a state, which is made if it isn't there.")
    .argument("[file]", "the file; stdin if not given, or -", notEmpty)
    .addOption(stateOption().makeOptionMandatory())
    .option("--check", "check the file, and write nothing");
  for (const option of filterOptions()) command.addOption(option);
  return command
    .addOption(hashKeyOption())
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async (file: string | undefined, options: ImportOptions) => {
      const work = (path: string) => importFile(path, options, terminal);
      const fromStdin = file === undefined || file === "-";
      setExitCode(await (fromStdin ? spooled(terminal.stdin, work) : work(await requireFile(file, "the file"))));
    });
}

async function importFile(file: string, options: ImportOptions, terminal: Terminal): Promise<ExitCode> {
  const { hashKey } = await readHashKey(options);
  const key = typeof hashKey === "string" ? utf8ToBytes(hashKey) : undefined;
  const blocks = (await checkLines(file, key)).filter(isChosen(options));
  const missing = options.session?.filter((id) => !blocks.some(({ sessionId }) => sessionId === id)) ?? [];
  for (const id of missing) print(terminal, printable(`session ${id} is not in the file`));
  const to = { terminal, isKeyed: key !== undefined };
  if (options.check === true) return await report("checked", blocks.map(asChecked), missing.length, to);
  const storage = await openState(options.state, { create: true });
  try {
    return await report("imported", importAll(file, blocks, storage, key), missing.length, to);
  } finally {
    await storage.close?.();
  }
}

/** What came of a session's lines, and the line that says it. */
interface Outcome {
  readonly block: Block;
  readonly line: number;
  readonly outcome: Pick<Appended, "commits"> | LogRefusal;
}

/** So many sessions are imported at once: a disk brings what several wait for to safety in one go. */
const AT_ONCE = 8;

async function* importAll(
  file: string,
  blocks: readonly Block[],
  storage: StorageAdapter,
  hashKey: Uint8Array | undefined,
): AsyncGenerator<Outcome> {
  const outcomeOf = async (block: Block): Promise<Outcome> => {
    if (block.refused !== undefined) return asChecked(block);
    return { block, line: block.number, outcome: await importBlock(file, block, storage, hashKey) };
  };
  const pending: Promise<Outcome>[] = [];
  try {
    for (const block of blocks) {
      pending.push(outcomeOf(block));
      const next = pending.length === AT_ONCE ? pending.shift() : undefined;
      if (next !== undefined) yield await next;
    }
    for (let next = pending.shift(); next !== undefined; next = pending.shift()) yield await next;
  } finally {
    // After a failure: nothing may go on once the storage is closed.
    await Promise.allSettled(pending);
  }
}

function asChecked(block: Block): Outcome {
  const { refused, number, commits } = block;
  return { block, line: refused?.line ?? number, outcome: refused?.refusal ?? { commits } };
}

async function report(
  done: string,
  outcomes: Iterable<Outcome> | AsyncIterable<Outcome>,
  missing: number,
  { terminal, isKeyed }: { readonly terminal: Terminal; readonly isKeyed: boolean },
): Promise<ExitCode> {
  // A file that was put together from others can have a session twice.
  const sessions = new Set<string>();
  let [commits, refused, unreadable] = [0, missing, 0];
  for await (const { block, line, outcome } of outcomes) {
    if (outcome instanceof LogRefusal) {
      refused += 1;
      if (outcome.reason === "unreadable") unreadable += 1;
      print(terminal, printable(`line ${line}: session ${block.sessionId} is refused: ${outcome.message}`));
    } else {
      sessions.add(block.sessionId);
      commits += outcome.commits;
    }
  }
  if (unreadable > 0 && !isKeyed) print(terminal, KEY_HINT);
  print(terminal, `${done} ${counted(sessions.size, "session")}, ${counted(commits, "commit")}`);
  return refused === 0 ? EXIT.ok : EXIT.problems;
}

function isChosen(options: ImportOptions): (block: Block) => boolean {
  const { sessionIds, query = {} } = choiceOf(options);
  return ({ sessionId, summary }) => sessionIds?.includes(sessionId) ?? matchesQuery(summary, query);
}
