import { createToken, createTokenLogin, type TokenRequest, tokensText } from "phasegate/login";
import { describe, expect, it } from "vitest";
import { entryOf, isSameText, isTokenName, readTokens, tokenState } from "../../src/login/tokens.js";
import { bearer, refusal, request } from "./issuer.js";

const AGENT: TokenRequest = { name: "build-agent", roles: ["agent"], team: "web" };
const NOW = Date.UTC(2026, 0, 1);

describe("a new token", () => {
  it("has an id, a secret of 32 bytes, and an entry from which it can't be had", () => {
    const { token, entry } = createToken(AGENT, NOW);
    const [, id, secret = ""] = /^pgt_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/.exec(token) ?? [];
    expect(Buffer.from(secret, "base64url")).toHaveLength(32);
    expect(entry).toEqual({
      ...{ id, name: "build-agent", roles: ["agent"], team: "web", created: "2026-01-01T00:00:00.000Z" },
      ...{ salt: expect.stringMatching(/^[0-9a-f]{32}$/), hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect(JSON.stringify(entry)).not.toContain(secret);
    const others = Array.from({ length: 100 }, () => createToken(AGENT, NOW));
    expect(new Set(others.map((one) => one.token)).size).toBe(100);
    expect(new Set(others.map((one) => one.entry.salt)).size).toBe(100);
  });

  it("is only for names and roles that can be", () => {
    for (const name of ["", " ann", "ann\n", "a\u200bnn", "x".repeat(201), "https://login.example.com/#ann"]) {
      expect(isTokenName(name), name).toBe(false);
      expect(() => createToken({ ...AGENT, name }), name).toThrow("the token is wrong at name: expected 1 to 200");
    }
    expect(isTokenName("Ann Größe (web)")).toBe(true);
    expect(() => createToken({ ...AGENT, roles: JSON.parse('["admin"]') })).toThrow("the token is wrong at roles[0]");
    expect(() => createToken({ ...AGENT, roles: [] })).toThrow("the token is wrong at roles");
    expect(() => createToken({ ...AGENT, team: "" })).toThrow("the token is wrong at team");
  });
});

describe("a tokens file", () => {
  it("is read as it was written", () => {
    const entries = [createToken(AGENT).entry, createToken({ name: "ann", roles: ["viewer", "approver"] }).entry];
    expect([...readTokens(tokensText(entries)).values()]).toEqual(entries);
    expect(readTokens(tokensText([])).size).toBe(0);
  });

  it("says where it is wrong, and quotes nothing of it", () => {
    const { entry } = createToken(AGENT);
    const wrong = (change: object) => JSON.stringify({ tokens: [entry, { ...entry, ...change }] });
    const cases: [string, RegExp][] = [
      ["", /^t\.json is not JSON$/],
      [`{"hash": "${entry.hash}`, /^t\.json is not JSON$/],
      ["[]", /^t\.json is wrong: /],
      ["{}", /^t\.json is wrong at tokens: /],
      [wrong({ hash: "abc" }), /^t\.json is wrong at tokens\[1\]\.hash: /],
      [wrong({ roles: [] }), /^t\.json is wrong at tokens\[1\]\.roles: /],
      [wrong({ expires: "tomorrow" }), /^t\.json is wrong at tokens\[1\]\.expires: /],
      [wrong({ name: "a://b" }), /^t\.json is wrong at tokens\[1\]\.name: /],
      [wrong({ revokd: entry.created }), /^t\.json is wrong at tokens\[1\]: .*revokd/],
      [wrong({}), /^t\.json has two tokens of one id$/],
    ];
    for (const [text, message] of cases) {
      expect(() => readTokens(text, "t.json"), text).toThrow(
        expect.objectContaining({ code: "INVALID_INPUT", message: expect.stringMatching(message) }),
      );
    }
  });
});

describe("the entry of a token", () => {
  it("is found with one comparison of two digests, whether or not there is one", () => {
    const [ann, bob] = [createToken(AGENT), createToken(AGENT)];
    const tokens = readTokens(tokensText([ann.entry, { ...bob.entry, revoked: bob.entry.created }]));
    const compared: [string, string][] = [];
    const found = (token: string) =>
      entryOf(tokens, token, (one, other) => {
        compared.push([one, other]);
        return isSameText(one, other);
      });
    const unknown = `pgt_${"0".repeat(16)}${ann.token.slice(20)}`;
    const wrong = `${ann.token.slice(0, -1)}${ann.token.endsWith("A") ? "B" : "A"}`;
    expect([ann.token, bob.token, unknown, wrong].map((token) => found(token)?.id)).toEqual([
      ...[ann.entry.id, bob.entry.id, undefined, undefined],
    ]);
    expect(compared.map((pair) => pair.map((text) => text.length))).toEqual(Array(4).fill([64, 64]));
  });

  it("is compared to its end, wherever the first difference is", () => {
    const reads = (one: string, other: string) => {
      let count = 0;
      const counting = {
        length: one.length,
        charCodeAt(at: number) {
          count += 1;
          return one.charCodeAt(at);
        },
      };
      // Of a text, only these two are used.
      const isSame = isSameText(counting as unknown as string, other);
      return { isSame, count };
    };
    const text = "0123456789abcdef".repeat(4);
    expect(reads(text, text)).toEqual({ isSame: true, count: 64 });
    expect(reads(text, `x${text.slice(1)}`)).toEqual({ isSame: false, count: 64 });
    expect(reads(text, `${text.slice(0, -1)}x`)).toEqual({ isSame: false, count: 64 });
    expect(isSameText(text, text.slice(1))).toBe(false);
    expect(isSameText(text, `${text}0`)).toBe(false);
    expect(isSameText("", text)).toBe(false);
  });

  it("counts until it expires or is revoked", () => {
    const { entry } = createToken({ ...AGENT, expires: NOW + 1000 }, NOW);
    expect([NOW, NOW + 999, NOW + 1000].map((now) => tokenState(entry, now))).toEqual(["valid", "valid", "expired"]);
    expect(tokenState({ ...entry, revoked: entry.created }, NOW)).toBe("revoked");
  });
});

describe("a login with tokens", () => {
  it("returns whose token a request has, with role and team", async () => {
    const [agent, ann] = [createToken(AGENT), createToken({ name: "ann", roles: ["viewer", "approver"] })];
    const login = createTokenLogin({ read: () => tokensText([agent.entry, ann.entry]) });
    expect(await login.authenticate(bearer(agent.token))).toEqual({
      name: "build-agent",
      roles: ["agent"],
      team: "web",
    });
    expect(await login.authenticate(request(`bearer ${ann.token}`))).toEqual({
      name: "ann",
      roles: ["viewer", "approver"],
    });
    expect(refusal(await login.authenticate(request()))).toEqual({
      status: 401,
      challenge: expect.stringMatching(/^Bearer error="invalid_token"/),
    });
    expect(login.metadata).toBeUndefined();
  });

  it("reads the file for each request, so that a token counts from when it is there until it is revoked", async () => {
    const { token, entry } = createToken(AGENT);
    let text = tokensText([]);
    const login = createTokenLogin({ read: async () => text });
    expect(refusal(await login.authenticate(bearer(token))).status).toBe(401);
    text = tokensText([entry]);
    expect(await login.authenticate(bearer(token))).toMatchObject({ name: "build-agent" });
    text = tokensText([{ ...entry, revoked: entry.created }]);
    expect(refusal(await login.authenticate(bearer(token))).challenge).toContain("The token was revoked");
  });

  it("lets nobody in while the file can't be read", async () => {
    const { token, entry } = createToken(AGENT);
    let read = (): string => tokensText([entry]);
    const login = createTokenLogin({ read: () => read() });
    expect(await login.authenticate(bearer(token))).toMatchObject({ name: "build-agent" });
    read = () => '{"tokens": ';
    await expect(login.authenticate(bearer(token))).rejects.toMatchObject({ code: "INVALID_INPUT" });
    read = () => {
      throw new Error("the disk is gone");
    };
    await expect(login.authenticate(bearer(token))).rejects.toThrow("the disk is gone");
  });
});
