/** Who calls a server over HTTP: static tokens, OAuth 2.1, the check of Host and Origin, and quotas for each actor. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import type { Actor } from "phasegate";
import { createToken, tokensText } from "phasegate/login";

// What `phasegate tokens add build-agent --role agent --team web --tokens tokens.json` does.
const { token, entry } = createToken({ name: "build-agent", roles: ["agent"], team: "web" });
writeFileSync("tokens.json", tokensText([entry]), { mode: 0o600 });

/** Stands for what your server does for somebody who is known. */
const serve = async (_: ArrayBuffer, actor: Actor) => Response.json(actor);

// #region server
import { readFileSync } from "node:fs";
import {
  createHostCheck,
  createOAuthLogin,
  createQuotas,
  createTokenLogin,
  firstOf,
  quotaResponse,
} from "phasegate/login";

const login = firstOf(
  createTokenLogin({ read: () => readFileSync("tokens.json", "utf8") }),
  createOAuthLogin({
    issuer: "https://login.example.com/", // exactly as in the `iss` of its tokens
    resource: "https://gates.example.com/mcp", // the URL that clients are given
    onError: (error) => console.error(error),
  }),
);
const checkHost = createHostCheck({ hosts: ["gates.example.com"] });
const quotas = createQuotas({ callsPerMinute: 120, bytesPerHour: 50_000_000 });

async function answer(request: Request): Promise<Response> {
  const refused = checkHost(request) ?? login.metadata?.(request);
  if (refused !== undefined) return refused;
  const actor = await login.authenticate(request);
  if (actor instanceof Response) return actor;
  const quota = quotas.call(actor.name);
  if (!quota.ok) return quotaResponse(quota);
  const body = await request.arrayBuffer();
  quotas.addBytes(actor.name, body.byteLength); // what was read: a length that the client claims may be wrong
  return serve(body, actor);
}
// #endregion server

const url = "https://gates.example.com/mcp";
const asked = (headers: Record<string, string>, at = url) => answer(new Request(at, { method: "POST", headers }));

const authorization = `Bearer ${token}`;
const found = await asked({ authorization });
assert.deepEqual(await found.json(), { name: "build-agent", roles: ["agent"], team: "web" });

// Somebody unknown is led to the provider.
const unknown = await asked({ authorization: "Bearer guessed" });
assert.equal(unknown.status, 401);
const [, metadataUrl = ""] = /resource_metadata="([^"]*)"/.exec(unknown.headers.get("www-authenticate") ?? "") ?? [];
const metadata = await (await answer(new Request(metadataUrl))).json();
assert.deepEqual(metadata.authorization_servers, ["https://login.example.com/"]);

assert.equal((await asked({ authorization }, "https://other.example.com/mcp")).status, 403);
assert.equal((await asked({ authorization, origin: "https://other.example.com" })).status, 403);

const statuses = await Promise.all(Array.from({ length: 120 }, async () => (await asked({ authorization })).status));
assert.ok(statuses.includes(200));
assert.ok(statuses.includes(429));
console.log("An agent was let in, a stranger was led to the provider, and a greedy one was told to wait.");
