/**
 * Adds phasegate to a host's own MCP server with one call. `node mcp-host.ts` serves over stdio, which is how MCP clients
 * start it; `through-stdio.ts` is such a client.
 */
// #region host
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createEngine, defineWorkflow, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { registerWorkflowTool } from "phasegate/mcp";
import * as z from "zod";

const phases = [
  { number: 1, name: "Test", content: "Run the tests.", gate: { evidence: z.object({ passed: z.int().min(1) }) } },
  { number: 2, name: "Ship", content: "Tag and publish.", gate: { evidence: z.object({ tag: z.string().min(2) }) } },
];
const release = defineWorkflow({ type: "release", revision: "1", name: "Release", description: "Test, ship", phases });

const storage = await FileStorage.open("./state"); // survives a kill at any instant
const engine = createEngine({ storage, content: new MemoryContent({ workflows: [release] }) });

serveStdio(() => {
  const server = new McpServer({ name: "my-server", version: "1.0.0" });
  registerWorkflowTool(server, engine);
  return server;
});
console.error("my-server waits for an MCP client"); // on stderr, because the protocol uses stdout
// #endregion host
