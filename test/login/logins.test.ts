import type { Actor } from "phasegate";
import { createHostCheck, createToken, createTokenLogin, firstOf, type Login, tokensText } from "phasegate/login";
import { describe, expect, it } from "vitest";
import { RESOURCE, request } from "./issuer.js";

/** A login that lets in one header, and answers all others with a status. */
function knows(header: string, status: number, documents?: string): Login {
  return {
    async authenticate({ headers }): Promise<Actor | Response> {
      if (headers.get("authorization") === header) return { name: header };
      return new Response(documents ?? header, { status });
    },
    ...(documents !== undefined && {
      metadata: ({ url }) => (url.endsWith(documents) ? new Response(url) : undefined),
    }),
  };
}

async function textOf(found: Actor | Response): Promise<unknown> {
  return found instanceof Response ? [found.status, await found.text()] : found.name;
}

describe("several logins", () => {
  it("let in whom one of them lets in", async () => {
    const login = firstOf(knows("a", 401), knows("b", 401));
    expect(await textOf(await login.authenticate(request("a")))).toBe("a");
    expect(await textOf(await login.authenticate(request("b")))).toBe("b");
  });

  it("answer others with what leads on: no 401, then the one with documents, then the first", async () => {
    const answer = async (...logins: [Login, ...Login[]]) =>
      textOf(await firstOf(...logins).authenticate(request("x")));
    expect(await answer(knows("a", 401), knows("b", 401))).toEqual([401, "a"]);
    expect(await answer(knows("a", 401), knows("b", 401, "/doc"))).toEqual([401, "/doc"]);
    expect(await answer(knows("a", 401), knows("b", 401, "/doc"), knows("c", 403))).toEqual([403, "c"]);
  });

  it("say that a token has ended, wherever its login stands: no provider knows it", async () => {
    const now = Date.now();
    const gone = createToken({ name: "amy", roles: ["agent"], expires: now - 1000 }, now - 2000);
    const read = () => tokensText([gone.entry]);
    const login = firstOf(knows("a", 401, "/doc"), createTokenLogin({ read }));
    const answer = await login.authenticate(request(`Bearer ${gone.token}`));
    expect(await textOf(answer)).toEqual([401, expect.stringContaining("The token has expired")]);
    expect(await textOf(await login.authenticate(request("Bearer pgt_unknown")))).toEqual([401, "/doc"]);
  });

  it("have the documents of all of them", async () => {
    const login = firstOf(knows("a", 401), knows("b", 401, "/b"), knows("c", 401, "/c"));
    const at = (path: string) => login.metadata?.(new Request(`https://x.example${path}`))?.text();
    expect(await at("/b")).toBe("https://x.example/b");
    expect(await at("/c")).toBe("https://x.example/c");
    expect(at("/d")).toBeUndefined();
  });
});

describe("a check of Host and Origin", () => {
  const asked = (headers: Record<string, string>, url = RESOURCE) => new Request(url, { headers });

  it("lets through the names of this machine, unless others are given", () => {
    const check = createHostCheck();
    for (const host of ["127.0.0.1:8080", "localhost", "[::1]:1", "LOCALHOST:99"]) {
      expect(check(asked({ host })), host).toBeUndefined();
      expect(check(asked({ host, origin: `http://${host}` })), host).toBeUndefined();
    }
    expect(check(asked({ host: "gates.example.com" }))?.status).toBe(403);
  });

  it("reads the name in the address if there is no Host header", () => {
    const check = createHostCheck({ hosts: ["gates.example.com"] });
    expect(check(asked({}))).toBeUndefined();
    expect(check(asked({}, "https://other.example/mcp"))?.status).toBe(403);
  });

  it("refuses other names and pages, and says which", async () => {
    const check = createHostCheck({ hosts: ["Gates.example.com"], origins: ["app.example.com"] });
    const host = "gates.example.com";
    expect(check(asked({ host, origin: "https://app.example.com" }))).toBeUndefined();
    for (const wrong of [
      "evil.example",
      "gates.example.com.evil.example",
      "gates.example.com@evil.example",
      "a b",
      "::",
    ]) {
      expect(check(asked({ host: wrong }))?.status, wrong).toBe(403);
    }
    for (const origin of ["https://gates.example.com", "https://evil.example", "null", "file://", "app.example.com"]) {
      expect(check(asked({ host, origin }))?.status, origin).toBe(403);
    }
    const refused = check(asked({ host: "evil.example" }));
    expect(await refused?.json()).toEqual({
      jsonrpc: "2.0",
      error: { code: -32_000, message: 'The server is not called "evil.example"' },
      id: null,
    });
  });

  it("is not made of addresses and ports", () => {
    for (const name of ["https://gates.example.com", "gates.example.com:8080", "", "a/b", "*.example.com/"]) {
      expect(() => createHostCheck({ hosts: [name] }), name).toThrow("is not the name of a host");
      expect(() => createHostCheck({ origins: [name] }), name).toThrow("is not the name of a host");
    }
  });
});
