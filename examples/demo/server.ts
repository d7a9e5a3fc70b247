/**
 * An MCP server of a host's own, with the workflow tool on it: `node server.ts <project> <state>`.
 * It keeps nothing in memory that matters, so it may be killed at any time.
 */
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createEngine, MemoryContent } from "phasegate";
import { createProjectRoot, FileStorage } from "phasegate/fs";
import { registerWorkflowTool } from "phasegate/mcp";
import { releaseNotes } from "./workflow.ts";

const [project, state] = process.argv.slice(2);
if (project === undefined || state === undefined) throw new Error("usage: node server.ts <project> <state>");

const engine = createEngine({
  content: new MemoryContent({ workflows: [await releaseNotes(project)] }),
  storage: await FileStorage.open(state),
  targets: await createProjectRoot(project),
});

// stdout belongs to the protocol: a server that speaks MCP over stdio tells everything else on stderr.
engine.on("internalError", ({ operation, error }) => console.error(operation, error));

serveStdio(() => {
  const server = new McpServer({ name: "release-notes-demo", version: "1.0.0" });
  registerWorkflowTool(server, engine);
  return server;
});
