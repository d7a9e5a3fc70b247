import { createHash } from "node:crypto";
import { base64url, exportSPKI, importJWK, SignJWT } from "jose";
import { createOAuthLogin, createToken, createTokenLogin, type TokenEntry, tokensText } from "phasegate/login";
import { afterEach, describe, expect, it, vi } from "vitest";
import { aKey, bearer, type Claims, Issuer, RESOURCE, refusal, request } from "../login/issuer.js";

/** A login with the token of one agent, who gets in after each attempt. */
function withToken(change: (entry: TokenEntry) => TokenEntry = (entry) => entry) {
  const { token, entry } = createToken({ name: "ann", roles: ["agent"] });
  const honest = createToken({ name: "bob", roles: ["agent"] });
  const login = createTokenLogin({ read: () => tokensText([change(entry), honest.entry]) });
  /** Expects that a request is refused, and returns what the refusal says. */
  const refused = async (asked: Request, status = 401) => {
    const found = refusal(await login.authenticate(asked));
    expect(found.status).toBe(status);
    expect(await login.authenticate(bearer(honest.token))).toMatchObject({ name: "bob" });
    return found.challenge;
  };
  return { token, entry, honest, refused };
}

/** A login by OAuth, whose honest agent gets in after each attempt. */
async function withProvider() {
  const { issuer, key } = await Issuer.start();
  const login = createOAuthLogin({ issuer: issuer.url, resource: RESOURCE });
  const refused = async (asked: Request | string, status = 401) => {
    const found = refusal(await login.authenticate(typeof asked === "string" ? bearer(asked) : asked));
    expect(found.status).toBe(status);
    expect(await login.authenticate(bearer(await issuer.token(key)))).toMatchObject({ roles: ["agent"] });
    return found.challenge;
  };
  return { issuer, key, login, refused, claims: (change: Claims) => issuer.token(key, change) };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a login with tokens", () => {
  it("refuses guessed tokens, with a known id and without", async () => {
    const { entry, refused } = withToken();
    const guess = createToken({ name: "eve", roles: ["operator"] }).token;
    expect(await refused(bearer(guess))).toContain("The token is not valid");
    // The answer does not tell whether there is such an id.
    expect(await refused(bearer(guess.replace(/^pgt_[0-9a-f]{16}/, `pgt_${entry.id}`)))).toContain(
      "The token is not valid",
    );
  });

  it("refuses a truncated token, a longer one, other letters, and its hash", async () => {
    const { token, entry, refused } = withToken();
    for (const wrong of [
      ...[token.slice(0, -1), `${token}A`, token.slice(4), token.toUpperCase(), `${token}=`, token.slice(0, 21)],
      ...[entry.hash, `pgt_${entry.id}_${entry.hash}`, `pgt_${entry.id}_`, `pgt__${token.slice(21)}`, "undefined", "%"],
    ]) {
      await refused(bearer(wrong));
    }
  });

  it("refuses a token whose entry got another salt", async () => {
    const { token, refused } = withToken((entry) => ({ ...entry, salt: "0".repeat(32) }));
    await refused(bearer(token));
  });

  it("refuses a revoked token, and says so only to who has it", async () => {
    const { token, refused } = withToken((entry) => ({ ...entry, revoked: entry.created }));
    expect(await refused(bearer(token))).toContain("revoked");
    expect(await refused(bearer(`${token.slice(0, 21)}${"A".repeat(43)}`))).not.toContain("revoked");
  });

  it("refuses an expired token, and says so only to who has it", async () => {
    const { token, refused } = withToken((entry) => ({ ...entry, expires: new Date(Date.now() - 1).toISOString() }));
    expect(await refused(bearer(token))).toContain("expired");
    expect(await refused(bearer(`${token.slice(0, 21)}${"A".repeat(43)}`))).not.toContain("expired");
  });

  it("refuses a header with two tokens, a header twice, and other schemes", async () => {
    const { token, honest, refused } = withToken((entry) => ({ ...entry, revoked: entry.created }));
    await refused(request(`Bearer ${honest.token}`, `Bearer ${token}`));
    await refused(request(`Bearer ${token}`, `Bearer ${honest.token}`));
    await refused(request(`Bearer ${honest.token},${token}`));
    await refused(request(`Basic ${btoa(`ann:${honest.token}`)}`));
    await refused(request(honest.token));
  });

  it("refuses a huge token before it is hashed", async () => {
    const { honest, refused } = withToken();
    expect(await refused(bearer("A".repeat(1_000_000)))).toContain("too long");
    expect(await refused(request(`Bearer ${honest.token} ${" ".repeat(20_000)}x`))).toContain("too long");
  });

  it("refuses a token in the address, even with a good header", async () => {
    const { honest, refused } = withToken();
    const headers = { authorization: `Bearer ${honest.token}` };
    for (const query of [`access_token=${honest.token}`, "access_token=x", `key=${honest.token}`]) {
      await refused(new Request(`${RESOURCE}?${query}`), 400);
      await refused(new Request(`${RESOURCE}?${query}`, { headers }), 400);
    }
  });

  it("gives nothing to who has read the file", async () => {
    const { token, entry } = withToken();
    const text = tokensText([entry]);
    expect(text).not.toContain(token.slice(21));
    // Known texts don't give themselves away: the digest is salted.
    expect(entry.hash).not.toBe(createHash("sha256").update(token).digest("hex"));
    expect(entry.hash).toBe(createHash("sha256").update(`${entry.salt}${token}`).digest("hex"));
  });
});

describe("a login by OAuth", () => {
  it("refuses a token without a signature", async () => {
    const { issuer, key, refused } = await withProvider();
    const [, payload = ""] = (await issuer.token(key)).split(".");
    for (const alg of ["none", "None", "NONE", ""]) {
      const header = base64url.encode(JSON.stringify({ alg, typ: "at+jwt", kid: "one" }));
      await refused(`${header}.${payload}.`);
      await refused(`${header}.${payload}.AAAA`);
    }
  });

  it("refuses a signature by HMAC with the public key as the secret", async () => {
    const { issuer, key, refused } = await withProvider();
    const rsa = await aKey("rsa", "RS256");
    issuer.published = [key.jwk, rsa.jwk];
    for (const { jwk } of [key, rsa]) {
      const publicKey = await importJWK(jwk, jwk.alg, { extractable: true });
      if (publicKey instanceof Uint8Array) throw new Error("a secret");
      const claims = { iss: issuer.url, sub: "ann", aud: RESOURCE, scope: "phasegate:operator" };
      for (const secret of [await exportSPKI(publicKey), JSON.stringify(jwk)]) {
        const token = await new SignJWT(claims)
          .setProtectedHeader({ alg: "HS256", kid: jwk.kid ?? "", typ: "at+jwt" })
          .setExpirationTime("1m")
          .sign(new TextEncoder().encode(secret));
        await refused(token);
      }
    }
  });

  it("refuses a token that is signed with a key in its own header", async () => {
    const { issuer, refused } = await withProvider();
    const own = await aKey("own");
    await refused(await issuer.token(own, {}, { jwk: own.jwk }));
    await refused(await issuer.token(own, {}, { jku: "https://evil.example/keys" }));
    await refused(await issuer.token(own, {}, { kid: "one", jwk: own.jwk }));
  });

  it("refuses a token with changed claims", async () => {
    const { issuer, key, refused } = await withProvider();
    const [header, payload = "", signature] = (await issuer.token(key)).split(".");
    const claims = { ...JSON.parse(new TextDecoder().decode(base64url.decode(payload))), scope: "phasegate:operator" };
    await refused(`${header}.${base64url.encode(JSON.stringify(claims))}.${signature}`);
  });

  it("refuses a token for another server", async () => {
    const { claims, refused } = await withProvider();
    for (const aud of [
      ...["https://other.example.com/mcp", "https://gates.example.com", `${RESOURCE}/`, `${RESOURCE}.evil`, ""],
      ...[[], ["https://other.example.com"], undefined],
    ]) {
      await refused(await claims({ aud }));
    }
  });

  it("refuses a token of another issuer, even if it is signed with the same key", async () => {
    const { claims, issuer, refused } = await withProvider();
    for (const iss of ["https://login.example.com", `${issuer.url}/`, "", undefined])
      await refused(await claims({ iss }));
  });

  it("refuses a token that has expired, that never does, and one of tomorrow", async () => {
    const { claims, refused } = await withProvider();
    const now = Math.floor(Date.now() / 1000);
    expect(await refused(await claims({ exp: now - 60 }))).toContain("The token has expired");
    expect(await refused(await claims({ exp: undefined }))).toContain("The token is not valid");
    await refused(await claims({ nbf: now + 86_400 }));
  });

  it("refuses a key that the provider has taken away", async () => {
    const { issuer, key, login, claims } = await withProvider();
    vi.useFakeTimers({ toFake: ["Date"] });
    expect(await login.authenticate(bearer(await claims({})))).toMatchObject({ roles: ["agent"] });
    const next = await aKey("two");
    issuer.published = [next.jwk];
    vi.setSystemTime(Date.now() + 601_000);
    expect(refusal(await login.authenticate(bearer(await issuer.token(key)))).status).toBe(401);
    expect(await login.authenticate(bearer(await issuer.token(next)))).toMatchObject({ roles: ["agent"] });
  });

  it("asks the provider once for a flood of tokens with unknown keys", async () => {
    const { issuer, login, claims } = await withProvider();
    const stranger = await aKey("stranger");
    const flood = async (name: string) => {
      const tokens = Array.from({ length: 50 }, (_, at) => issuer.token(stranger, {}, { kid: `${name}${at}` }));
      const found = await Promise.all((await Promise.all(tokens)).map((token) => login.authenticate(bearer(token))));
      return [...new Set(found.map((one) => refusal(one).status))];
    };
    vi.useFakeTimers({ toFake: ["Date"] });
    expect(await flood("a")).toEqual([401]);
    expect(await flood("b")).toEqual([401]);
    expect(issuer.fetches).toBe(1);
    vi.setSystemTime(Date.now() + 31_000);
    expect(await flood("c")).toEqual([401]);
    expect(await flood("d")).toEqual([401]);
    expect(issuer.fetches).toBe(2);
    // While the provider is down, strangers are told to come back, and who is known gets in.
    vi.setSystemTime(Date.now() + 31_000);
    issuer.failing = 500;
    expect(await flood("e")).toEqual([503]);
    expect(await flood("f")).toEqual([503]);
    expect(issuer.fetches).toBe(3);
    expect(await login.authenticate(bearer(await claims({})))).toMatchObject({ roles: ["agent"] });
  });

  it("refuses a token without a scope for this server with 403, and names the scope", async () => {
    const { claims, refused } = await withProvider();
    for (const scope of [undefined, "", "openid profile", "phasegate", "phasegate:agents", "PHASEGATE:AGENT", 7]) {
      const challenge = await refused(await claims({ scope }), 403);
      expect(challenge).toMatch(/error="insufficient_scope".*scope="phasegate:agent"/);
    }
  });

  it("refuses tokens that are for something else: an id token, a logout token, one that is bound to a key", async () => {
    const { issuer, key, claims, refused } = await withProvider();
    await refused(await issuer.token(key, { aud: "client-1" }, { typ: "JWT" }));
    for (const typ of ["logout+jwt", "dpop+jwt", "secevent+jwt"]) await refused(await issuer.token(key, {}, { typ }));
    expect(await refused(await claims({ cnf: { jkt: "x" } }))).toContain("bound to a key");
  });

  it("does not take one user for another: of tokens, of another issuer, or by a name that contains a name", async () => {
    const [one, other] = [await withProvider(), await withProvider()];
    const nameOf = async ({ login }: typeof one, token: string) => {
      const found = await login.authenticate(bearer(token));
      return found instanceof Response ? found.status : found.name;
    };
    const names = [
      await nameOf(one, await one.claims({ sub: "ann" })),
      await nameOf(other, await other.claims({ sub: "ann" })),
      await nameOf(one, await one.claims({ sub: `${other.issuer.url}#ann` })),
    ];
    expect(new Set(names).size).toBe(3);
    expect(names).not.toContain("ann");
    for (const name of names)
      expect(() => createToken({ name: String(name), roles: ["agent"] })).toThrow("is wrong at name");
  });

  it("refuses a huge token, a header twice, and a token in the address", async () => {
    const { claims, refused } = await withProvider();
    expect(await refused(await claims({ padding: "x".repeat(20_000) }))).toContain("too long");
    const token = await claims({});
    await refused(request(`Bearer ${token}`, `Bearer ${token}`));
    await refused(new Request(`${RESOURCE}?access_token=${token}`), 400);
  });
});
