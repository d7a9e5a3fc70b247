import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { LinearDecider } from "phasegate/ai";
import { createInspector } from "phasegate/inspector";
import { registerWorkflowTool } from "phasegate/mcp";
import { createMcpHttpHandler } from "phasegate/mcp-http";
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";

const gate = { fields: { tests: { type: "integer", required: true } } } as const;
const phases = [{ number: 1, name: "Test", content: "Run the tests.", gate }];
const release = defineWorkflow({ type: "release", revision: "1", name: "Release", description: "Test it", phases });
const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [release] }) });
const step = (name: string) => ({ name, guidance: "Then Review.", instructions: "Do it." });
const steps = [step("Write"), step("Review")] as const;
const change = defineRoutedWorkflow({ name: "CHANGE", goal: "A change.", steps });
const routed = createRoutedEngine({
  storage: new MemoryStorage(),
  workflows: routedWorkflows(change),
  decider: new LinearDecider(),
});
const inspector = createInspector({ engine, routed, access: { token: "a-token-of-32-characters-or-more-it-is" } });
const mcp = createMcpHttpHandler({ register: (server) => registerWorkflowTool(server, engine), stateful: false });

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  return pathname === "/mcp" ? mcp.fetch(request) : inspector.fetch(request);
}

export async function selfTest(): Promise<string> {
  const page = await answer(new Request("http://127.0.0.1/"));
  const script = await answer(new Request("http://127.0.0.1/page.js"));
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const tools = await (await answer(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }))).text();
  const { sessionId } = await routed.start({ workflow: "CHANGE" });
  const { nextStep } = await routed.session(sessionId).advance({ report: { status: "success", message: "w" } });
  const { sessionId: id } = await engine.start({ workflowType: "release", target: "a" });
  const { passed } = await engine.session(id).completePhase(1, { tests: 1 });
  return [
    page.status,
    script.status,
    (await script.text()).length > 50000,
    tools.includes("pos_workflow"),
    nextStep.name,
    passed,
  ].join(" ");
}
