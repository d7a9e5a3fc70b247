import type { Client, ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LinearDecider } from "../../src/deciders/linear.js";
import { SamplingDecider, type SamplingServer } from "../../src/deciders/sampling.js";
import { registerRoutedTools } from "../../src/mcp/routed-tools.js";
import { registerWorkflowTool } from "../../src/mcp/tools.js";
import { systemClock } from "../../src/ports/clock.js";
import type { RoutedToolsOptions } from "../../src/tools/routed/routed-tools.js";
import { routed, Script } from "../routed/engine/garden.js";
import { DEPTH_GATE, GATED, gardenWith } from "../support/gated-garden.js";
import { makeEngine } from "../support/make-engine.js";
import { answerOf } from "./connect-in-memory.js";
import { connectRouted } from "./connect-routed.js";
import type { TestServer } from "./host-servers.js";

const report = { status: "success" };

describe("the tools of routed workflows", () => {
  it("are listed with their schemas and annotations, in few tokens", async () => {
    const { client } = await connectRouted(routed(new Script()).engine);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "list_workflows",
      "start_workflow",
      "advance_workflow",
      "resume_workflow",
      "get_workflow_status",
      "suspend_workflow",
      "cancel_workflow",
      "retry_workflow",
      "get_workflow_history",
    ]);
    const advance = tools.find(({ name }) => name === "advance_workflow");
    expect(advance?.inputSchema).toMatchObject({
      required: ["instance_id", "report"],
      properties: { report: { type: "object", required: ["status"], properties: { details: { type: "object" } } } },
    });
    expect(tools.find(({ name }) => name === "get_workflow_status")?.annotations).toMatchObject({ readOnlyHint: true });
    // The listing is in every context all the time, so it must be short.
    expect(JSON.stringify(tools).length / 4).toBeLessThan(3000);
  });

  it("run a workflow from start to end", async () => {
    const { ask } = await connectRouted(routed(new LinearDecider()).engine);
    expect(await ask("list_workflows")).toEqual({ workflows: ["GARDEN"], goals: { GARDEN: "Peas." } });
    const { instance_id } = await ask("start_workflow", { workflow_name: "GARDEN", context: { bed: "north" } });
    const steps: unknown[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const { next_step } = await ask("advance_workflow", { instance_id, report, context_updates: { turn } });
      steps.push(next_step);
    }
    expect(steps).toMatchObject([{ step_name: "Sow" }, { step_name: "Water" }, { step_name: "FINISH" }]);
    expect(await ask("get_workflow_status", { instance_id })).toMatchObject({
      status: "COMPLETED",
      current_context: { bed: "north", turn: 2 },
    });
    expect(await ask("get_workflow_history", { instance_id })).toMatchObject({
      history: [{ step_name: "Dig" }, { step_name: "Sow" }, { step_name: "Water", determined_next_step: "FINISH" }],
    });
  });

  it("answer a wrong call with an error code and a remedy", async () => {
    const { call, ask, start } = await connectRouted(routed(new Script(new Error("down"))).engine);
    const wrong = await call("advance_workflow", { instance_id: "a" });
    expect(wrong.isError).toBe(true);
    expect(answerOf(wrong)).toMatchObject({
      error_code: "MISSING_FIELD",
      message: "Missing required field: report.",
    });
    const instance_id = await start();
    expect(await ask("advance_workflow", { instance_id, report })).toMatchObject({ error_code: "AI_SERVICE_ERROR" });
    expect(await ask("suspend_workflow", { instance_id })).toMatchObject({
      error_code: "INVALID_TRANSITION",
      details: { allowed: ["retry_workflow"], remedy: "Possible now: retry_workflow." },
    });
    expect(await ask("cancel_workflow", { instance_id: "nobody" })).toMatchObject({ error_code: "INSTANCE_NOT_FOUND" });
  });

  it("suspend, resume, retry and cancel", async () => {
    const { ask, start } = await connectRouted(routed(new Script("Sow", new Error("down"), "Water")).engine);
    const instance_id = await start();
    expect(await ask("suspend_workflow", { instance_id, reason: "rain" })).toMatchObject({ status: "SUSPENDED" });
    const back = { instance_id, assumed_current_step_name: "Dig", report };
    expect(await ask("resume_workflow", back)).toMatchObject({ next_step: { step_name: "Sow" } });
    await ask("advance_workflow", { instance_id, report });
    expect(await ask("retry_workflow", { instance_id })).toMatchObject({ next_step: { step_name: "Water" } });
    expect(await ask("cancel_workflow", { instance_id })).toMatchObject({ status: "FAILED", reason: "cancelled" });
  });

  it("can be one tool with actions", async () => {
    const { client, ask } = await connectRouted(routed(new LinearDecider()).engine, { tools: "single", name: "route" });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["route"]);
    expect(tools[0]?.inputSchema).toMatchObject({ required: ["action"] });
    const { instance_id } = await ask("route", { action: "start_workflow", workflow_name: "GARDEN" });
    expect(await ask("route", { action: "advance_workflow", instance_id, report })).toMatchObject({
      next_step: { step_name: "Sow" },
    });
    expect(await ask("route", { action: "advance" })).toMatchObject({
      error_code: "INVALID_FIELD",
      details: { remedy: expect.stringContaining("advance_workflow") },
    });
    expect(await ask("route")).toMatchObject({ error_code: "MISSING_FIELD" });
  });

  it("can be registered next to the phased tool, and under other names", async () => {
    const options: RoutedToolsOptions = { calls: ["list", "start"], names: { list: "list_routes" } };
    const { client } = await connectRouted(routed(new Script()).engine, options, (_, server) => {
      registerWorkflowTool(server, makeEngine().engine, { name: "list_workflows" });
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["list_routes", "start_workflow", "list_workflows"]);
  });

  it.each([
    [{ calls: [] }, "at least one call"],
    [{ calls: ["begin"] }, "there is no call begin"],
    [{ names: { list: "start_workflow" } }, "two tools would be called start_workflow"],
  ])("are refused with %j", (options, message) => {
    const { engine } = routed(new Script());
    const register = () => Reflect.apply(registerRoutedTools, undefined, [{ registerTool: () => {} }, engine, options]);
    expect(register).toThrow(message);
  });
});

describe("a client's own model", () => {
  /** Returns a decider that asks the client of the connected server. */
  function sampling() {
    let server: SamplingServer | undefined;
    const decider = new SamplingDecider({ server: () => server });
    const use = (connected: TestServer) => {
      server = connected.server;
    };
    return { decider, use };
  }

  it("picks the next step if the client has sampling", async () => {
    const { decider, use } = sampling();
    const prompts: string[] = [];
    const prepare = (client: Client, server: TestServer) => {
      use(server);
      client.registerCapabilities({ sampling: {} });
      client.setRequestHandler("sampling/createMessage", ({ params }) => {
        prompts.push(JSON.stringify(params));
        const text = JSON.stringify({ next_step_name: "Water", updated_context: [{ key: "by", value: "client" }] });
        return { role: "assistant", model: "mine", content: { type: "text", text } };
      });
    };
    const { ask, start } = await connectRouted(routed(decider).engine, {}, prepare);
    const instance_id = await start();
    expect(await ask("advance_workflow", { instance_id, report: { ...report, message: "dug" } })).toMatchObject({
      next_step: { step_name: "Water" },
      current_context: { by: "client" },
    });
    expect(prompts).toHaveLength(1);
    expect(prompts[0]).toContain("dug");
    const { history } = await ask("get_workflow_history", { instance_id });
    expect(history).toMatchObject([{ decision: { model: "mine", requests: 1 } }]);
  });

  it("is reported as unavailable if the client has no sampling, and the report is kept", async () => {
    const { decider, use } = sampling();
    const { ask, start } = await connectRouted(routed(decider).engine, {}, (_, server) => use(server));
    const instance_id = await start();
    expect(await ask("advance_workflow", { instance_id, report })).toMatchObject({
      error_code: "AI_SERVICE_ERROR",
      details: { reason: "unavailable", message: expect.stringContaining("no sampling") },
    });
    expect(await ask("get_workflow_status", { instance_id })).toMatchObject({
      status: "FAILED",
      allowed: ["retry_workflow"],
    });
  });
});

describe("a step with a gate", () => {
  const asking = gardenWith({ ...DEPTH_GATE, approval: { prompt: "Deep enough?" } });
  const dug = { status: "success", details: { depth: 20 } };

  async function waiting(answer?: ElicitResult | Promise<ElicitResult>, unsigned = true) {
    const { engine } = routed(new Script("Sow"), { workflows: asking, allowUnsignedApprovals: unsigned });
    const asked: ElicitRequest["params"][] = [];
    const connected = await connectRouted(engine, {}, (client) => {
      if (answer === undefined) return;
      client.registerCapabilities({ elicitation: {} });
      client.setRequestHandler("elicitation/create", ({ params }) => {
        asked.push(params);
        return answer;
      });
    });
    const instance_id = await connected.start();
    return { ...connected, engine, asked, instance_id };
  }

  it("waits for its approval, and says who must give it", async () => {
    const { ask, instance_id } = await waiting();
    expect(await ask("advance_workflow", { instance_id, report: dug })).toMatchObject({
      next_step: { step_name: "Dig" },
      awaiting_approval: true,
      approval: { step_name: "Dig", prompt: "Deep enough?" },
    });
    expect(await ask("get_workflow_status", { instance_id })).toMatchObject({ awaiting_approval: true });
  });

  it("asks the client's user, and continues with the next step after an approval", async () => {
    const { ask, asked, instance_id } = await waiting({ action: "accept", content: { decision: "approve" } });
    const answered = await ask("advance_workflow", { instance_id, report: dug });
    expect(answered).toMatchObject({ next_step: { step_name: "Sow" } });
    expect(answered.awaiting_approval).toBeUndefined();
    expect(asked).toHaveLength(1);
    expect(asked[0]?.message).toContain("Deep enough?");
    expect(asked[0]?.message).toContain("The step Dig of GARDEN");
    expect(asked[0]?.message).toContain('"depth": 20');
  });

  it("stays the current step after a denial, and the client gets the note", async () => {
    const content = { decision: "deny", note: "deeper" };
    const { ask, instance_id } = await waiting({ action: "accept", content });
    expect(await ask("advance_workflow", { instance_id, report: dug })).toMatchObject({
      next_step: { step_name: "Dig" },
      approval_denied: { by: "client user", note: "deeper" },
      status: "RUNNING",
    });
  });

  it("answers that it waits if the client's user takes long, whose late answer counts once", async () => {
    const { after } = systemClock;
    const clock = vi.spyOn(systemClock, "after");
    clock.mockImplementation((milliseconds, callback) => after(milliseconds === 20_000 ? 20 : milliseconds, callback));
    onTestFinished(() => clock.mockRestore());
    let decide = (_: ElicitResult) => {};
    const late = new Promise<ElicitResult>((resolve) => {
      decide = resolve;
    });
    const { ask, asked, engine, instance_id } = await waiting(late);
    const advance = { instance_id, report: dug };
    expect(await ask("advance_workflow", advance)).toMatchObject({ awaiting_approval: true });
    expect(await ask("advance_workflow", advance)).toMatchObject({ awaiting_approval: true });
    expect(asked).toHaveLength(1);
    const approved = new Promise((resolve) => engine.on("approved", resolve));
    decide({ action: "accept", content: { decision: "approve" } });
    await approved;
    expect(await ask("advance_workflow", advance)).toMatchObject({ next_step: { step_name: "Sow" } });
    expect(await ask("get_workflow_status", { instance_id })).toMatchObject({ next_step: { step_name: "Sow" } });
  });

  it("does not ask the client's user if the host requires a signature", async () => {
    const { ask, asked, instance_id } = await waiting({ action: "accept", content: { decision: "approve" } }, false);
    expect(await ask("advance_workflow", { instance_id, report: dug })).toMatchObject({ awaiting_approval: true });
    expect(asked).toEqual([]);
  });

  it("is shown with the requirements of its gate", async () => {
    const { ask, start } = await connectRouted(routed(new Script("Sow"), { workflows: GATED }).engine);
    const instance_id = await start();
    expect(await ask("get_workflow_status", { instance_id })).toMatchObject({
      next_step: { report_details: { required: ["depth"], example: { depth: expect.stringMatching(/^</) } } },
    });
    expect(await ask("advance_workflow", { instance_id, report })).toMatchObject({
      gate: { passed: false, problems: [{ field: "depth", problem: "missing" }] },
    });
  });

  it("is shown with a form that is no claim, also once it is refused", async () => {
    const fields = [...DEPTH_GATE.fields, { name: "dug", type: "boolean" as const, required: true }];
    const workflows = gardenWith({ ...DEPTH_GATE, fields });
    const { ask, start } = await connectRouted(routed(new Script("Sow"), { workflows }).engine);
    const instance_id = await start();
    const shown = await ask("get_workflow_status", { instance_id });
    expect(shown).toMatchObject({ next_step: { report_details: { required: ["depth", "dug"] } } });
    expect(Object(shown.next_step).report_details.example).toMatchObject({ dug: expect.stringMatching(/^<boolean/) });
    const refused = await ask("advance_workflow", { instance_id, report });
    expect(refused).toMatchObject({
      gate: { problems: [{ field: "depth" }, { field: "dug" }] },
    });
    const history = await ask("get_workflow_history", { instance_id });
    for (const answer of [refused.gate, history]) expect(JSON.stringify(answer)).not.toContain('"example"');
  });

  it("does not show in answers and history what its gate hides", async () => {
    const workflows = gardenWith({ ...DEPTH_GATE, reveal: "none" });
    const { ask, start } = await connectRouted(routed(new Script("Sow"), { workflows }).engine);
    const instance_id = await start();
    const refused = await ask("advance_workflow", { instance_id, report });
    const history = await ask("get_workflow_history", { instance_id });
    expect(refused).toMatchObject({ gate: { problems: [{ field: "" }] } });
    expect(JSON.stringify([refused, history])).not.toContain("depth");
  });
});
