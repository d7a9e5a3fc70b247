/**
 * Serves MCP over HTTP, for `serve --listen`: who may call, what they get, what is logged, and how it ends. This file is
 * loaded by `import()`: on stdio, Node's HTTP is not needed.
 */
import { localhostAllowedHostnames } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { createHostCheck } from "../login/host-check.js";
import { firstOf } from "../login/login.js";
import { createOAuthLogin } from "../login/oauth-login.js";
import { createQuotas, quotaResponse } from "../login/quotas.js";
import { createTokenLogin } from "../login/token-login.js";
import { createMcpHttpHandler } from "../mcp/http.js";
import type { HttpCall } from "../mcp/http-request.js";
import type { Login } from "../ports/login.js";
import { packageVersion } from "./exit-codes.js";
import { type HttpTimes, listen } from "./http-server.js";
import type { Address, ListenOptions } from "./listen-options.js";
import type { Served } from "./products.js";
import { TokensFile } from "./tokens-file.js";

/** Maximum number of sockets: a client has an event stream and one or two more. Node allows itself as many files. */
const MAX_CONNECTIONS = 4096;

/** What is served, and how. */
interface Listening {
  readonly at: Address;
  readonly served: readonly Served[];
  readonly maxBodyBytes: number;
  readonly log: Logger;
  readonly times: HttpTimes;
}

/** Serves MCP over HTTP. Rejects if the port is not available, or the login can't work. */
export async function serveListening(options: ListenOptions, { at, served, maxBodyBytes, log, times }: Listening) {
  const { hostName = [], allowOrigin = [], grace = 0, quota = {} } = options;
  const login = loginOf(options, log);
  const hosts = [...localhostAllowedHostnames(), ...hostName];
  const check = createHostCheck({ hosts, origins: [...hosts, ...allowOrigin] });
  const quotas = createQuotas(quota);
  const handler = createMcpHttpHandler({
    register: (server, { actor }) =>
      served.map((product) => product.register(server, login === undefined ? undefined : actor)),
    ...(login && { login }),
    quota: (actor, bytes) => {
      const answer = quotas.call(actor, bytes);
      return answer.ok ? undefined : quotaResponse(answer);
    },
    serverInfo: { name: "phasegate", version: packageVersion() },
    maxBodyBytes,
    onCall: (call) => logCall(call, log),
    onError: (err) => log.warn({ err }, "http"),
  });
  const answer = async (request: Request) => check(request) ?? (await handler.fetch(request));
  const where = { host: at.host, maxConnections: MAX_CONNECTIONS };
  const serving = await listen(answer, "--listen", at.port, log, { ...times, drain: grace + times.drain }, where);
  return {
    url: serving.url,
    ended: serving.ended,
    close: () => {
      // New calls are refused, and those under way get their time; the connections end with their answers.
      handler
        .close(grace)
        .catch((err: unknown) => log.warn({ err }, "http"))
        .finally(() => serving.close());
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

function logCall({ actor, sessionId, requestId, milliseconds, ...call }: HttpCall, log: Logger): void {
  log.info({ actor, session: sessionId, ...call, requestId, durationMs: Math.round(milliseconds) }, "call");
}
