import { McpServer } from "@modelcontextprotocol/server";
import type { WorkflowListing } from "phasegate";
import { defineWorkflow, MemoryContent } from "phasegate";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { registerWorkflowTool } from "../../src/mcp/tools.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built, twoPhases } from "../support/workflows.js";
import { connectInMemory, readResource } from "./connect-in-memory.js";

const sources = { broken_one: { "metadata.json": "{" } };
const content = new MemoryContent({ workflows: [twoPhases], sources });

describe("workflows as resources", () => {
  it("are listed, broken ones too", async () => {
    const { client } = await connectInMemory(makeEngine({ content }).engine);
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([
      {
        uri: "phasegate://workflow/broken_one",
        mimeType: "application/json",
        description: expect.stringContaining("has errors"),
      },
      { uri: "phasegate://workflow/two_phases", title: "Two phases", mimeType: "application/json" },
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "phasegate://workflow/{type}",
      "phasegate://workflow/{type}/{cursor}",
      "phasegate://workflows/{cursor}",
      "phasegate://session/{id}",
      "phasegate://session/{id}/{cursor}",
      "phasegate://document/{id}/{+path}",
      "phasegate://document-page/{id}/{cursor}/{+path}",
      // The page of MCP Apps, which is in no list of resources.
      "ui://phasegate/session",
    ]);
  });

  it("contain the names of their phases, but no texts and no gates", async () => {
    const { client } = await connectInMemory(makeEngine({ content }).engine);
    const workflow = await readResource(client, "phasegate://workflow/two_phases");
    expect(workflow).toMatchObject({
      workflow_type: "two_phases",
      revision: "1",
      phases: [
        { phase_number: 1, title: "Build" },
        { phase_number: 2, title: "Ship" },
      ],
    });
    expect(JSON.stringify(workflow)).not.toMatch(/tests_pass|write the code/);
  });

  it("are listed in pages, and each is read in pages", async () => {
    const phases = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ number: index + 1, name: `Phase ${index + 1}`, content: "" }));
    const workflows = Array.from({ length: 300 }, (_, index) =>
      defineWorkflow({
        type: `workflow_${String(index).padStart(3, "0")}`,
        revision: "1",
        name: `Workflow ${index}`,
        description: index === 7 ? "very long ".repeat(3000) : `Does ${"much ".repeat(20)}`,
        phases: phases(index === 7 ? 900 : 1),
      }),
    );
    const { engine } = makeEngine({ content: new MemoryContent({ workflows }) });
    const { client } = await connectInMemory(engine, { maxTokens: 2_000 });
    const listed = await client.listResources();
    expect(JSON.stringify(listed).length).toBeLessThan(8_500);
    const names = listed.resources.map(({ name }) => name);
    const more = listed.resources.at(-1);
    expect(more).toMatchObject({ name: expect.stringMatching(/^\d+ more workflows$/) });
    names.pop();
    for (let uri: unknown = more?.uri; typeof uri === "string"; ) {
      const page = await readResource(client, uri);
      expect(JSON.stringify(page).length).toBeLessThan(8_500);
      expect(page.total).toBe(300);
      names.push(
        ...z
          .array(z.object({ name: z.string() }))
          .parse(page.workflows)
          .map(({ name }) => name),
      );
      uri = page.next;
    }
    expect(names).toEqual(workflows.map(({ definition }) => definition.structure.type));

    let json = "";
    for (let uri: unknown = "phasegate://workflow/workflow_007"; typeof uri === "string"; ) {
      const page = z
        .object({ json_page: z.string(), next: z.string().optional() })
        .parse(await readResource(client, uri));
      expect(page.json_page.length).toBeLessThan(8_000);
      json += page.json_page;
      uri = page.next;
    }
    expect(JSON.parse(json)).toMatchObject({ workflow_type: "workflow_007", phases: { length: 900 } });
    for (const uri of ["phasegate://workflow/workflow_007/nonsense", "phasegate://workflows/nonsense"]) {
      await expect(client.readResource({ uri })).rejects.toThrow(/cursor/);
    }
  });

  it("contain the diagnostics of a broken workflow", async () => {
    const { client } = await connectInMemory(makeEngine({ content }).engine);
    const broken = await readResource(client, "phasegate://workflow/broken_one");
    expect(broken).toMatchObject({ broken: true, diagnostics: [expect.stringContaining("metadata.json:1:")] });
  });

  it.each([
    "phasegate://workflow/none",
    "phasegate://workflow/%E0%A4%A",
    "phasegate://else/1",
    "phasegate://session/-",
  ])("are not found at %s", async (uri) => {
    const { client } = await connectInMemory(makeEngine({ content }).engine);
    await expect(client.readResource({ uri })).rejects.toThrow(/not found/i);
  });
});

describe("sessions as resources", () => {
  it("are listed, newest first, and read with their history", async () => {
    const { engine, clock } = makeEngine();
    const first = await startTwoPhases(engine);
    clock.advance(60_000);
    const second = await startTwoPhases(engine, "src/b.ts");
    await engine.session(second).completePhase(1, {});
    const { client } = await connectInMemory(engine);
    const { resources } = await client.listResources();
    const sessions = resources.filter(({ uri }) => uri.startsWith("phasegate://session/"));
    expect(sessions.map(({ name }) => name)).toEqual([second, first]);
    expect(sessions[0]).toMatchObject({ description: "two_phases on src/b.ts: active" });
    expect(await readResource(client, `phasegate://session/${second}`)).toMatchObject({
      session_id: second,
      status: "active",
      current_phase: 1,
      total_phases: 2,
      completed_phases: [],
      phase_history: [
        { phase: 1, attempt: 1, status: "failed" },
        { phase: 1, attempt: 2, status: "active" },
      ],
    });
  });

  it("are read in pages if their history is long", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 1000, maxAttemptsTotal: 1000 } });
    const id = await startTwoPhases(engine);
    for (let attempt = 0; attempt < 100; attempt += 1) await engine.session(id).completePhase(1, {});
    const { client } = await connectInMemory(engine, { maxTokens: 1_000 });
    const page = await readResource(client, `phasegate://session/${id}`);
    expect(page).toMatchObject({ json_page: expect.any(String), next: expect.stringContaining(`session/${id}/`) });
    expect(JSON.stringify(page).length).toBeLessThan(4_500);
    expect(await readResource(client, String(page.next))).toMatchObject({ json_range: { total: expect.any(Number) } });
  });

  it("are only available if the host allows the actions that show sessions", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const uri = `phasegate://session/${sessionId}`;
    const none = await connectInMemory(engine, { actions: ["list_workflows", "start"] });
    await expect(none.client.readResource({ uri })).rejects.toThrow(/not found/i);
    const known = await connectInMemory(engine, { actions: ["get_session"] });
    expect((await known.client.listResources()).resources).toEqual([]);
    expect(await readResource(known.client, uri)).toMatchObject({ session_id: sessionId });
  });
});

describe("list-changed notifications", () => {
  it("are sent when sessions start, end or are deleted", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 1 } });
    const { changes, registration } = await connectInMemory(engine);
    const one = await startTwoPhases(engine);
    await vi.waitFor(() => expect(changes).toHaveLength(1));
    await engine.session(one).completePhase(1, built);
    await engine.session(one).completePhase(2, {});
    await vi.waitFor(() => expect(changes).toHaveLength(2));
    const two = await startTwoPhases(engine, "src/b.ts");
    await engine.session(two).completePhase(1, {});
    await vi.waitFor(() => expect(changes).toHaveLength(4));
    await engine.session(two).delete();
    await vi.waitFor(() => expect(changes).toHaveLength(5));
    registration.dispose();
    await startTwoPhases(engine, "src/c.ts");
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(changes).toHaveLength(5);
  });

  it("are not sent, and cause no errors, without a client", async () => {
    const { engine } = makeEngine();
    const errors: unknown[] = [];
    engine.on("internalError", (error) => errors.push(error));
    const { client, server, changes } = await connectInMemory(engine);
    await client.close();
    await startTwoPhases(engine);
    await server.close();
    await startTwoPhases(engine, "src/b.ts");
    expect({ errors, changes }).toEqual({ errors: [], changes: [] });
  });

  it("need one poll at a time, however long it takes", async () => {
    const { engine } = makeEngine({ content });
    let looking = 0;
    let most = 0;
    let looks = 0;
    const list = async () => {
      looking += 1;
      most = Math.max(most, looking);
      await new Promise((resolve) => setTimeout(resolve, 20));
      looking -= 1;
      looks += 1;
      return [];
    };
    const slow = Object.assign(new MemoryContent({}), { list });
    await connectInMemory(engine, { poll: { content: slow, everyMs: 1 } });
    await vi.waitFor(() => expect(looks).toBeGreaterThan(2));
    expect(most).toBe(1);
  });

  it("are polled for once in an interval that no timer can have", async () => {
    let looks = 0;
    const list = async () => {
      looks += 1;
      return [];
    };
    const counted = Object.assign(new MemoryContent({}), { list });
    await connectInMemory(makeEngine().engine, { poll: { content: counted, everyMs: 2 ** 31 } });
    await vi.waitFor(() => expect(looks).toBe(1), { timeout: 5000 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(looks).toBe(1);
  });

  it("are not polled for before the client has had time for its first requests", async () => {
    const list = vi.fn(async () => []);
    const server = new McpServer({ name: "test", version: "1" });
    const polled = Object.assign(new MemoryContent({}), { list });
    const { dispose } = registerWorkflowTool(server, makeEngine().engine, {
      poll: { content: polled, everyMs: 60_000 },
    });
    expect(list).not.toHaveBeenCalled();
    await vi.waitFor(() => expect(list).toHaveBeenCalledOnce(), { timeout: 5000 });
    dispose();
  });

  it("are sent when a polled provider has other workflows", async () => {
    const { engine } = makeEngine();
    const listings: WorkflowListing[] = [ready("1")];
    let failing = false;
    const polled = {
      ...content,
      list: async () => {
        if (failing) throw new Error("not now");
        return [...listings];
      },
      definition: async () => undefined,
      text: async () => ({ text: "", revision: "", sources: [], tokens: 0 }),
    };
    const { changes, registration } = await connectInMemory(engine, { poll: { content: polled, everyMs: 5 } });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(changes).toEqual([]);
    failing = true;
    await new Promise((resolve) => setTimeout(resolve, 20));
    failing = false;
    listings[0] = ready("2");
    await vi.waitFor(() => expect(changes).toHaveLength(1));
    listings.push({ status: "broken", type: "other", diagnostics: [] });
    await vi.waitFor(() => expect(changes).toHaveLength(2));
    expect(engine.metrics().listWorkflows).toBeUndefined();
    registration.dispose();
    listings.pop();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(changes).toHaveLength(2);
  });
});

function ready(revision: string): WorkflowListing {
  const phases = [{ number: 1, name: "Only", content: "" }];
  const { definition } = defineWorkflow({ type: "one", revision, name: "One", description: "", phases });
  return { status: "ready", type: "one", definition, diagnostics: [] };
}
