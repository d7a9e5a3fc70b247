/**
 * `phasegate cleanup`: deletes phased sessions that nobody has touched for long. And the cleanup that a server does by
 * itself, for `serve --cleanup-after`.
 */
import { Command, Option } from "commander";
import type { Logger } from "pino";
import type { Engine } from "../phased/engine.js";
import { LIVING, type LivingStatus } from "../phased/options.js";
import { EXIT, type SetExitCode } from "./exit-codes.js";
import { byOption } from "./operate.js";
import { age, jsonOption, logLevelOption, notEmpty, stateOption } from "./options.js";
import { openPhased } from "./state.js";
import { counted, print, printable, printJson, type Terminal } from "./terminal.js";
import { readTrust, type TrustOptions, trustOptions } from "./trust.js";

interface CleanupOptions extends TrustOptions {
  readonly state: string;
  readonly olderThan: number;
  readonly status?: readonly LivingStatus[];
  readonly preview?: true;
  readonly by: string;
  readonly note?: string;
  readonly json?: true;
}

const CLEANUP_HELP = `
Deletes phased sessions that have had no commit for --older-than; those of routed workflows and workspaces are kept. Each
deletion is recorded with your name. Back the state up first if you may need the logs: phasegate backup.

Instances of routed workflows are deleted by their ids:
  phasegate delete --by ann $(phasegate sessions --workflow DEPLOY --status completed --older-than 30d --ids)`;

/** Creates `phasegate cleanup`. */
export function cleanupCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("cleanup")
    .summary("delete phased sessions that nobody has touched for long")
    .description("Deletes phased sessions without a recent commit.")
    .addOption(stateOption().makeOptionMandatory())
    .addOption(
      new Option("--older-than <age>", "sessions without a commit for this long: 12h, 7d, 4w")
        .argParser(age)
        .makeOptionMandatory(),
    )
    .addOption(new Option("--status <status...>", "only sessions of these statuses; all if not given").choices(LIVING))
    .option("--preview", "only show which sessions would be deleted")
    .addOption(byOption())
    .addOption(new Option("--note <text>", "why; `stale` if not given").argParser(notEmpty));
  for (const option of trustOptions()) command.addOption(option);
  return command
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText("after", CLEANUP_HELP)
    .action(async ({ state, olderThan, status, preview: only, by, note, json, ...trust }: CleanupOptions) => {
      const engine = await openPhased(state, await readTrust(trust));
      const kept: string[] = [];
      const preview = only === true;
      engine.on("security", ({ message }) => void kept.push(message));
      engine.on("internalError", ({ error }) => void kept.push(error instanceof Error ? error.message : String(error)));
      try {
        const reason = note === undefined ? {} : { reason: note };
        const chosen = { olderThan, preview, operator: by, ...(status === undefined ? {} : { status }), ...reason };
        const { removed } = await engine.cleanup(chosen);
        if (json) printJson(terminal, { preview, count: removed.length, removed, kept });
        else {
          for (const id of removed) print(terminal, id);
          print(terminal, `${counted(removed.length, "session")} ${preview ? "would be deleted" : "deleted"}`);
          for (const message of kept) terminal.stderr.write(`${printable(`phasegate: kept: ${message}`)}\n`);
        }
        setExitCode(kept.length === 0 ? EXIT.ok : EXIT.problems);
      } finally {
        await engine.close();
      }
    });
}

/** The time between two cleanups. Ages are given in hours and days. */
const CLEANUP_EVERY_MS = 60 * 60 * 1000;
/** The time that a cleanup under way has when its server ends. */
const CLEANUP_ENDS_MS = 5000;

/** Deletes sessions as the engine's retention says, now and every hour. Returns what ends it. */
export function cleanUpRegularly(engine: Engine, log: Logger): () => Promise<void> {
  const cleanUp = async () => {
    try {
      const { removed } = await engine.cleanup({ operator: "phasegate serve" });
      log.info({ removed: removed.length }, "cleanup");
    } catch (err) {
      log.error({ err }, "cleanup");
    }
  };
  let running = cleanUp();
  const timer = setInterval(() => {
    // One at a time: the first one on a large store may take longer than an hour.
    running = running.then(cleanUp);
  }, CLEANUP_EVERY_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    // What is left is deleted by the next server: nobody waits for a large store to be cleaned up.
    let limit: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => {
      limit = setTimeout(resolve, CLEANUP_ENDS_MS);
    });
    await Promise.race([running, waited]);
    clearTimeout(limit);
  };
}
