/** A Worker of Cloudflare with an McpAgent, each a Durable Object with a server of the older SDK. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpAgent } from "agents/mcp";
import { registerWorkflowTool } from "phasegate/mcp";
import { engine } from "./engine.mjs";

export class Workflows extends McpAgent {
  server = new McpServer({ name: "my-server", version: "1.0.0" });

  async init() {
    registerWorkflowTool(this.server, engine);
  }
}

export default Workflows.serve("/mcp", { binding: "MCP_OBJECT" });
