/**
 * Runs what `serve` serves: opens the storage and the products, connects them to a client, and ends in order when the
 * client or a signal ends it. This file is loaded by `import()`, since it needs the MCP SDK.
 */
import module from "node:module";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { createQuotas, type Quotas } from "../login/quotas.js";
import type { Registration } from "../mcp/changes.js";
import { serveOverStdio } from "../mcp/stdio.js";
import type { ActorQuotas, Owner } from "../ports/actor.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { EXIT, type ExitCode, endOnSignals, packageVersion } from "./exit-codes.js";
import { freeMemory } from "./free-memory.js";
import type { Page } from "./inspect.js";
import type { Watching } from "./listen.js";
import { type Logs, logCalls, openLogs } from "./log.js";
import type { Notify } from "./notify/notify.js";
import { requireFolder } from "./options.js";
import {
  aboutServer,
  type Client,
  engineBasis,
  type Open,
  PRODUCTS,
  type Served,
  type ServeOptions,
} from "./products.js";
import { openState, requireNoLink } from "./state.js";
import { type Terminal, withoutPasswords } from "./terminal.js";

/** A message carries evidence, and JSON may need six bytes for a character. */
const MESSAGE_BYTES = 32 * 1024 * 1024;
const BYTES_PER_CHARACTER = 6;
const DRAIN_MS = 10_000;
/** A client waits for the list of tools when it starts the server. Workflows are read, for the log, once it has that. */
const ANNOUNCE_MS = 500;

interface Serving {
  /** Why it ended; `abandoned` if calls were still under way, `broken` if no answer can be sent any more. */
  readonly ended: Promise<"closed" | "input ended" | "broken" | "abandoned">;
  close(): void;
}

/** Serves until the client or a signal ends it. Answers are sent first, then the storage is closed. */
export async function serve(options: ServeOptions, terminal: Terminal): Promise<ExitCode> {
  const logs = openLogs(options.logLevel, terminal, options.logFiles);
  let reason: Awaited<Serving["ended"]>;
  try {
    reason = await serveLogged(options, terminal, logs);
  } finally {
    logs.close();
    // A client that keeps its end of the pipe open would keep the process alive.
    terminal.stdin.destroy();
  }
  const code = reason === "broken" ? EXIT.environment : EXIT.ok;
  // A call that never ends, or an answer that is never read, would keep the process alive.
  if (reason === "broken" || reason === "abandoned") terminal.exit?.(code);
  return code;
}

async function serveLogged(options: ServeOptions, terminal: Terminal, logs: Logs): Promise<Awaited<Serving["ended"]>> {
  const { log } = logs;
  const { project, state, ownProject, quota = {} } = options;
  if (ownProject !== undefined) log.info({ project: ownProject }, "project");
  const prepared: (Open | undefined)[] = [];
  for (const prepare of PRODUCTS) prepared.push(await prepare(options, logs));
  if (project !== undefined) await requireFolder(project, "the project folder");
  const basis = await engineBasis(options, logs);
  const notify = await notifyOf(options, log);
  if (state !== undefined && project !== undefined) requireNoLink(state, project);
  const storage = state === undefined ? undefined : await openState(state, { create: true });
  const served: Served[] = [];
  let watching: Watching | undefined;
  let inspecting: Serving | undefined;
  const ending = new AbortController();
  try {
    // Over stdio, nobody asks for metrics.
    if (options.listen !== undefined) watching = await (await import("./listen.js")).openWatching(storage, log);
    const quotas = createQuotas(quota);
    // Nothing is counted that has no limit.
    const counted: ActorQuotas = {
      session: quota.sessions === undefined ? undefined : quotas.session,
      verifier: quota.verifiersAtOnce === undefined ? undefined : quotas.verifier,
    };
    for (const open of prepared) {
      const product = await open?.(storage && { ...basis, storage, telemetry: watching?.telemetry, quotas: counted });
      if (product === undefined) continue;
      served.push(product);
      notify?.listen(product);
    }
    const page = storage && pageOf(options, basis, served, storage, log);
    inspecting = await inspectorOf(options, page, log);
    const serving = await begin({ served, watching, quotas, page, owner: basis.owner }, options, terminal, log);
    const release = endOnSignals(serving, log);
    const announced = delay(ANNOUNCE_MS, undefined, { signal: ending.signal })
      .catch(() => {})
      .then(() => Promise.all(served.map((product) => product.announce?.())))
      .then(() => {
        if (ending.signal.aborted) return;
        freeMemory();
        // Node would do it at the end, which a client's kill -9 may be.
        module.flushCompileCache?.();
      })
      .catch((err: unknown) => log.error({ err }, "workflows"));
    const reason = await serving.ended;
    ending.abort();
    await announced;
    release();
    log.info({ reason }, "stopped");
    return reason;
  } finally {
    inspecting?.close();
    for (const product of served) await product.close?.();
    await notify?.close();
    await watching?.close();
    await storage?.close?.();
  }
}

async function notifyOf(options: ServeOptions, log: Logger): Promise<Notify | undefined> {
  if (options.notify === undefined && options.notifyCommand === undefined) return undefined;
  const { Notify } = await import("./notify/notify.js");
  return Notify.open(options, process.env, log);
}

/** Returns what the page for people shows. */
function pageOf(
  options: ServeOptions,
  { approvers, hashKey, allowUnsignedApprovals: unsigned = false }: Awaited<ReturnType<typeof engineBasis>>,
  served: readonly Served[],
  storage: StorageAdapter,
  log: Logger,
): Page {
  const [engine] = served.flatMap((product) => product.engine ?? []);
  const [routed] = served.flatMap((product) => product.routed ?? []);
  const title = withoutPasswords(options.state ?? "");
  return { storage, engine, routed, log, approvers, approversFile: options.approvers, hashKey, unsigned, title };
}

/** Serves the page for people next to the server, if that is asked for. Its URL goes to the log. */
async function inspectorOf(options: ServeOptions, page: Page | undefined, log: Logger): Promise<Serving | undefined> {
  const { inspector: port } = options;
  if (port === undefined || port === true || page === undefined) return undefined;
  const { framesIn, serveInspector } = await import("./inspect.js");
  const serving = await serveInspector({ ...page, codeFrame: framesIn(options) }, "--inspector", port);
  log.info({ url: serving.logged }, "inspector");
  return serving;
}

interface Opened {
  readonly served: readonly Served[];
  /** Who a client on stdio is. */
  readonly owner: Owner | undefined;
  /** Missing if nothing listens. */
  readonly watching: Watching | undefined;
  readonly quotas: Quotas;
  /** Missing without a storage. */
  readonly page: Page | undefined;
}

/** Begins to serve: MCP over HTTP, sessions of one kind over plain HTTP, or MCP on stdio. */
async function begin(
  { served, watching, quotas, page, owner }: Opened,
  options: ServeOptions,
  terminal: Terminal,
  log: Logger,
): Promise<Serving> {
  const { listen: at, http, maxEvidence } = options;
  const maxBodyBytes = Math.max(MESSAGE_BYTES, maxEvidence * BYTES_PER_CHARACTER);
  const times = { drain: DRAIN_MS };
  if (at !== undefined && watching !== undefined) {
    const { serveListening } = await import("./listen.js");
    return serveListening(options, { at, served, watching, quotas, page, maxBodyBytes, log, times });
  }
  const [one] = http === undefined ? [] : served.flatMap(({ http }) => http ?? []);
  if (http === undefined || one === undefined) {
    const client = { telemetry: logCalls(log, { actor: owner?.name }) };
    return connect(served, client, maxBodyBytes, terminal, log);
  }
  const { serveHttp } = await import("./http-server.js");
  return serveHttp(one, http, log, times, maxBodyBytes);
}

function connect(
  served: readonly Served[],
  client: Client,
  maxMessageBytes: number,
  { stdin, stdout }: Terminal,
  log: Logger,
): Serving {
  let registrations: (Registration | undefined)[] = [];
  const dispose = () => {
    for (const registration of registrations.splice(0)) registration?.dispose();
  };
  // Of protocol 2026-07-28, whose subscriptions the SDK keeps: it passes on what is sent for these.
  let subscribed: readonly string[] = [];
  const subscribe = (uri: string) => {
    for (const registration of registrations) {
      registration?.subscribe?.(uri).catch((err: unknown) => log.debug({ err, uri }, "subscription"));
    }
  };
  const factory = () => {
    // The SDK made the previous server to answer a probe, and no longer uses it.
    dispose();
    const server = new McpServer({ name: "phasegate", version: packageVersion() }, aboutServer(served));
    registrations = served.map((product) => product.register(server, client));
    for (const uri of subscribed) subscribe(uri);
    return server;
  };
  const connection = serveOverStdio(factory, {
    input: stdin,
    output: stdout,
    maxMessageBytes,
    drainMs: DRAIN_MS,
    onError: (err) => log.warn({ err }, "connection"),
    onSubscribe: (uris) => {
      for (const uri of subscribed) {
        if (!uris.includes(uri)) for (const registration of registrations) registration?.unsubscribe?.(uri);
      }
      // Those that are there already, too: an earlier try may have failed.
      for (const uri of uris) subscribe(uri);
      subscribed = uris;
    },
  });
  const ended = connection.ended.finally(() => dispose());
  return { ended, close: () => connection.close() };
}
