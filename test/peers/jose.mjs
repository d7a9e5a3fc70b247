/** A login by OAuth accepts a token of its issuer, and none of another; the issuer is a server on loopback. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { createOAuthLogin } from "phasegate/login";

const keys = await generateKeyPair("ES256");
const jwk = { ...(await exportJWK(keys.publicKey)), kid: "one", alg: "ES256", use: "sig" };
const server = createServer((request, response) => {
  const { port } = server.address();
  const issuer = `http://127.0.0.1:${port}`;
  const documents = {
    "/.well-known/oauth-authorization-server": { issuer, jwks_uri: `${issuer}/jwks` },
    "/jwks": { keys: [jwk] },
  };
  const found = documents[new URL(request.url, issuer).pathname];
  response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(found ?? {}));
}).listen(0, "127.0.0.1");
await once(server, "listening");
const issuer = `http://127.0.0.1:${server.address().port}`;
const resource = "https://work.example/mcp";
const login = createOAuthLogin({ issuer, resource, scopes: { work: "agent" } });
const token = (by) =>
  new SignJWT({ scope: "work" })
    .setProtectedHeader({ alg: "ES256", kid: "one" })
    .setSubject("ann")
    .setIssuer(by)
    .setAudience(resource)
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(keys.privateKey);
const ask = async (by) => {
  const headers = { authorization: `Bearer ${await token(by)}` };
  return login.authenticate(new Request(resource, { method: "POST", headers }));
};
assert.equal((await ask(issuer)).name, `${issuer}#ann`);
assert.equal((await ask("https://other.example")).status, 401);
server.close();
