/** FastMCP, whose tools have a form of their own. */
// #region fastmcp
import { FastMCP } from "fastmcp";
import { createWorkflowTool } from "phasegate";
import { engine } from "./engine.mjs";

const tool = createWorkflowTool(engine);
const jsonSchema = { input: () => tool.inputSchema, output: () => tool.inputSchema };

const server = new FastMCP({ name: "my-server", version: "1.0.0" });
server.addTool({
  name: tool.name,
  description: tool.description,
  // It accepts everything: the tool checks its calls itself, and tells the agent what to write instead.
  parameters: { "~standard": { version: 1, vendor: "host", validate: (value) => ({ value }), jsonSchema } },
  execute: async (input, { signal }) => {
    const answer = await tool.dispatch(input, { signal });
    const text = JSON.stringify(answer);
    if (answer.status === "error") return { content: [{ type: "text", text: `Error: ${text}` }], isError: true };
    return { content: [{ type: "text", text }], structuredContent: answer };
  },
});
await server.start({ transportType: "httpStream", httpStream: { port: Number(process.env.PORT), endpoint: "/mcp" } });
// #endregion fastmcp
