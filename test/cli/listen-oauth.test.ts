/** The bin behind a real provider, and the official MCP client, which goes through the whole flow. */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { CALLBACK, ClientStore } from "../login/client-store.js";
import { browse, startProvider } from "../login/provider.js";
import { answerOf } from "../mcp/connect-in-memory.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { BIN } from "./bin.js";
import { run } from "./run-cli.js";
import { SMALL } from "./workflow-folders.js";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Starts the bin behind a provider. Resolves when it listens. */
async function serveBehind(issuer: string, resource: URL, root: string): Promise<void> {
  const places = ["--workflows", join(root, "workflows"), "--state", join(root, "state")];
  const login = ["--oauth-issuer", issuer, "--oauth-resource", resource.href];
  const child = spawn(process.execPath, [BIN, "serve", "--listen", resource.host, ...places, ...login], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const closed = new Promise((resolve) => child.on("close", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
      if (said.includes('"url":')) resolve();
    });
    child.on("close", () => reject(new Error(said)));
  });
}

it("phasegate serve --listen leads a client to the provider, and gives sessions to whom it names", async () => {
  const root = await temporaryFolder();
  await writeFiles(join(root, "workflows"), SMALL);
  const resource = new URL(`http://127.0.0.1:${await freePort()}/mcp`);
  const provider = await startProvider(resource.href);
  await serveBehind(provider.issuer, resource, root);

  const store = new ClientStore();
  const transport = new StreamableHTTPClientTransport(resource, { authProvider: store });
  await expect(new Client({ name: "a client", version: "1.0.0" }).connect(transport)).rejects.toThrow(
    UnauthorizedError,
  );
  await transport.finishAuth(await browse(store.sentTo ?? resource, CALLBACK));
  const client = new Client({ name: "a client", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(resource, { authProvider: store }));
  const start = { action: "start", workflow_type: "small", target_file: "a.ts" };
  const started = answerOf(await client.callTool({ name: "pos_workflow", arguments: start }));
  await client.close();

  const { stdout } = await run("sessions", "--state", join(root, "state"), "--json");
  const owned = { sessionId: started.session_id, owner: `${provider.issuer}#ann` };
  expect(JSON.parse(stdout)).toMatchObject({ sessions: [owned] });
  expect(provider.asked).toContain("GET /jwks");
}, 30_000);
