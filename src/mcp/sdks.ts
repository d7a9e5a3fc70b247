/** Finds which SDK a host's MCP server is of. */
import { PhasegateError } from "../errors.js";
import type { Host, HostServer } from "./host.js";
import { hostOf1, isServer1 } from "./sdk-1.js";
import { hostOf2, isServer2 } from "./sdk-2.js";

/** Returns a host's server as the registrations use it. Throws `INVALID_INPUT` for what is no `McpServer` of either SDK. */
export function hostOf(caller: string, server: HostServer): Host {
  if (isServer2(server)) return hostOf2(server);
  if (isServer1(server)) return hostOf1(server);
  throw new PhasegateError("INVALID_INPUT", `${caller}: 'server' is no McpServer`, {
    remedy:
      "Pass an McpServer of @modelcontextprotocol/server 2.x or of @modelcontextprotocol/sdk 1.20 or later, not its inner Server. " +
      "A framework with tools of its own, such as FastMCP, takes what createWorkflowTool() returns.",
    details: { field: "server", expected: "an McpServer" },
  });
}
