/** A server of the older SDK answers calls of the tool. */
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { registerWorkflowTool } from "phasegate/mcp";
import { complete } from "./mcp-session.mjs";

const gate = { fields: { tests: { type: "integer", required: true } } };
const phases = [{ number: 1, name: "Test", content: "Run the tests.", gate }];
const release = defineWorkflow({ type: "release", revision: "1", name: "Release", description: "Test it", phases });
const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [release] }) });
const server = new McpServer({ name: "host", version: "1.0.0" });
registerWorkflowTool(server, engine);
const [mine, other] = InMemoryTransport.createLinkedPair();
await server.connect(other);
await mine.start();
await complete(
  (message) => mine.send(message),
  (receive) => {
    mine.onmessage = receive;
  },
);
await server.close();
