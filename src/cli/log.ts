import { closeSync, constants, fstatSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Logger, multistream, pino } from "pino";
import type { Engine } from "../phased/engine.js";
import type { NotificationName } from "../phased/notifications.js";
import type { ContentProvider } from "../ports/content-provider.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedNotificationName } from "../routed/notifications.js";
import { formatDiagnostic } from "../workflow/diagnostic.js";
import type { WorkspaceNotificationName } from "../workspace/options.js";
import type { Workspace } from "../workspace/workspace.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import type { LogLevel } from "./options.js";
import type { LogFiles } from "./serve-options.js";
import type { Terminal } from "./terminal.js";
/** The logs of a server. */
export interface Logs {
  readonly log: Logger;
  /** For what models were asked and have answered, where files are written. */
  readonly ai?: Logger;
  close(): void;
}

/** The log of a server, on stderr: one JSON object a line. Stacks are for `debug` and below. */
export function createLogger(level: LogLevel, { stderr }: Terminal): Logger {
  return pino(settings(level), stderr);
}

/** The same, and as files that rotate, where somebody has asked for those. */
export function openLogs(level: LogLevel, terminal: Terminal, files: LogFiles | undefined): Logs {
  if (files === undefined) return { log: createLogger(level, terminal), close: () => {} };
  const main = openFile(files.folder, files.main);
  const ai = openFile(files.folder, files.ai);
  const streams = [terminal.stderr, main].map((stream) => ({ stream, level: level === "silent" ? "fatal" : level }));
  return {
    log: pino(settings(level), multistream(streams)),
    ai: pino(settings("info"), ai),
    close: () => {
      main.close();
      ai.close();
    },
  };
}

function openFile(folder: string, name: string): RotatingFile {
  try {
    return new RotatingFile(resolve(folder, name));
  } catch (cause) {
    const hint = "Check ORCHESTRATOR_LOG_DIR, and that this process may write there.";
    throw new CommandFailure(`the log file ${name} can't be written in ${folder}`, EXIT.environment, hint, { cause });
  }
}

function settings(level: LogLevel) {
  const whole = level === "debug" || level === "trace";
  return {
    name: "phasegate",
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: whole ? pino.stdSerializers.err : briefError },
  };
}

function briefError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message } = error;
  return { type: name, message, ...("code" in error ? { code: error.code } : {}) };
}

/** When a file is put aside, and how many are kept. */
interface Rotation {
  /** Bytes. */
  readonly maxBytes: number;
  /** At least 1: files beside the one that is written: `NAME.1` is the newest of them. */
  readonly kept: number;
}

const ROTATION: Rotation = { maxBytes: 10 * 1024 * 1024, kept: 5 };

/**
 * A file that lines are added to, put aside when it is full. Written at once: what stands in it when a process is killed
 * is what was logged. Two processes must not share one.
 */
export class RotatingFile {
  readonly #path: string;
  readonly #rotation: Rotation;
  #file: number;
  #bytes: number;

  /** Makes the file, readable by its owner alone, and its folder. Throws what the file system throws. */
  constructor(path: string, rotation: Rotation = ROTATION) {
    this.#path = path;
    this.#rotation = rotation;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#file = open(path);
    this.#bytes = fstatSync(this.#file).size;
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes > 0 && this.#bytes + bytes > this.#rotation.maxBytes) this.#rotate();
    writeSync(this.#file, line);
    this.#bytes += bytes;
  }

  close(): void {
    closeSync(this.#file);
  }

  #rotate(): void {
    closeSync(this.#file);
    for (let number = this.#rotation.kept; number > 0; number -= 1) {
      moveIfThere(number === 1 ? this.#path : `${this.#path}.${number - 1}`, `${this.#path}.${number}`);
    }
    this.#file = open(this.#path);
    this.#bytes = 0;
  }
}

function open(path: string): number {
  // As "a", but it doesn't wait for somebody who reads a FIFO.
  const { O_WRONLY, O_CREAT, O_APPEND, O_NONBLOCK } = constants;
  return openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0o600);
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}

/** The notifications that are worth a line at `info`; `phaseEntered` and `gatePassed` come together. */
const NEWS: readonly NotificationName[] = [
  "started",
  "gatePassed",
  "gateFailed",
  "approvalRequested",
  "approved",
  "denied",
  "gateOverridden",
  "phaseSkipped",
  "paused",
  "resumed",
  "retried",
  "rolledBack",
  "migrated",
  "planSynced",
  "planTicked",
  "completed",
  "failed",
  "deleted",
];

/** Writes down what happens to sessions: never evidence, which may hold anything. */
export function logEngine(engine: Engine, log: Logger): void {
  for (const name of NEWS) engine.on(name, (payload) => log.info(withoutContent(payload), name));
  engine.on("phaseEntered", (payload) => log.debug(payload, "phaseEntered"));
  engine.on("conflict", (payload) => log.debug(payload, "conflict"));
  engine.on("planTicksPending", ({ error, ...payload }) => log.warn({ ...payload, err: error }, "planTicksPending"));
  engine.on("security", (payload) => log.warn(payload, "security"));
  engine.on("internalError", ({ operation, error }) => log.error({ operation, err: error }, "internalError"));
}

/** Writes down which workflows there are, and what is wrong with those that can't be started. */
export async function logWorkflows(content: ContentProvider, log: Logger): Promise<void> {
  const listings = await unlessFailing(() => content.list(), log);
  if (listings === undefined) return;
  for (const { type, status, diagnostics } of listings) {
    if (status === "ready") continue;
    const errors = diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
    log.warn({ workflowType: type, errors }, "broken workflow");
  }
  const ready = listings.filter(({ status }) => status === "ready").map(({ type }) => type);
  if (ready.length === 0) log.warn("there is no workflow that can be started");
  log.info({ workflows: ready }, "workflows");
}

/** What lists workflows may fail, now or later: what else is served is no worse for it, and calls tell of it. */
async function unlessFailing<T>(list: () => Promise<T>, log: Logger): Promise<T | undefined> {
  try {
    return await list();
  } catch (err) {
    log.error({ err }, "the workflows can't be listed");
    return undefined;
  }
}

/** A problem quotes evidence: its field and its kind are enough. */
function withoutContent(payload: object): object {
  if (!("problems" in payload) || !Array.isArray(payload.problems)) return payload;
  return { ...payload, problems: payload.problems.map(({ field, problem }) => ({ field, problem })) };
}

/** The notifications that are worth a line at `info`. */
const ROUTED_NEWS: readonly RoutedNotificationName[] = [
  "started",
  "reported",
  "decided",
  "approvalRequested",
  "approved",
  "denied",
  "suspended",
  "retried",
  "cancelled",
  "completed",
  "deleted",
];

/** Writes down what happens to instances: never reports or contexts, which may hold anything. */
export function logRouted(engine: RoutedEngine, log: Logger): void {
  for (const name of ROUTED_NEWS) engine.on(name, (payload) => log.info(payload, name));
  engine.on("gateRefused", ({ problems, ...about }) =>
    log.info({ ...about, problems: problems.map(({ field, problem }) => ({ field, problem })) }, "gateRefused"),
  );
  engine.on("failed", (payload) => log.warn(payload, "failed"));
  engine.on("conflict", (payload) => log.debug(payload, "conflict"));
  engine.on("security", (payload) => log.warn(payload, "security"));
  engine.on("internalError", ({ operation, error }) => log.error({ operation, err: error }, "internalError"));
}

/** Writes down which routed workflows there are, and what is wrong with those that can't be started. */
export async function logRoutedWorkflows(engine: RoutedEngine, log: Logger): Promise<void> {
  const listings = await unlessFailing(() => engine.listWorkflows(), log);
  if (listings === undefined) return;
  for (const { name, status, diagnostics } of listings) {
    if (status === "ready") continue;
    const errors = diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
    log.warn({ workflow: name, errors }, "broken workflow");
  }
  const ready = listings.flatMap(({ name, status }) => (status === "ready" ? [name] : []));
  if (ready.length === 0) log.warn("there is no routed workflow that can be started");
  log.info({ workflows: ready }, "routed workflows");
}

/** The notifications that are worth a line at `info`. */
const WORKSPACE_NEWS: readonly WorkspaceNotificationName[] = [
  "sessionCreated",
  "sessionReopened",
  "saved",
  "sessionCompleted",
];

/** Writes down what happens in a workspace: never what files hold. */
export function logWorkspace(workspace: Pick<Workspace, "on">, log: Logger): void {
  for (const name of WORKSPACE_NEWS) workspace.on(name, (payload) => log.info(payload, name));
  workspace.on("called", (payload) => log.debug(payload, "called"));
  workspace.on("security", (payload) => log.warn(payload, "security"));
  workspace.on("internalError", ({ operation, error }) => log.error({ operation, err: error }, "internalError"));
}
