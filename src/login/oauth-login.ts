/**
 * A login with access tokens of an OAuth 2.1 provider, for which the server is a resource server as MCP's authorization
 * asks: JWTs for this resource alone, checked by jose. The provider's keys are found through its metadata, kept for ten
 * minutes, and fetched again when a token names an unknown one. Anybody can send such tokens, so the provider is asked once
 * in 30 s at most, whatever it answers.
 */
import {
  type AuthMetadataOptions,
  getOAuthProtectedResourceMetadataUrl,
  oauthMetadataResponse,
} from "@modelcontextprotocol/server";
import type { FetchImplementation, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose";
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { type Actor, isOwnerName, type Role } from "../ports/actor.js";
import type { Login } from "../ports/login.js";
import { type OptionalPackage, requireExports, unusablePackage } from "../ports/optional-package.js";
import { authenticateBearer, isSecureUrl, noScope, noToken, type TokenOwner } from "./request.js";

/** Options of {@link createOAuthLogin}. */
export interface OAuthLoginOptions {
  /** The provider, exactly as its tokens name it in `iss`: `https://login.example.com/`. */
  readonly issuer: string;
  /** The URL of this server, as clients are given it. Only tokens with it in `aud` count. */
  readonly resource: string;
  /** The address of the provider's keys. Default: the `jwks_uri` in the metadata that the issuer publishes. */
  readonly jwksUrl?: string;
  /**
   * The roles that scopes give. Default: `phasegate:agent`, `phasegate:viewer`, `phasegate:approver` and
   * `phasegate:operator`. Clients are told to ask for those that give the role `agent`; if none does, for all.
   */
  readonly scopes?: Readonly<Record<string, Role>>;
  /** The claim that identifies the actor, a text that users can't change. Default: `sub`. */
  readonly actorName?: string;
  /** Signature algorithms that count, all of them asymmetric. Default: those with RSA from 2048 bits, EC and Ed25519. */
  readonly algorithms?: readonly string[];
  /** Called when the provider can't be asked for its metadata or keys, which is then not tried again for 30 s. */
  readonly onError?: (error: unknown) => void;
}

const SCOPES: Readonly<Record<string, Role>> = {
  "phasegate:agent": "agent",
  "phasegate:viewer": "viewer",
  "phasegate:approver": "approver",
  "phasegate:operator": "operator",
};

/** With a shared secret, everybody who checks a token could write one; and a public key could be taken for the secret. */
const ASYMMETRIC = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

/** The provider is not asked again for so long, in seconds, after keys or an error. */
const COOLDOWN_SECONDS = 30;

/** How far the provider's clock may be off, in seconds. */
const CLOCK_TOLERANCE = 30;

/** The types of access tokens. Others, such as `logout+jwt`, are for something else. */
const TYPES: readonly unknown[] = [undefined, "at+jwt", "application/at+jwt", "jwt"];

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/**
 * Creates a login for the access tokens of a provider. Needs the optional peer `jose`, which the first token loads. The
 * name of its actors is the issuer, `#`, and the claim: `https://login.example.com/#248289761001`.
 *
 * While the provider's keys are needed and can't be had, requests with a JWT are answered with 503.
 *
 * @throws {PhasegateError} `INVALID_INPUT` for an address without TLS that does not lead to this machine, for an algorithm
 * that is not asymmetric, and for no scopes.
 */
export function createOAuthLogin(options: OAuthLoginOptions): Login {
  const { issuer, scopes = SCOPES, actorName = "sub", algorithms = ASYMMETRIC, onError } = options;
  const [issuerUrl, resource] = [checkedUrl("issuer", issuer), checkedUrl("resource", options.resource)];
  const jwksUrl = options.jwksUrl === undefined ? undefined : checkedUrl("jwksUrl", options.jwksUrl);
  if (algorithms.length === 0 || !algorithms.every((name) => ASYMMETRIC.includes(name))) {
    throw invalid("algorithms", `one or more of ${ASYMMETRIC.join(", ")}`);
  }
  if (Object.keys(scopes).length === 0) throw invalid("scopes", "at least one scope and its role");

  const expected: JWTVerifyOptions = {
    issuer,
    // Clients and providers differ in whether an address without a path ends with a slash.
    audience: [resource.href, resource.href.replace(/[/]$/, "")],
    algorithms: [...algorithms],
    clockTolerance: CLOCK_TOLERANCE,
    requiredClaims: ["exp"],
  };
  const keys = providerKeys(issuerUrl, jwksUrl, issuer);
  const documents = documentsFor(issuer, resource, Object.keys(scopes));
  const challenge = {
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
    requiredScopes: scopesToAskFor(scopes),
  };
  const verify = async (token: string): Promise<TokenOwner> => {
    const payload = await payloadOf(token, keys, expected);
    const name = payload[actorName];
    const actor = `${issuer}#${typeof name === "string" ? name : ""}`;
    if (typeof name !== "string" || name === "" || !isOwnerName(actor)) {
      throw noToken(`The token has no usable claim ${actorName}`);
    }
    const roles = rolesOf(payload, scopes);
    if (roles.length === 0) throw noScope("The token has no scope for this server");
    return { actor: { name: actor, roles }, expiresAt: (payload.exp ?? 0) + CLOCK_TOLERANCE };
  };

  return {
    async authenticate(request): Promise<Actor | Response> {
      try {
        return await authenticateBearer(request, verify, challenge);
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        if (!error.isRepeated) onError?.(error);
        const error_description = "The keys of the login's provider can't be had";
        const headers = { "retry-after": String(COOLDOWN_SECONDS) };
        return Response.json({ error: "temporarily_unavailable", error_description }, { status: 503, headers });
      }
    },
    metadata(request) {
      const { pathname } = new URL(request.url);
      if (pathname !== WELL_KNOWN && !pathname.startsWith(`${WELL_KNOWN}/`)) return undefined;
      // Clients may ask at the root, too, if the resource has a path.
      const asked = pathname === WELL_KNOWN ? new Request(challenge.resourceMetadataUrl, request) : request;
      return oauthMetadataResponse(asked, documents);
    },
  };
}

/** Returns the claims of a token that is signed by the provider, for this server, now. */
async function payloadOf(token: string, keys: JWTVerifyGetKey, expected: JWTVerifyOptions): Promise<JWTPayload> {
  // A text that is no JWT is refused before anything is loaded or asked for.
  if (!/^[\w-]+[.][\w-]+[.][\w-]+$/.test(token)) throw noToken("The token is not valid");
  const { errors, jwtVerify } = await loadJose();
  const { payload, protectedHeader } = await jwtVerify(token, keys, expected).catch((error: unknown) => {
    if (error instanceof errors.JWTExpired) throw noToken("The token has expired");
    if (error instanceof errors.JOSEError) throw noToken("The token is not valid");
    throw error;
  });
  if (!TYPES.includes(protectedHeader.typ?.toLowerCase())) throw noToken("The token is no access token");
  // A finder of the token could send it, too: a client with the key proves that with each request, by other means.
  if (payload.cnf !== undefined) throw noToken("The token is bound to a key, which can't be checked here");
  return payload;
}

/** Returns the roles of a token's scopes. Some providers have them in `scp`, or in a list. */
function rolesOf({ scope, scp }: JWTPayload, scopes: Readonly<Record<string, Role>>): Role[] {
  const granted = [scope, scp].flat().flatMap((text) => (typeof text === "string" ? text.split(" ") : []));
  return Object.entries(scopes).flatMap(([name, role]) => (granted.includes(name) ? [role] : []));
}

/** Returns the scopes that clients are told to ask for: no more than an agent needs. */
function scopesToAskFor(scopes: Readonly<Record<string, Role>>): string[] {
  const names = Object.keys(scopes);
  const ofAgents = names.filter((name) => scopes[name] === "agent");
  return ofAgents.length === 0 ? names : ofAgents;
}

function documentsFor(issuer: string, resource: URL, scopes: string[]): AuthMetadataOptions {
  // Of the provider, the document names the issuer alone. Clients get the rest from the provider itself.
  const endpoints = { authorization_endpoint: issuer, token_endpoint: issuer, response_types_supported: ["code"] };
  return { oauthMetadata: { issuer, ...endpoints }, resourceServerUrl: resource, scopesSupported: scopes };
}

function checkedUrl(field: string, value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url !== undefined && isSecureUrl(url) && url.search === "" && url.hash === "" && url.username === "") return url;
  throw invalid(field, "an https: address without ? and #; http: for 127.0.0.1 and localhost");
}

function invalid(field: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `the OAuth login's ${field} must be ${expected}`, {
    remedy: "Correct the options of createOAuthLogin.",
    details: { field, expected },
  });
}

const TIMEOUT = 5000;

/** The provider can't be asked, or its answer can't be used. */
class ProviderError extends Error {
  override readonly name = "ProviderError";
  /** True for the same failure once more: nothing was asked. */
  readonly isRepeated: boolean;

  constructor(message: string, cause: unknown, isRepeated = false) {
    super(message, { cause });
    this.isRepeated = isRepeated;
  }
}

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.string() });
const keysSchema = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** Returns what finds the key of a token. It throws a {@link ProviderError} when the keys can't be had. */
function providerKeys(issuerUrl: URL, jwksUrl: URL | undefined, issuer: string): JWTVerifyGetKey {
  const findKeys = sparing(() => keysUrlOf(issuerUrl, issuer));
  const fetchKeys = sparing((url: string, init: RequestInit) => fetchJson(url, keysSchema, init));
  const asResponse: FetchImplementation = async (url, init) => Response.json(await fetchKeys(url, init));
  let opening: Promise<JWTVerifyGetKey> | undefined;
  const open = async (): Promise<JWTVerifyGetKey> => {
    const { createRemoteJWKSet, customFetch } = await loadJose();
    return createRemoteJWKSet(jwksUrl ?? (await findKeys()), {
      cooldownDuration: COOLDOWN_SECONDS * 1000,
      timeoutDuration: TIMEOUT,
      [customFetch]: asResponse,
    });
  };
  return async (header, token) => {
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    const keys = await opening;
    return keys(header, token);
  };
}

const JOSE: OptionalPackage = { name: "jose", versions: "6.0.8 or later", users: "logins by OAuth" };

/** Throws `INTERNAL` if the package can't be used. */
async function loadJose(): Promise<typeof import("jose")> {
  try {
    const jose = await import("jose");
    requireExports(jose, ["createRemoteJWKSet", "customFetch", "jwtVerify", "errors"]);
    return jose;
  } catch (error) {
    throw unusablePackage(JOSE, error);
  }
}

/** Returns the `jwks_uri` of an issuer (RFC 8414, OpenID Connect Discovery). */
async function keysUrlOf({ origin, pathname }: URL, issuer: string): Promise<URL> {
  const path = pathname.replace(/[/]$/, "");
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  const failures: unknown[] = [];
  for (const place of new Set(places)) {
    try {
      const found = await fetchJson(place, metadataSchema, {
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT),
      });
      // Another issuer's keys would let another issuer's users in.
      if (found.issuer !== issuer) throw new Error(`${place} is the metadata of another issuer`);
      if (URL.canParse(found.jwks_uri) && isSecureUrl(new URL(found.jwks_uri))) return new URL(found.jwks_uri);
      throw new Error(`${place} has a jwks_uri without TLS`);
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `no metadata of ${issuer} was found at ${[...new Set(places)].join(", ")}`);
}

async function fetchJson<T>(url: string, schema: z.ZodType<T>, init: RequestInit): Promise<T> {
  const response = await fetch(url, init);
  if (response.status !== 200) throw new Error(`${url} answers ${response.status}`);
  return schema.parse(await response.json());
}

/** Returns a step that fails at once, without a try, for 30 s after it has failed. */
function sparing<A extends unknown[], T>(step: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  let failed: { readonly at: number; readonly message: string; readonly error: unknown } | undefined;
  return async (...args) => {
    if (failed !== undefined && Date.now() - failed.at < COOLDOWN_SECONDS * 1000) {
      throw new ProviderError(failed.message, failed.error, true);
    }
    try {
      const done = await step(...args);
      failed = undefined;
      return done;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      failed = { at: Date.now(), message, error };
      throw new ProviderError(message, error);
    }
  };
}
