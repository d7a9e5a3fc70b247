/** A server of the older SDK answers calls of the tool. */
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { registerWorkflowTool } from "phasegate/mcp";
import { completeOver, engine } from "./mcp-session.mjs";

const server = new McpServer({ name: "host", version: "1.0.0" });
registerWorkflowTool(server, engine);
await completeOver(server, InMemoryTransport.createLinkedPair());
await server.close();
