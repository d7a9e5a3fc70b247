/**
 * The keys that a provider signs with: found through its metadata, kept for ten minutes, and fetched again when a token
 * names an unknown one. Anybody can send such tokens, so the provider is asked once in 30 s at most, whatever it answers.
 */
import type { FetchImplementation, JWTVerifyGetKey } from "jose";
import * as z from "zod";
import { PhasegateError } from "../errors.js";

/** The provider is not asked again for so long, in seconds, after keys or an error. */
export const COOLDOWN_SECONDS = 30;
const TIMEOUT = 5000;

/** The provider can't be asked, or its answer can't be used. */
export class ProviderError extends Error {
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
export function providerKeys(issuerUrl: URL, jwksUrl: URL | undefined, issuer: string): JWTVerifyGetKey {
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

/** Returns true for an address that nobody on the way can change what it answers. */
export function isSecureUrl({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && (hostname === "127.0.0.1" || hostname === "localhost"));
}

/** Loads the package, an optional peer. Throws `INTERNAL` if it is not installed. */
export async function loadJose(): Promise<typeof import("jose")> {
  try {
    return await import("jose");
  } catch (error) {
    throw new PhasegateError("INTERNAL", "logins by OAuth need jose, which can't be loaded", {
      remedy: "Install it next to phasegate: npm install jose@6",
      details: { cause: "jose" },
      cause: error,
    });
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
