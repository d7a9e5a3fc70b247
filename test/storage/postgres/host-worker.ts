/** A host as a user would write it, on the built package: `host-worker <url> <schema>` serves a workflow over stdio. */

import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createEngine, defineWorkflow, MemoryContent } from "phasegate";
import { registerWorkflowTool } from "phasegate/mcp";
import { PostgresStorage } from "phasegate/postgres";
import * as z from "zod";

const [url = "", schema = ""] = process.argv.slice(2);

const workflow = defineWorkflow({
  type: "relay",
  revision: "1",
  name: "Relay",
  description: "Handed from host to host",
  phases: [1, 2, 3, 4, 5, 6].map((number) => ({
    number,
    name: `Leg ${number}`,
    content: "# Run",
    gate: { evidence: z.object({ leg: z.literal(number) }) },
  })),
});

const storage = await PostgresStorage.open({ url, schema });
const engine = createEngine({ storage, content: new MemoryContent({ workflows: [workflow] }) });
serveStdio(() => {
  const server = new McpServer({ name: "relay", version: "1.0.0" });
  registerWorkflowTool(server, engine);
  return server;
});
