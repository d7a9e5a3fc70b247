/** The official MCP client, a real provider, and an MCP server of the SDK behind a login. */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import type { Actor } from "phasegate";
import { createOAuthLogin, createToken, createTokenLogin, firstOf, type Login, tokensText } from "phasegate/login";
import { afterEach, describe, expect, it, vi } from "vitest";
import { CALLBACK, ClientStore } from "./client-store.js";
import { browse, listen, startProvider } from "./provider.js";

/** Serves an MCP server with one tool, which says who calls it, behind the login that `use` sets. */
async function serve(): Promise<{ readonly url: URL; use(login: Login): void }> {
  let login: Login | undefined;
  const handler = createMcpHandler(({ authInfo }) => {
    const server = new McpServer({ name: "who", version: "1.0.0" });
    server.registerTool("whoami", { description: "Says who calls" }, () => ({
      content: [{ type: "text", text: JSON.stringify(authInfo?.extra) }],
    }));
    return server;
  });
  const answer = async (request: Request): Promise<Response> => {
    const document = login?.metadata?.(request);
    if (document !== undefined) return document;
    const actor = await login?.authenticate(request);
    if (actor === undefined || actor instanceof Response) return actor ?? new Response(undefined, { status: 500 });
    return handler.fetch(request, { authInfo: { token: "", clientId: actor.name, scopes: [], extra: { ...actor } } });
  };
  const origin = await listen((incoming, outgoing) => {
    asRequest(incoming, origin)
      .then(answer)
      .then(async (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers));
        outgoing.end(Buffer.from(await response.arrayBuffer()));
      })
      .catch((error: unknown) => outgoing.destroy(error instanceof Error ? error : undefined));
  });
  const use = (given: Login) => {
    login = given;
  };
  return { url: new URL("/mcp", origin), use };
}

async function asRequest(incoming: IncomingMessage, origin: string): Promise<Request> {
  const { method = "GET", url = "/" } = incoming;
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value));
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  const body = method === "GET" || method === "HEAD" ? {} : { body: Buffer.concat(chunks) };
  return new Request(new URL(url, origin), { method, headers, ...body });
}

async function whoAmI(
  url: URL,
  options: ConstructorParameters<typeof StreamableHTTPClientTransport>[1],
): Promise<Actor> {
  const client = new Client({ name: "a client", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(url, options));
  try {
    const { content } = await client.callTool({ name: "whoami", arguments: {} });
    const [part] = content;
    return JSON.parse(part?.type === "text" ? part.text : "{}");
  } finally {
    await client.close();
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the official MCP client", () => {
  it("finds the provider, registers, logs a user in for this server, and is let in", async () => {
    const { url, use } = await serve();
    const provider = await startProvider(url.href);
    use(createOAuthLogin({ issuer: provider.issuer, resource: url.href }));
    const store = new ClientStore();
    const transport = new StreamableHTTPClientTransport(url, { authProvider: store });
    const client = new Client({ name: "a client", version: "1.0.0" });
    await expect(client.connect(transport)).rejects.toThrow(UnauthorizedError);
    expect(provider.asked).toContain("POST /reg");

    // It asks for this server alone, for no more than an agent needs, and with PKCE.
    expect(store.sentTo?.origin).toBe(provider.issuer);
    expect(Object.fromEntries(store.sentTo?.searchParams ?? [])).toMatchObject({
      resource: url.href,
      scope: expect.stringMatching(/^phasegate:agent(?: offline_access)?$/),
      code_challenge_method: "S256",
    });
    await transport.finishAuth(await browse(store.sentTo ?? url, CALLBACK));

    const ann = { name: `${provider.issuer}#ann`, roles: ["agent"] };
    expect(await whoAmI(url, { authProvider: store })).toEqual(ann);
    expect(provider.authorizations).toHaveLength(1);
    expect(provider.asked).toContain("GET /jwks");

    // The same token is for this server alone.
    const { access_token: token = "" } = store.tokens() ?? {};
    const elsewhere = createOAuthLogin({ issuer: provider.issuer, resource: "http://127.0.0.1:1/mcp" });
    const headers = { authorization: `Bearer ${token}` };
    expect(await elsewhere.authenticate(new Request(url, { headers }))).toMatchObject({ status: 401 });
  }, 20_000);

  it("is let in with a static token, next to a login by OAuth", async () => {
    const { token, entry } = createToken({ name: "build-agent", roles: ["agent"], team: "web" });
    const tokens = createTokenLogin({ read: () => tokensText([entry]) });
    const { url, use } = await serve();
    use(firstOf(tokens, createOAuthLogin({ issuer: "https://login.example.com/", resource: url.href })));
    expect(await whoAmI(url, { authProvider: { token: async () => token } })).toEqual({
      ...{ name: "build-agent", roles: ["agent"], team: "web" },
    });
    const refused = await fetch(url, { method: "POST" });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toContain("/.well-known/oauth-protected-resource/mcp");
  });
});
