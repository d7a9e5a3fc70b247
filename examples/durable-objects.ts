/**
 * An MCP server on Workers of Cloudflare. The sessions of a project are in a Durable Object of its own, in which its engine runs.
 * wrangler.jsonc: { "durable_objects": { "bindings": [{ "name": "OBJECTS", "class_name": "Project" }] },
 * "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Project"] }] }
 */
import { createEngine, defineWorkflow, MemoryContent } from "phasegate";
import type { DurableObjectDatabase } from "phasegate/durable-objects";
import * as z from "zod";

const release = defineWorkflow({
  type: "release",
  revision: "1",
  name: "Release",
  description: "Test, then ship",
  phases: [
    { number: 1, name: "Test", content: "Run the tests.", gate: { evidence: z.object({ passed: z.int().min(1) }) } },
    { number: 2, name: "Ship", content: "Tag and publish." },
  ],
});
const content = new MemoryContent({ workflows: [release] });

/** What is used of the types that `wrangler types` writes. */
interface Env {
  readonly TOKEN: string;
  readonly OBJECTS: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response> };
  };
}

// #region object
import { DurableStorage } from "phasegate/durable-objects";
import { registerWorkflowTool } from "phasegate/mcp";
import { createMcpHttpHandler } from "phasegate/mcp-http";

/** The sessions of one project. */
export class Project {
  readonly fetch: (request: Request) => Promise<Response>;

  constructor(ctx: { storage: DurableObjectDatabase }, env: Env) {
    const engine = createEngine({ storage: new DurableStorage(ctx.storage), content });
    const mcp = createMcpHttpHandler({
      // Your own login: it returns who calls, or the response that refuses the request.
      login: {
        authenticate: async ({ headers }) => {
          if (headers.get("authorization") === `Bearer ${env.TOKEN}`) return { name: "ann" };
          return new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } });
        },
      },
      register: (server, { actor }) => registerWorkflowTool(server, engine.as(actor)),
    });
    this.fetch = (request) => mcp.fetch(request);
  }
}

/** `/PROJECT/mcp` is answered by the project's object, wherever on earth it is. */
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    const [, project, path] = /^\/([\w-]+)(\/mcp)$/.exec(url.pathname) ?? [];
    if (project === undefined || path === undefined) return new Response(null, { status: 404 });
    url.pathname = path;
    return env.OBJECTS.get(env.OBJECTS.idFromName(project)).fetch(new Request(url, request));
  },
};
// #endregion object
