/** A provider's metadata and keys on loopback, with tokens that it signs and counts of what it is asked. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from "jose";
import { onTestFinished } from "vitest";

/** The server that tokens are for. */
export const RESOURCE = "https://gates.example.com/mcp";

/** Claims of a token; those that are undefined are left out. */
export type Claims = Readonly<Record<string, unknown>>;

export interface SigningKey {
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function aKey(kid: string, alg = "ES256"): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

export class Issuer {
  /** The keys that it publishes. */
  published: readonly JWK[] = [];
  /** Answers with this status in place of keys and metadata. */
  failing: number | undefined;
  /** The body of its keys, if it is something else. */
  body: string | undefined;
  /** The paths that it was asked for, in order. */
  readonly asked: string[] = [];
  /** Metadata by their paths. */
  readonly documents = new Map<string, () => unknown>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts one, with one key and with its metadata at `path`; it ends with the test. */
  static async start(path = "/.well-known/oauth-authorization-server"): Promise<{ issuer: Issuer; key: SigningKey }> {
    const server = createServer((request, response) => {
      const { url = "/" } = request;
      issuer.asked.push(url);
      const document = issuer.documents.get(url);
      const status = issuer.failing ?? (document === undefined ? 404 : 200);
      response.writeHead(status, { "content-type": "application/json" });
      response.end(url === "/keys" && issuer.body !== undefined ? issuer.body : JSON.stringify(document?.() ?? {}));
    });
    const issuer = new Issuer(server);
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    issuer.documents.set("/keys", () => ({ keys: issuer.published }));
    issuer.documents.set(path, () => ({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }));
    const key = await aKey("one");
    issuer.published = [key.jwk];
    return { issuer, key };
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** Returns how often its keys were asked for. */
  get fetches(): number {
    return this.asked.filter((path) => path === "/keys").length;
  }

  /** Signs a token for an agent named ann that counts for a minute, with other claims and headers if given. */
  token(key: SigningKey, claims: Claims = {}, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const standard = { iss: this.url, sub: "ann", aud: RESOURCE, exp: now + 60, scope: "phasegate:agent" };
    return new SignJWT({ ...standard, ...claims })
      .setProtectedHeader({ alg: key.jwk.alg ?? "ES256", kid: key.jwk.kid ?? "", typ: "at+jwt", ...header })
      .sign(key.privateKey);
  }
}

/** A request with these `Authorization` headers. */
export function request(...authorization: string[]): Request {
  const headers = new Headers();
  for (const value of authorization) headers.append("authorization", value);
  return new Request(RESOURCE, { method: "POST", headers });
}

export function bearer(token: string): Request {
  return request(`Bearer ${token}`);
}

/** Returns the status of a refusal and its challenge; throws if somebody was let in. */
export function refusal(found: unknown): { readonly status: number; readonly challenge: string } {
  if (!(found instanceof Response)) throw new Error(`let in: ${JSON.stringify(found)}`);
  return { status: found.status, challenge: found.headers.get("www-authenticate") ?? "" };
}
