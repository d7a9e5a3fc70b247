import { type InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import type { SamplingServer } from "phasegate/ai";
import type { HostServer } from "phasegate/mcp";

/** The servers of a host that tests register with: of the newer SDK, and of the newest and the oldest version of the older one. */
export const HOST_SERVERS = {
  "@modelcontextprotocol/server": async () => McpServer,
  "@modelcontextprotocol/sdk": async () => (await import("@modelcontextprotocol/sdk/server/mcp.js")).McpServer,
  "@modelcontextprotocol/sdk@1.20": async () => (await import("mcp-sdk-1.20/server/mcp.js")).McpServer,
};

let used: keyof typeof HOST_SERVERS = "@modelcontextprotocol/server";

/** Runs what tests say of a host's server with servers of an SDK. Call it at the top of a file. */
export async function testsWith(sdk: keyof typeof HOST_SERVERS): Promise<void> {
  used = sdk;
  await import("./register-workflow-tool.test.js");
  await import("./resources.test.js");
  await import("./session-view.test.js");
  await import("./document-resources.test.js");
  await import("./changes.test.js");
  await import("./prompts.test.js");
  await import("./workspace-tools.test.js");
  await import("./routed-tools.test.js");
  await import("./approvals.test.js");
}

/** A server of a host, with what tests do with it. */
export interface TestServer extends HostServer {
  readonly server: SamplingServer;
  connect(transport: InMemoryTransport): Promise<void>;
  close(): Promise<void>;
  registerTool(name: string, config: object, callback: () => { content: { type: "text"; text: string }[] }): unknown;
}

/** Creates a host's server. */
export async function createHostServer(): Promise<TestServer> {
  const Server = await HOST_SERVERS[used]();
  return new Server({ name: "host", version: "1.0.0" }, { capabilities: { logging: {} } });
}
