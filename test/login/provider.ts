/** oidc-provider on loopback: a real provider, with one user who says yes to everything, and the browser of that user. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK } from "jose";
import { Provider } from "oidc-provider";
import { onTestFinished, vi } from "vitest";
import { aKey } from "./issuer.js";

const SCOPES = ["phasegate:agent", "phasegate:viewer", "phasegate:approver", "phasegate:operator"];

/** Listens on loopback until the test ends. Returns the address. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A provider that signs access tokens for one resource. */
export interface RunningProvider {
  readonly issuer: string;
  /** The requests that it got: method and path. */
  readonly asked: readonly string[];
  /** The parameters of the requests for authorization. */
  readonly authorizations: readonly URLSearchParams[];
}

/** Starts a provider whose user is ann. */
export async function startProvider(resource: string): Promise<RunningProvider> {
  // It says that its store is in memory, and its keys for cookies are its own.
  for (const channel of ["info", "warn"] as const) vi.spyOn(console, channel).mockImplementation(() => {});
  const asked: string[] = [];
  const authorizations: URLSearchParams[] = [];
  let answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  const issuer = await listen((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
    asked.push(`${request.method} ${pathname}`);
    if (pathname === "/auth") authorizations.push(searchParams);
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  const { privateKey, jwk } = await aKey("provider-1");
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...jwk, ...(await exportJWK(privateKey)) }] },
    scopes: ["openid", "offline_access", ...SCOPES],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    pkce: { required: () => true },
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, asked: string) => {
          if (asked !== resource) throw new Error(`no such resource: ${asked}`);
          return {
            scope: SCOPES.join(" "),
            audience: asked,
            accessTokenFormat: "jwt",
            jwt: { sign: { alg: "ES256" } },
          };
        },
      },
    },
  });
  const handle = provider.callback();
  answer = (request, response) =>
    request.url?.startsWith("/interaction/") ? sayYes(provider, request, response) : handle(request, response);
  return { issuer, asked, authorizations };
}

/** Logs ann in, and grants what is asked for. */
async function sayYes(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  const finish = (result: object) =>
    provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  if (prompt.name === "login") return finish({ login: { accountId: "ann" } });
  const grant = new provider.Grant({ accountId: session?.accountId ?? "", clientId: params.client_id });
  grant.addOIDCScope((prompt.details.missingOIDCScope ?? []).join(" "));
  for (const [resource, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(" "));
  }
  return finish({ consent: { grantId: await grant.save() } });
}

/** Follows redirects with cookies, as a browser does, until one leads to `end`. Returns its parameters. */
export async function browse(start: URL, end: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>();
  for (let url = start, steps = 0; steps < 10; steps += 1) {
    if (url.href.startsWith(end)) return url.searchParams;
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const text of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    const next = response.headers.get("location");
    if (next === null) throw new Error(`${url} answers ${response.status}: ${await response.text()}`);
    url = new URL(next, url);
  }
  throw new Error("too many redirects");
}
