/** Mistakes of a host without a type checker: each is refused where it is made, with the name of what is wrong. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { McpServer } from "@modelcontextprotocol/server";
import { createEngine, createWorkflowTool, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { FileContent } from "phasegate/fs";
import { createHttpApi } from "phasegate/http";
import { createInspector } from "phasegate/inspector";
import { createHostCheck, createQuotas, createToken, createTokenLogin, tokensText } from "phasegate/login";
import { registerWorkflowTool } from "phasegate/mcp";
import { createMcpHttpHandler } from "phasegate/mcp-http";
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";
import { FaultyStorage, runStorageContract } from "phasegate/testing";
import { createVerifiers } from "phasegate/verify";
import { createWorkspace } from "phasegate/workspace";
import { describe, expect, it } from "vitest";
import * as z from "zod";

/** What plain JavaScript may pass. */
type Any = never;

const workflow = defineWorkflow({
  ...{ type: "one", revision: "1", name: "One", description: "One phase" },
  phases: [{ number: 1, name: "Do", content: "# Do" }],
});
const storage = new MemoryStorage();
const content = new MemoryContent({ workflows: [workflow] });
const engine = createEngine({ storage, content, retention: { completed: 1, active: 1 } });
const server = () => new McpServer({ name: "test", version: "1" });
const register = () => [];

/** A workflow whose gate checks a field. */
const checking = (field: string, gate: object) =>
  defineWorkflow({
    ...{ type: "two", revision: "1", name: "Two", description: "A gate with a check" },
    phases: [{ number: 1, name: "Do", content: "# Do", gate: { ...gate, verify: [{ verifier: "v", field }] } as Any }],
  });
const routed = (step: object) =>
  defineRoutedWorkflow({ name: "W", steps: [{ name: "A", guidance: "g", instructions: "i", ...step }] as Any });

const REFUSED: Readonly<Record<string, readonly [make: () => unknown, message: string]>> = {
  "a tool for an actor that was not found": [
    () => createWorkflowTool(engine, { actor: undefined } as Any),
    "createWorkflowTool: actor is undefined",
  ],
  "a tool with a rule for no actor": [
    () => createWorkflowTool(engine, { authorize: () => false }),
    "createWorkflowTool: actor is undefined",
  ],
  "a tool with a misspelt actor": [
    () => createWorkflowTool(engine, { acter: { name: "bob" } } as Any),
    'createWorkflowTool has no option "acter"',
  ],
  "a tool of a promise": [
    () => createWorkflowTool(Promise.resolve(engine) as Any),
    "createWorkflowTool: engine is a promise",
  ],
  "a tool with a text as its budget": [
    () => createWorkflowTool(engine, { maxTokens: "6k" as Any }),
    "createWorkflowTool: maxTokens must be a number",
  ],
  "an actor with a text as roles": [
    () => engine.as({ name: "ann", roles: "no-operator" as Any }),
    "as: roles must be a list of texts",
  ],
  "an HTTP API with a misspelt rule": [
    () => createHttpApi(engine, { authorise: () => false } as Any),
    'createHttpApi has no option "authorise"',
  ],
  "an HTTP API with a login that was not found": [
    () => createHttpApi(engine, { login: null as Any }),
    "createHttpApi: login must be a login",
  ],
  "an HTTP API with a rule for no actor": [
    () => createHttpApi(engine, { tool: { authorize: () => false } }),
    "createHttpApi: tool.authorize needs a login",
  ],
  "an HTTP API with a text as a size": [
    () => createHttpApi(engine, { maxBodyBytes: "1mb" as Any }),
    "createHttpApi: maxBodyBytes must be a number",
  ],
  "an HTTP API for all pages, written shortly": [
    () => createHttpApi(engine, { cors: "*" as Any }),
    "createHttpApi: cors must be an object with origins",
  ],
  "an MCP handler with a misspelt login": [
    () => createMcpHttpHandler({ register, logn: {} } as Any),
    'createMcpHttpHandler has no option "logn"',
  ],
  "an MCP handler with the HTTP API's option": [
    () => createMcpHttpHandler({ register, authorize: () => false } as Any),
    'createMcpHttpHandler has no option "authorize"',
  ],
  "an MCP handler without tools": [() => createMcpHttpHandler({} as Any), "createMcpHttpHandler: register is missing"],
  "an MCP tool with server and engine exchanged": [
    () => registerWorkflowTool(engine as Any, server() as Any),
    "registerWorkflowTool: engine must be an engine",
  ],
  "an MCP tool that polls all the time": [
    () => registerWorkflowTool(server(), engine, { poll: { content, everyMs: "5s" as Any } }),
    "registerWorkflowTool: poll.everyMs must be a number",
  ],
  "content of a list": [() => new MemoryContent([workflow] as Any), "new MemoryContent: the options must be an object"],
  "content of one workflow": [
    () => new MemoryContent({ workflows: workflow as Any }),
    "new MemoryContent: workflows must be a list of workflows",
  ],
  "content of a misspelt list": [
    () => new MemoryContent({ workflow: [workflow] } as Any),
    'new MemoryContent has no option "workflow"',
  ],
  "content of what was not defined": [
    () => new MemoryContent({ workflows: [{ type: "x" }] as Any }),
    "as defineWorkflow() returns them",
  ],
  "content of a workflow as texts": [
    () => new MemoryContent({ sources: { one: workflow as Any } }),
    "new MemoryContent: sources",
  ],
  "folders as a text": [() => new FileContent("workflows" as Any), "new FileContent: the options must be an object"],
  "folders in a text": [() => new FileContent({ roots: "workflows" as Any }), "new FileContent: roots must be a list"],
  "routed workflows as a list": [
    () => routedWorkflows([routed({})] as Any),
    "routedWorkflows takes workflows, one after the other",
  ],
  "quotas with a misspelt limit": [() => createQuotas({ session: 1 } as Any), 'createQuotas has no option "session"'],
  "a login of a file's name": [() => createTokenLogin("tokens.json" as Any), "createTokenLogin: the options must be"],
  "a token for ninety days, in words": [
    () => createToken({ name: "ann", roles: ["agent"], expires: "90d" as Any }),
    "createToken: expires must be milliseconds since 1970",
  ],
  "a token without an end in numbers": [
    () => createToken({ name: "ann", roles: ["agent"], expires: Number.POSITIVE_INFINITY }),
    "createToken: expires must be milliseconds since 1970",
  ],
  "an inspector of the other engine": [
    () => createInspector({ routed: engine as Any, access: { authorize: () => true } }),
    "createInspector: routed must be an engine, as createRoutedEngine() returns it",
  ],
  "a watch by an owner": [() => engine.watch({ owner: "ann" } as Any), 'watch has no option "owner"'],
  "a file with the tokens themselves": [
    () => tokensText([createToken({ name: "ann", roles: ["agent"] }) as Any]),
    "an entry",
  ],
  "a check of one host": [
    () => createHostCheck({ hosts: "example.com" as Any }),
    "createHostCheck: hosts must be a list of texts",
  ],
  "a fault of a misspelt method": [
    () => new FaultyStorage(storage).inject({ method: "apend" as Any, fault: "fail" }),
    "inject: method must be read or append",
  ],
  "a fault of an unknown kind": [
    () => new FaultyStorage(storage).inject({ method: "append", fault: "drop" as Any }),
    "inject: fault must be fail or delay",
  ],
  "an inspector that is given no access": [
    () => createInspector({ engine } as Any),
    "createInspector: access is missing",
  ],
  "an inspector with a misspelt title": [
    () => createInspector({ engine, access: { authorize: () => true }, titel: "x" } as Any),
    'createInspector has no option "titel"',
  ],
  "a watch of a misspelt filter": [() => engine.watch({ sttus: ["active"] } as Any), 'watch has no option "sttus"'],
};

const INVALID: Readonly<Record<string, readonly [make: () => unknown, message: string]>> = {
  "a check of a misspelt field of a schema": [
    () => checking("pased", { evidence: z.object({ passed: z.int() }) }),
    'gate.verify[0].field: the evidence has no field "pased"; did you mean passed?',
  ],
  "a check of a misspelt field": [
    () => checking("reprot", { fields: { report: { type: "string" } } }),
    'gate.verify[0].field: the evidence has no field "reprot"; did you mean report?',
  ],
  "a check of a misspelt field of a step": [
    () => routed({ gate: { fields: [{ name: "report" }], verify: [{ verifier: "v", field: "reprot" }] } }),
    'step "A": gate.verify[0].field: the evidence has no field "reprot"; did you mean report?',
  ],
  "a step with the key of a file": [
    () => routed({ max_visits: 1 }),
    'step "A" has no key "max_visits"; did you mean maxVisits?',
  ],
  "a step with a misspelt way on": [() => routed({ nxt: ["A"] }), 'step "A" has no key "nxt"; did you mean next?'],
  "a step with the keys of a gate": [() => routed({ verify: [] }), 'step "A" has no key "verify"'],
  "a workflow with a misspelt goal": [
    () => defineRoutedWorkflow({ name: "W", gaol: "x", steps: [] } as Any),
    'the workflow has no key "gaol"',
  ],
};

it.each(Object.entries(INVALID))("%s", (_, [make, message]) => {
  expect(make).toThrow(
    expect.objectContaining({ code: "DEFINITION_INVALID", message: expect.stringContaining(message) }),
  );
});

it("a check of a field that a schema does not name stays allowed where the schema takes others", () => {
  const open: object = {
    vendor: "other",
    version: 1,
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ type: "object", properties: { passed: { type: "integer" } } }) },
  };
  expect(() => checking("other", { evidence: { "~standard": open } })).not.toThrow();
  expect(() => checking("other", { evidence: z.looseObject({ passed: z.int() }) })).not.toThrow();
  expect(() => checking("other", { evidence: z.record(z.string(), z.number()) })).not.toThrow();
});

it.each(Object.entries(REFUSED))("%s", (_, [make, message]) => {
  expect(make).toThrow(expect.objectContaining({ code: "INVALID_INPUT", message: expect.stringContaining(message) }));
});

const REJECTED: Readonly<Record<string, readonly [call: () => Promise<unknown>, message: string]>> = {
  "verifiers of a misspelt root": [
    () => createVerifiers({ projectroot: "." } as Any),
    'createVerifiers has no option "projectroot"',
  ],
  "verifiers with a text as a limit": [
    () => createVerifiers({ projectRoot: ".", limits: { maxFileBytes: "1mb" as Any } }),
    "createVerifiers: limits.maxFileBytes must be a number",
  ],
  "a workspace without folders": [() => createWorkspace({} as Any), "createWorkspace: bundleRoot is missing"],
  "a cleanup with a misspelt preview": [
    () => engine.cleanup({ dryRun: true } as Any),
    'cleanup has no option "dryRun"',
  ],
  "a cleanup with ages": [() => engine.cleanup({ completed: 1 } as Any), 'cleanup has no option "completed"'],
  "a cleanup of a word": [() => engine.cleanup("completed" as Any), "cleanup: the options must be an object"],
  "a list by a misspelt filter": [
    () => engine.listSessions({ state: ["completed"] } as Any),
    'listSessions has no option "state"',
  ],
  "a list by a text as status": [
    () => engine.listSessions({ status: "inactive" as Any }),
    "listSessions: status must be a list",
  ],
  "a list by an unknown status": [
    () => engine.listSessions({ status: ["COMPLETED"] as Any }),
    "listSessions: status must be a list of some of active",
  ],
  "a contract of a misspelt case": [
    () => runStorageContract({ open: async () => storage }, { only: "raed:" }),
    'no case has "raed:" in its name',
  ],
  "a list by a time in words": [
    () => engine.listSessions({ updatedBefore: "yesterday" }),
    "listSessions: updatedBefore must be a time",
  ],
};

it.each(Object.entries(REJECTED))("%s", async (_, [call, message]) => {
  await expect(call()).rejects.toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining(message) });
});

describe("what is right stays allowed:", () => {
  const page = async (access: object) => {
    const inspector = createInspector({ engine, access: access as Any, actions: ["pause"] });
    return (await inspector.fetch(new Request("http://localhost/api/about"))).status;
  };
  const login = { authenticate: async () => new Response("", { status: 401 }) };
  /** A response of another class, as servers have that replace the runtime's. */
  class Elsewhere {
    readonly status = 302;
    readonly statusText = "";
    readonly headers = new Headers({ location: "/login" });
    readonly body = null;
  }

  it("a way into the inspector beside one that is undefined", async () => {
    expect(await page({ token: undefined, authorize: () => true })).toBe(200);
    const known = { authenticate: async () => ({ name: "olga", roles: ["operator"] }) };
    for (const way of [{ authorize: () => true }, { login: known }]) {
      const { sessionId } = await engine.start({ workflowType: "one", target: "c.ts" });
      const access = { token: undefined, ...way } as Any;
      const inspector = createInspector({ engine, access, actions: ["pause"] });
      const headers = { "content-type": "application/json", "x-phasegate": "1", authorization: "Bearer x" };
      const body = JSON.stringify({ action: "pause", by: "olga", note: "lunch" });
      const request = new Request(`http://localhost/api/sessions/${sessionId}/action`, {
        method: "POST",
        headers,
        body,
      });
      expect((await inspector.fetch(request)).status).toBe(200);
    }
    expect(await page({ token: undefined, login })).toBe(401);
    expect(await page({ authorize: () => new Elsewhere() })).toBe(302);
    for (const access of [{ login: {} }, { login: Promise.resolve(login) }, { token: "x".repeat(32), login }]) {
      expect(() => createInspector({ engine, access: access as Any })).toThrow("access");
    }
  });

  it("a rule of an HTTP API for its own actor, and a class with getters", async () => {
    const tool = { actor: { name: "svc" }, authorize: () => false };
    const ask = async (api: (request: Request) => Promise<Response>) =>
      (await api(new Request("http://localhost/sessions/list_sessions"))).json();
    expect(await ask(createHttpApi(engine, { tool }))).toMatchObject({ sessions: [] });
    expect(() => createHttpApi(engine, { login, tool: { actor: undefined as Any } })).not.toThrow();
    class Options {
      get login() {
        return login;
      }
    }
    const answered = await createHttpApi(
      engine,
      new Options(),
    )(new Request("http://localhost/sessions/list_workflows"));
    expect(answered.status).toBe(401);
    expect(() => createHttpApi(engine, { cors: { origin: "*", origins: ["https://a"] } as Any })).toThrow(
      "cors.origin",
    );
  });

  it("options that are undefined, functions with methods, bytes of another realm", () => {
    const bytes: unknown = runInNewContext("new Uint8Array(32)");
    const quotas = { session: undefined, verifier: undefined };
    for (const more of [{ clock: Date }, { hashKey: bytes }, { quotas }, { tool: undefined }]) {
      expect(() => createEngine({ storage, content, ...(more as Any as object) })).not.toThrow();
    }
    expect(() => createMcpHttpHandler({ register, keepAliveMs: 0 })).not.toThrow();
    const { entry } = createToken({ name: "ann", roles: ["agent"] });
    expect(tokensText([{ ...entry, revoked: undefined as Any }])).toBe(tokensText([entry]));
  });

  it("a tool whose registration was refused, once it is right", () => {
    const host = server();
    const poll = { content, everyMs: 0 };
    expect(() => registerWorkflowTool(host, engine, { poll })).toThrow("poll.everyMs");
    registerWorkflowTool(host, engine, {}).dispose();
  });
});

describe("a report", () => {
  const routedEngine = (answer: unknown) =>
    createRoutedEngine({
      ...{ storage: new MemoryStorage(), workflows: routedWorkflows(routed({})) },
      decider: { decide: async () => answer as Any },
    });

  it("with the key of the wire is refused, and so is a start", async () => {
    const engine = routedEngine({});
    await expect(engine.start({ workflow_name: "W" } as Any)).rejects.toMatchObject({
      message: 'start has no option "workflow_name"',
    });
    const { sessionId } = await engine.start({ workflow: "W" });
    const report = { status: "success" };
    await expect(engine.session(sessionId).advance({ report, context_updates: { a: 1 } } as Any)).rejects.toMatchObject(
      {
        ...{ code: "INVALID_INPUT", message: 'advance has no option "context_updates"' },
        remedy: "Did you mean contextUpdates?",
      },
    );
  });

  it.each([
    [{ nextStep: "A" }, "contextUpdates is missing"],
    [{ next_step: "A" }, "nextStep is missing"],
    [undefined, "it returned no object"],
  ])("that a decider answers with %j says what is missing", async (answer, message) => {
    const engine = routedEngine(answer);
    const { sessionId } = await engine.start({ workflow: "W" });
    await expect(engine.session(sessionId).advance({ report: { status: "success" } })).rejects.toMatchObject({
      ...{ code: "DECIDER_FAILED", message: `the decider gave no answer: ${message}` },
    });
  });
});

describe("a request", () => {
  const asked = async () => (await engine.start({ workflowType: "one", target: "b.ts" })).sessionId;
  const REQUESTS: Readonly<Record<string, readonly [ask: (id: string) => Promise<unknown>, message: string]>> = {
    "to start, in the words of the wire": [
      () => engine.start({ workflow_type: "one", target_file: "a.ts" } as Any),
      'start has no option "workflow_type"',
    ],
    "without a session": [() => engine.session(undefined as Any).state(), "session"],
    "on a promise of a session": [(id) => engine.session(Promise.resolve(id) as Any).state(), "session"],
    "with a text as a phase": [
      (id) => engine.session(id).completePhase("1" as Any, {}),
      "completePhase: phase must be a whole number",
    ],
    "without a phase": [
      (id) => engine.session(id).completePhase(undefined as Any, {}),
      "completePhase: phase is missing",
    ],
    "with the key of the wire": [
      (id) => engine.session(id).completePhase(1, {}, { idempotency_key: "x" } as Any),
      'completePhase has no option "idempotency_key"',
    ],
    "to roll back to a phase": [
      (id) => engine.session(id).rollback(1, { phase: 1 } as Any),
      'rollback has no option "phase"',
    ],
    "to skip without a note": [
      (id) => engine.session(id).skipPhase(1, { by: "ann" } as Any),
      "skipPhase: note is missing",
    ],
    "to override without a name": [
      (id) => engine.session(id).overrideGate(1, {} as Any),
      "overrideGate: by is missing",
    ],
    "to pause with a note alone": [
      (id) => engine.session(id).pause("lunch" as Any),
      "pause: the options must be an object, not a string",
    ],
    "to approve without a hash": [
      (id) => engine.session(id).approve({ by: "ann" } as Any),
      "approve: evidenceHash is missing",
    ],
    "to approve with no signature": [
      (id) => engine.session(id).approve({ by: "ann", evidenceHash: "x", signature: null as Any }),
      "approve: signature must be what signApproval() returns",
    ],
  };

  it.each(Object.entries(REQUESTS))("%s", async (_, [ask, message]) => {
    const id = await asked();
    await expect(ask(id)).rejects.toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining(message) });
  });
});

describe("a session", () => {
  it("is neither deleted nor accused by mistake", async () => {
    const { sessionId } = await engine.start({ workflowType: "one", target: "a.ts" });
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (const request of [{ dryRun: true }, { completed: 1 }, "completed"]) {
      await expect(engine.cleanup(request as Any)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    const audit = await engine.session(sessionId).audit();
    for (const receipt of [null, audit, { receipt: "x" }, "{}"]) {
      await expect(engine.session(sessionId).audit(receipt as Any)).rejects.toMatchObject({
        ...{ code: "INVALID_INPUT", message: "the receipt is not valid" },
      });
    }
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("of another connection is not reopened for a promise", async () => {
    const outputRoot = await mkdtemp(join(tmpdir(), "phasegate-plain-"));
    const workspace = await createWorkspace({ bundleRoot: "examples/workflows", outputRoot });
    const { session_id } = Object(await workspace.connect().createSession({}));
    expect(() => workspace.connect({ mayreopen: () => false } as Any)).toThrow('connect has no option "mayreopen"');
    const other = workspace.connect({ mayReopen: (async () => false) as Any });
    expect(await other.createSession({ session_id, reopen: true })).toMatchObject({ success: false });
  });
});
