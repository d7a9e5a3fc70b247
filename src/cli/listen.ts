/**
 * Serves MCP over HTTP, for `serve --listen`: who may call, what they get, what is logged, and how it ends. This file is
 * loaded by `import()`: on stdio, Node's HTTP is not needed.
 */
import { localhostAllowedHostnames } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { isPhasegateError } from "../errors.js";
import { createHealth, type Health } from "../http/health.js";
import type { Inspector } from "../inspector/inspector.js";
import { HOST_ACTIONS } from "../inspector/requests.js";
import { createTokenLogin, firstOf } from "../login/login.js";
import { createOAuthLogin } from "../login/oauth-login.js";
import { type Quotas, quotaResponse } from "../login/quotas.js";
import { createHostCheck } from "../login/request.js";
import { createMcpHttpHandler } from "../mcp/http.js";
import type { PrometheusMetrics } from "../otel/prometheus.js";
import { byOwner } from "../ports/actor.js";
import { isResponse, type Login } from "../ports/login.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import type { Telemetry } from "../ports/telemetry.js";
import { packageVersion } from "./exit-codes.js";
import { type HttpTimes, listen } from "./http-server.js";
import type { Page } from "./inspect.js";
import { logCalls } from "./log.js";
import { aboutServer, type Served, type ServeOptions } from "./products.js";
import type { Address, ListenOptions } from "./serve-options.js";
import { TokensFile } from "./tokens.js";

export interface Watching {
  /** For the engines; missing if OpenTelemetry is not installed. */
  readonly telemetry?: Telemetry;
  readonly health: Health;
  calls(actor?: string): Pick<Telemetry, "measure">;
  close(): Promise<void>;
}

/** Without the packages for metrics, `/metrics` is not answered, and the log says so. */
export async function openWatching(storage: StorageAdapter | undefined, log: Logger): Promise<Watching> {
  let metrics: PrometheusMetrics | undefined;
  let telemetry: Telemetry | undefined;
  try {
    // Optional peers, which a server does without.
    metrics = await (await import("../otel/prometheus.js")).createPrometheusMetrics();
    const { createTelemetry } = await import("../otel/telemetry.js");
    telemetry = createTelemetry({ meterProvider: metrics.meterProvider });
  } catch (err) {
    if (!isPhasegateError(err, "UNSUPPORTED")) throw err;
    log.warn({ err }, "no metrics");
  }
  return {
    telemetry,
    health: createHealth({ storage, metrics: metrics?.text, onError: (err) => log.error({ err }, "health") }),
    calls: (actor) => logCalls(log, { actor, next: telemetry }),
    close: async () => metrics?.close(),
  };
}

/** Maximum number of sockets: a client has an event stream and one or two more. Node allows itself as many files. */
const MAX_CONNECTIONS = 4096;

type ListeningOptions = Pick<ServeOptions, keyof ListenOptions | "workflows" | "routed">;

interface Listening {
  readonly at: Address;
  readonly served: readonly Served[];
  readonly watching: Watching;
  readonly quotas: Quotas;
  /** What the page for people shows; missing without a storage. */
  readonly page: Page | undefined;
  readonly maxBodyBytes: number;
  readonly log: Logger;
  readonly times: HttpTimes;
}

/** Rejects if the port is not available, or the login can't work. */
export async function serveListening(
  options: ListeningOptions,
  { at, served, watching, quotas, page, maxBodyBytes, log, times }: Listening,
) {
  const { hostName = [], allowOrigin = [], grace = 0, stateless = false } = options;
  const login = loginOf(options, log);
  const hosts = [...localhostAllowedHostnames(), ...hostName];
  const check = createHostCheck({ hosts, origins: [...hosts, ...allowOrigin] });
  const handler = createMcpHttpHandler({
    register: (server, { actor, ...connected }) => {
      const client = { telemetry: watching.calls(actor.name), ...connected, ...(login && { actor }) };
      return served.map((product) => product.register(server, client));
    },
    ...(login && { login }),
    stateful: !stateless,
    quota: (actor, bytes) => {
      const answer = quotas.call(actor, bytes);
      return answer.ok ? undefined : quotaResponse(answer);
    },
    onAnswer: (actor, bytes) => quotas.addBytes(actor, bytes),
    serverInfo: { name: "phasegate", version: packageVersion() },
    serverOptions: aboutServer(served),
    maxBodyBytes,
    // Calls of tools have a line each, once their session and their outcome are known: `watching.calls`.
    onCall: ({ milliseconds, ...call }) => log.debug({ ...call, durationMs: Math.round(milliseconds) }, "request"),
    onError: (err) => log.warn({ err }, "http"),
  });
  const { health } = watching;
  let inspector: Inspector | undefined;
  if (login && page && options.inspector === true) {
    const { framesIn, inspectorOver } = await import("./inspect.js");
    // The roles of each decide what they may do.
    const shown = { ...page, codeFrame: framesIn(options), actions: HOST_ACTIONS };
    inspector = inspectorOver(shown, { access: { login: countedLogin(login, quotas) }, basePath: INSPECTOR, hosts });
  }
  const answer = async (request: Request) => {
    const { pathname } = new URL(request.url);
    const isMetrics = pathname === "/metrics";
    // An orchestrator knows neither the server's names nor a token. These answers are the same for everybody.
    const probed = isMetrics ? undefined : await health.handle(request);
    if (probed !== undefined) return probed;
    const refused = check(request) ?? (isMetrics && login ? await refusedMetrics(login, request) : undefined);
    if (refused !== undefined) return refused;
    const isInspector = pathname === INSPECTOR || pathname.startsWith(`${INSPECTOR}/`);
    if (inspector !== undefined && isInspector) return inspector.fetch(request);
    return (isMetrics ? await health.handle(request) : undefined) ?? handler.fetch(request);
  };
  const where = { host: at.host, maxConnections: MAX_CONNECTIONS };
  const serving = await listen(answer, "--listen", at.port, log, times, where);
  return {
    url: serving.url,
    ended: serving.ended,
    close: () => {
      health.drain();
      inspector?.close();
      log.info(handler.load(), "draining");
      // New calls are refused, and those under way get their time. Then answers are sent, and connections end with these.
      handler
        .close(grace)
        .catch((err: unknown) => log.warn({ err }, "http"))
        .finally(() => serving.close());
    },
  };
}

const INSPECTOR = "/inspector";

/** A login for the inspector, each of whose requests is a call. */
function countedLogin(login: Login, quotas: Quotas): Login {
  return {
    async authenticate(request) {
      const actor = await login.authenticate(request);
      if (isResponse(actor)) return actor;
      const answer = quotas.call(actor.name);
      return answer.ok ? actor : quotaResponse(answer);
    },
  };
}

function loginOf({ tokens, oauthIssuer, oauthResource }: ListenOptions, log: Logger): Login | undefined {
  const logins: Login[] = [];
  if (tokens !== undefined) {
    const file = new TokensFile(tokens);
    const read = () => file.current((err) => log.error({ err }, "tokens"));
    // A file that can't be read is reported at the start.
    read();
    logins.push(createTokenLogin({ read }));
  }
  if (oauthIssuer !== undefined && oauthResource !== undefined) {
    const onError = (err: unknown) => log.error({ err }, "oauth");
    logins.push(createOAuthLogin({ issuer: oauthIssuer, resource: oauthResource, onError }));
  }
  const [first, ...others] = logins;
  return first && firstOf(first, ...others);
}

/** Metrics are about all sessions: only an actor who may see these gets them. */
async function refusedMetrics(login: Login, request: Request): Promise<Response | undefined> {
  const actor = await login.authenticate(request);
  if (isResponse(actor)) return actor;
  if (byOwner({ actor, action: "see", operation: "metrics" })) return undefined;
  const message = "Metrics are for viewers, approvers and operators.";
  return Response.json({ error: { code: "NOT_ALLOWED", message } }, { status: 403 });
}
