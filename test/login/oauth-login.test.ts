import { createServer } from "node:http";
import { createOAuthLogin, type OAuthLoginOptions } from "phasegate/login";
import { afterEach, describe, expect, it, vi } from "vitest";
import { aKey, bearer, Issuer, RESOURCE, refusal, request } from "./issuer.js";

async function aLogin(options: Partial<OAuthLoginOptions> = {}) {
  const { issuer, key } = await Issuer.start();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const login = createOAuthLogin({ issuer: issuer.url, resource: RESOURCE, onError, ...options });
  return { issuer, key, login, errors, token: issuer.token.bind(issuer, key) };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a login by OAuth", () => {
  it("returns the actor of a token, named by issuer and subject, with the roles of its scopes", async () => {
    const { issuer, login, token } = await aLogin();
    const name = `${issuer.url}#ann`;
    expect(await login.authenticate(bearer(await token()))).toEqual({ name, roles: ["agent"] });
    const scope = "openid phasegate:approver phasegate:viewer phasegate:root";
    expect(await login.authenticate(bearer(await token({ scope })))).toEqual({ name, roles: ["viewer", "approver"] });
    for (const scp of ["phasegate:operator", ["openid", "phasegate:operator"]]) {
      const claims = { scope: undefined, scp };
      expect(await login.authenticate(bearer(await token(claims)))).toEqual({ name, roles: ["operator"] });
    }
    expect(issuer.asked).toEqual(["/.well-known/oauth-authorization-server", "/keys"]);
  });

  it("takes scopes and the claim of the name from the host", async () => {
    const { issuer, login, token } = await aLogin({
      scopes: { "gates.work": "agent", "gates.read": "viewer", "gates.do": "agent" },
      actorName: "preferred_username",
    });
    const claims = { scope: "gates.read", preferred_username: "Ann" };
    const ann = { name: `${issuer.url}#Ann`, roles: ["viewer"] };
    expect(await login.authenticate(bearer(await token(claims)))).toEqual(ann);
    expect(refusal(await login.authenticate(request())).challenge).toContain('scope="gates.work gates.do"');
    for (const name of [undefined, "", 7, "a\u200bnn", " ann ", "x".repeat(200)]) {
      const found = refusal(await login.authenticate(bearer(await token({ ...claims, preferred_username: name }))));
      expect(found.challenge, String(name)).toContain("The token has no usable claim preferred_username");
    }
  });

  it("takes tokens for this resource, among others, with or without the slash after a bare host", async () => {
    const { login, token } = await aLogin({ resource: "https://gates.example.com" });
    for (const aud of ["https://gates.example.com", "https://gates.example.com/", ["x", "https://gates.example.com"]]) {
      expect(await login.authenticate(bearer(await token({ aud }))), String(aud)).toMatchObject({ roles: ["agent"] });
    }
  });

  it.each(["RS256", "PS384", "ES512", "EdDSA"])("takes signatures by %s", async (algorithm) => {
    const { issuer, login } = await aLogin();
    const key = await aKey("other", algorithm);
    issuer.published = [key.jwk];
    expect(await login.authenticate(bearer(await issuer.token(key)))).toMatchObject({ roles: ["agent"] });
  });

  it("takes a token type as providers write it, and 30 s between two clocks", async () => {
    const { login, token } = await aLogin();
    for (const typ of ["JWT", "application/at+jwt"]) {
      expect(await login.authenticate(bearer(await token({}, { typ })))).toMatchObject({ roles: ["agent"] });
    }
    const now = Math.floor(Date.now() / 1000);
    expect(await login.authenticate(bearer(await token({ exp: now - 20 })))).toMatchObject({ roles: ["agent"] });
    expect(await login.authenticate(bearer(await token({ nbf: now + 20 })))).toMatchObject({ roles: ["agent"] });
    expect(refusal(await login.authenticate(bearer(await token({ exp: now - 40 })))).status).toBe(401);
    expect(refusal(await login.authenticate(bearer(await token({ nbf: now + 40 })))).status).toBe(401);
  });

  it("leads clients to the provider, and tells them to ask for no more than an agent needs", async () => {
    const { issuer, login } = await aLogin();
    const { status, challenge } = refusal(await login.authenticate(request()));
    expect(status).toBe(401);
    const metadataUrl = "https://gates.example.com/.well-known/oauth-protected-resource/mcp";
    expect(challenge).toContain(`resource_metadata="${metadataUrl}"`);
    expect(challenge).toContain('scope="phasegate:agent"');
    const viewers = await aLogin({ scopes: { see: "viewer", ok: "approver" } });
    expect(refusal(await viewers.login.authenticate(request())).challenge).toContain('scope="see ok"');

    const document = {
      resource: RESOURCE,
      authorization_servers: [issuer.url],
      scopes_supported: ["phasegate:agent", "phasegate:viewer", "phasegate:approver", "phasegate:operator"],
    };
    for (const url of [metadataUrl, "https://gates.example.com/.well-known/oauth-protected-resource"]) {
      const answer = login.metadata?.(new Request(url));
      expect(await answer?.json()).toEqual(document);
      expect(answer?.headers.get("access-control-allow-origin")).toBe("*");
      expect(login.metadata?.(new Request(url, { method: "OPTIONS" }))?.status).toBe(204);
      expect(login.metadata?.(new Request(url, { method: "POST", body: "x" }))?.status).toBe(405);
    }
    for (const path of [
      "/mcp",
      "/.well-known/oauth-protected-resource/other",
      "/.well-known/oauth-authorization-server",
    ]) {
      expect(login.metadata?.(new Request(`https://gates.example.com${path}`)), path).toBeUndefined();
    }
    expect(issuer.asked).toEqual([]);
  });

  it("is not made of addresses without TLS, symmetric algorithms or no scopes", () => {
    const good = { issuer: "https://login.example.com/", resource: RESOURCE };
    expect(createOAuthLogin(good)).toBeDefined();
    const wrong: [Partial<OAuthLoginOptions>, string][] = [
      [{ issuer: "http://login.example.com" }, "issuer"],
      [{ issuer: "login" }, "issuer"],
      [{ issuer: "https://login.example.com/?tenant=1" }, "issuer"],
      [{ issuer: "http://127.0.0.1.example.com" }, "issuer"],
      [{ resource: "http://gates.example.com" }, "resource"],
      [{ resource: "https://gates.example.com/#x" }, "resource"],
      [{ resource: "https://ann:secret@gates.example.com/" }, "resource"],
      [{ jwksUrl: "http://login.example.com/keys" }, "jwksUrl"],
      [{ algorithms: ["RS256", "HS256"] }, "algorithms"],
      [{ algorithms: ["none"] }, "algorithms"],
      [{ algorithms: [] }, "algorithms"],
      [{ scopes: {} }, "scopes"],
    ];
    for (const [change, field] of wrong) {
      const expected = expect.objectContaining({ code: "INVALID_INPUT", details: expect.objectContaining({ field }) });
      expect(() => createOAuthLogin({ ...good, ...change }), JSON.stringify(change)).toThrow(expected);
    }
  });
});

describe("the provider's keys", () => {
  it("are found in either kind of metadata, below or after the issuer's path", async () => {
    for (const path of [
      "/.well-known/oauth-authorization-server/realms/x",
      "/.well-known/openid-configuration/realms/x",
      "/realms/x/.well-known/openid-configuration",
    ]) {
      const { issuer, key } = await Issuer.start();
      const iss = `${issuer.url}/realms/x`;
      issuer.documents.set(path, () => ({ issuer: iss, jwks_uri: `${issuer.url}/keys` }));
      const login = createOAuthLogin({ issuer: iss, resource: RESOURCE });
      expect(await login.authenticate(bearer(await issuer.token(key, { iss })))).toMatchObject({ name: `${iss}#ann` });
      expect(issuer.asked.at(-2)).toBe(path);
    }
  });

  it("are taken from the host's address without asking for metadata", async () => {
    const { issuer, key } = await Issuer.start();
    const login = createOAuthLogin({ issuer: issuer.url, resource: RESOURCE, jwksUrl: `${issuer.url}/keys` });
    expect(await login.authenticate(bearer(await issuer.token(key)))).toMatchObject({ roles: ["agent"] });
    expect(issuer.asked).toEqual(["/keys"]);
  });

  it("are not taken from metadata of another issuer, or from an address without TLS", async () => {
    for (const change of [{ issuer: "https://login.example.com" }, { jwks_uri: "http://login.example.com/keys" }]) {
      const { issuer, login, errors, token } = await aLogin();
      const honest = { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` };
      issuer.documents.set("/.well-known/oauth-authorization-server", () => ({ ...honest, ...change }));
      expect(refusal(await login.authenticate(bearer(await token()))).status).toBe(503);
      expect(issuer.fetches).toBe(0);
      expect(String(errors)).toContain(`no metadata of ${issuer.url} was found`);
    }
  });

  it("are fetched again for a new key, and forgotten in ten minutes", async () => {
    const { issuer, key, login, token } = await aLogin();
    vi.useFakeTimers({ toFake: ["Date"] });
    expect(await login.authenticate(bearer(await token()))).toMatchObject({ roles: ["agent"] });
    const next = await aKey("two");
    issuer.published = [next.jwk, key.jwk];
    vi.setSystemTime(Date.now() + 31_000);
    expect(await login.authenticate(bearer(await issuer.token(next)))).toMatchObject({ roles: ["agent"] });
    expect(issuer.fetches).toBe(2);
    issuer.published = [next.jwk];
    expect(await login.authenticate(bearer(await token()))).toMatchObject({ roles: ["agent"] });
    vi.setSystemTime(Date.now() + 601_000);
    expect(refusal(await login.authenticate(bearer(await token()))).status).toBe(401);
    expect(await login.authenticate(bearer(await issuer.token(next)))).toMatchObject({ roles: ["agent"] });
    expect(issuer.fetches).toBe(3);
  });

  it("that can't be had give 503, are reported once, and are asked for again after 30 s", async () => {
    const { issuer, login, errors, token } = await aLogin();
    vi.useFakeTimers({ toFake: ["Date"] });
    const asking = async () => {
      const found = await login.authenticate(bearer(await token()));
      return found instanceof Response ? [found.status, found.headers.get("retry-after")] : found.roles;
    };
    issuer.failing = 500;
    expect(await asking()).toEqual([503, "30"]);
    expect(issuer.asked).toEqual(["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]);
    issuer.failing = undefined;
    expect(await asking()).toEqual([503, "30"]);
    expect(issuer.asked).toHaveLength(2);
    expect(errors).toHaveLength(1);
    vi.setSystemTime(Date.now() + 31_000);
    issuer.body = "no keys";
    expect(await asking()).toEqual([503, "30"]);
    issuer.body = undefined;
    expect(await asking()).toEqual([503, "30"]);
    expect(issuer.fetches).toBe(1);
    expect(errors).toHaveLength(2);
    vi.setSystemTime(Date.now() + 31_000);
    expect(await asking()).toEqual(["agent"]);
    expect(errors).toHaveLength(2);
  });

  it("that nobody serves give 503 too, and a request without a JWT does not need them", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    await new Promise((resolve) => {
      server.close(resolve);
    });
    const { token } = await aLogin();
    const login = createOAuthLogin({ issuer: url, resource: RESOURCE });
    expect(refusal(await login.authenticate(bearer("pgt_x"))).status).toBe(401);
    expect(refusal(await login.authenticate(bearer(await token({ iss: url })))).status).toBe(503);
  });
});
