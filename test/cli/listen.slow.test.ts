import { access, readFile, writeFile } from "node:fs/promises";
import { get, request } from "node:http";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { serveListening } from "../../src/cli/listen.js";
import { logCalls } from "../../src/cli/log.js";
import { createHealth } from "../../src/http/health.js";
import { createQuotas } from "../../src/login/quotas.js";
import { createToken, tokensText } from "../../src/login/tokens.js";
import { type Answer, answerOf } from "../mcp/connect-in-memory.js";
import { connectTo, GENERATIONS, until } from "../mcp/http-server.js";
import { writeFiles } from "../support/write-files.js";
import { makeWorkspace } from "../workspace/make-workspace.js";
import { listening, project, START } from "./listening.js";
import { run } from "./run-cli.js";

/** Checks for a process that runs. */
function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function pidIn(root: string): Promise<number> {
  const file = join(root, "pid");
  for (;;) {
    try {
      const pid = Number(await readFile(file, "utf8"));
      if (pid > 0) return pid;
    } catch {
      // Not yet there.
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("phasegate serve --listen", () => {
  it("ends the process of a verifier whose call is cancelled, and ends itself in time", async () => {
    const root = await project();
    const { child, url, closed, lines } = await listening(root, "--grace", "0s");
    const { ask, call, client } = await connectTo(url, "2026");
    expect(client.getInstructions()).toContain("list_workflows");
    const { session_id } = await ask(START);
    const cancel = new AbortController();
    const complete = { action: "complete_phase", session_id, phase: 1, evidence: { summary: "done" } };
    const cancelled = call(complete, { signal: cancel.signal }).catch((error: unknown) => error);
    const pid = await pidIn(root);
    expect(runs(pid)).toBe(true);
    cancel.abort();
    expect(await cancelled).toBeInstanceOf(Error);
    await until(() => !runs(pid));
    expect(await ask({ action: "get_state", session_id, brief: true })).toMatchObject({ current_phase: 1 });
    expect(lines()).toContainEqual(
      expect.objectContaining({
        ...{ msg: "call", actor: "local", session: session_id, action: "get_state", tool: "pos_workflow" },
        ...{ durationMs: expect.any(Number), requestId: expect.anything() },
      }),
    );
    child.kill("SIGTERM");
    expect(await closed).toBe(0);
    expect(await run("audit", String(session_id), "--state", join(root, "state"))).toMatchObject({ code: 0 });
  });

  it("answers probes and Prometheus, logs each call once, and is not ready while it ends", async () => {
    const root = await project();
    const { child, url, closed, lines } = await listening(root, "--grace", "20s");
    const at = (path: string) => new URL(path, url);
    const { ask } = await connectTo(url, "2026");
    const { session_id } = await ask(START);
    expect((await fetch(at("/readyz"))).status).toBe(200);
    const complete = ask({ action: "complete_phase", session_id, phase: 1, evidence: { summary: "done" } });
    await pidIn(root);
    child.kill("SIGTERM");
    await expect.poll(async () => (await fetch(at("/readyz"))).status).toBe(503);
    expect(await (await fetch(at("/readyz"))).json()).toEqual({ status: "draining" });
    expect((await fetch(at("/healthz"))).status).toBe(200);
    const metrics = await (await fetch(at("/metrics"))).text();
    expect(metrics).toMatch(/^mcp_server_operation_duration_seconds_count\{.*phasegate_action="start".*\} 1$/m);
    expect(metrics).toMatch(/^phasegate_operation_duration_seconds_count\{.*phasegate_operation="start".*\} 1$/m);
    expect(metrics).toMatch(/^phasegate_sessions_active\{.*\} 1$/m);
    await writeFiles(root, { go: "" });
    expect(await complete).toMatchObject({ workflow_complete: true });
    expect(await closed).toBe(0);
    const calls = lines().filter(({ msg }) => msg === "call");
    expect(calls).toMatchObject([
      { level: "info", actor: "local", session: session_id, tool: "pos_workflow", action: "start" },
      { level: "info", actor: "local", session: session_id, tool: "pos_workflow", action: "complete_phase" },
    ]);
    for (const call of calls) {
      expect(call).toMatchObject({ durationMs: expect.any(Number), requestId: expect.any(String) });
    }
    expect(lines().filter(({ msg }) => msg === "request")).toEqual([]);
    expect(lines()).toContainEqual(expect.objectContaining({ level: "info", msg: "draining", requests: 1 }));
  });

  it("gives the metrics to whom may see all sessions, and the probes to anybody", async () => {
    const root = await project();
    const tokens = join(root, "tokens.json");
    const [agent, viewer] = await Promise.all(
      ["agent", "viewer"].map(async (role) =>
        (await run("tokens", "add", `a-${role}`, "--role", role, "--tokens", tokens)).stdout.trim(),
      ),
    );
    const { url } = await listening(root, "--tokens", tokens);
    const get = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(new URL(path, url), { headers })).status;
    const bearer = (token: string | undefined) => ({ authorization: `Bearer ${token}` });
    expect(await get("/metrics")).toBe(401);
    expect(await get("/metrics", bearer(agent))).toBe(403);
    expect(await get("/metrics", bearer(viewer))).toBe(200);
    expect(await get("/metrics", { ...bearer(viewer), origin: "https://evil.example" })).toBe(403);
    expect(await get("/healthz")).toBe(200);
    // An orchestrator asks by an address.
    const { port } = new URL(url);
    const status = await new Promise((resolve) =>
      request({ port, path: "/readyz", headers: { host: "10.0.0.7:8080" } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).end(),
    );
    expect(status).toBe(200);
  });

  it("refuses an agent more sessions and more verifiers at once than their quota, and says what to do", async () => {
    const root = await project();
    const tokens = join(root, "tokens.json");
    const [ann, bob] = await Promise.all(
      ["ann", "bob"].map(async (name) =>
        (await run("tokens", "add", name, "--role", "agent", "--tokens", tokens)).stdout.trim(),
      ),
    );
    const { url } = await listening(root, "--tokens", tokens, "--quota", "sessions=2,verifiers=1");
    const one = await connectTo(url, "2026", { token: ann ?? "" });
    const other = await connectTo(url, "2026", { token: bob ?? "" });
    const { session_id: first } = await one.ask(START);
    const { session_id: second } = await one.ask(START);
    expect(await one.ask(START)).toMatchObject({
      code: "SESSION_LIMIT",
      remediation: expect.stringContaining("Complete one of them first."),
    });
    expect(await other.ask(START)).toMatchObject({ status: "success" });
    const complete = { action: "complete_phase", phase: 1, evidence: { summary: "done" } };
    const running = one.ask({ ...complete, session_id: first });
    await pidIn(root);
    expect(await one.ask({ ...complete, session_id: second })).toMatchObject({
      code: "BUSY",
      remediation: "Nothing was done: send the same call again in 2 s.",
    });
    await writeFiles(root, { go: "" });
    expect(await running).toMatchObject({ workflow_complete: true });
    expect(await one.ask({ ...complete, session_id: second })).toMatchObject({ workflow_complete: true });
  });

  it("serves the page for people behind the same login, each with what their role may do", async () => {
    const root = await project();
    const tokens = join(root, "tokens.json");
    const [ann, bob, vera, olga] = await Promise.all(
      (["agent", "agent", "viewer", "operator"] as const).map(async (role, index) =>
        (await run("tokens", "add", `p${index}`, "--role", role, "--tokens", tokens)).stdout.trim(),
      ),
    );
    const { url } = await listening(root, "--tokens", tokens, "--inspector");
    const { ask } = await connectTo(url, "2026", { token: ann ?? "" });
    const { session_id } = await ask(START);
    const at = (path: string) => new URL(`/inspector/${path}`, url);
    const bearer = (token: string | undefined) => ({ authorization: `Bearer ${token}` });
    expect((await fetch(at("api/sessions"))).status).toBe(401);
    const idsOf = async (token: string | undefined) => {
      const { items } = await (await fetch(at("api/sessions"), { headers: bearer(token) })).json();
      return items.map(({ sessionId }: { sessionId: string }) => sessionId);
    };
    expect(await idsOf(ann)).toEqual([session_id]);
    expect(await idsOf(bob)).toEqual([]);
    expect(await idsOf(vera)).toEqual([session_id]);
    const headers = { "content-type": "application/json", "x-phasegate": "1" };
    const body = JSON.stringify({ action: "pause", by: "", note: "lunch" });
    const pause = (token: string | undefined) =>
      fetch(at(`api/sessions/${session_id}/action`), {
        method: "POST",
        headers: { ...headers, ...bearer(token) },
        body,
      });
    expect((await pause(vera)).status).toBe(403);
    expect((await pause(olga)).status).toBe(200);
    expect(await (await fetch(new URL("/inspector", url))).text()).toContain("/inspector/page.js");
  });

  it("is killed and comes back: the client's repeated call is carried out once", async () => {
    const root = await project();
    const first = await listening(root);
    const before = await connectTo(first.url, "2025");
    const key = { idempotency_key: "start-once" };
    const { session_id } = await before.ask({ ...START, ...key });
    const complete = { action: "complete_phase", session_id, phase: 1, evidence: { summary: "done" } };
    const lost = before.call({ ...complete, idempotency_key: "k" }).catch((error: unknown) => error);
    const pid = await pidIn(root);
    first.child.kill("SIGKILL");
    await first.closed;
    await writeFiles(root, { go: "" });
    await until(() => !runs(pid));
    const second = await listening(root);
    const after = await connectTo(second.url, "2025");
    expect(await after.ask({ ...START, ...key })).toMatchObject({ session_id });
    expect(await after.ask({ ...complete, idempotency_key: "k" })).toMatchObject({ workflow_complete: true });
    expect(await after.ask({ ...complete, idempotency_key: "k" })).toMatchObject({ workflow_complete: true });
    expect(await after.ask({ action: "get_history", session_id })).toMatchObject({
      history: [{ attempt: 1, status: "completed" }],
    });
    await before.client.close();
    expect(await lost).toBeInstanceOf(Error);
  });

  it("gives each holder of a token their own sessions, and refuses others, other hosts and other pages", async () => {
    const root = await project();
    const tokens = join(root, "tokens.json");
    const [ann, bob] = await Promise.all(
      ["ann", "bob"].map(async (name) =>
        (await run("tokens", "add", name, "--role", "agent", "--tokens", tokens)).stdout.trim(),
      ),
    );
    const { url } = await listening(root, "--tokens", tokens, "--quota", "calls=25,bytes=1000000");
    const one = await connectTo(url, "2026", { token: ann ?? "" });
    const other = await connectTo(url, "2025", { token: bob ?? "" });
    const { session_id } = await one.ask(START);
    expect(await other.ask({ action: "get_state", session_id })).toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(await one.ask({ action: "get_state", session_id, brief: true })).toMatchObject({ current_phase: 1 });
    expect((await fetch(url, { method: "POST" })).status).toBe(401);
    const calls = Array.from({ length: 30 }, () => one.ask({ action: "list_workflows" }));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.some(({ status }) => status === "fulfilled")).toBe(true);
    expect(JSON.stringify(outcomes.flatMap((one) => (one.status === "rejected" ? String(one.reason) : [])))).toMatch(
      /429|calls/,
    );
    expect(await other.ask({ action: "list_workflows" })).toMatchObject({ status: "success" });
    // Node would keep the first header of two. What is in front of the server may have read the second one.
    const headers = ["Host", new URL(url).host, "Authorization", `Bearer ${ann}`, "Authorization", `Bearer ${bob}`];
    const twice = await new Promise<number | undefined>((resolve, reject) => {
      get(url, { headers }, ({ statusCode }) => resolve(statusCode)).on("error", reject);
    });
    expect(twice).toBe(401);
    const page = { origin: "https://evil.example", authorization: `Bearer ${ann}` };
    expect((await fetch(url, { method: "POST", headers: page })).status).toBe(403);
    expect((await run("tokens", "revoke", "bob", "--tokens", tokens)).code).toBe(0);
    await expect(other.ask({ action: "list_workflows" })).rejects.toThrow();
    await access(tokens);
  });

  it.each(GENERATIONS)(
    "serves a workspace, whose sessions a client of protocol %s can go on with",
    async (generation) => {
      const root = await project();
      const { bundle, base } = await makeWorkspace();
      const { url } = await listening(root, "--bundle", bundle, "--output", join(base, "made"));
      const { client } = await connectTo(url, generation);
      const ask = async (name: string, input: Answer) => answerOf(await client.callTool({ name, arguments: input }));
      const { session_id } = await ask("create_session", { workflow: "intake" });
      expect(await ask("save_output", { path: `${session_id}/a.md`, content: "a" })).toMatchObject({ success: true });
      expect(await ask("complete_session", { session_id })).toMatchObject({ success: true });
    },
  );

  it.each(GENERATIONS)(
    "serves actors a workspace: a client of protocol %s sees its own sessions",
    async (generation) => {
      const root = await project();
      const { bundle, base } = await makeWorkspace();
      const tokens = join(root, "tokens.json");
      const made = ["ann", "bob"].map((name) => createToken({ name, roles: ["agent"] }, Date.now()));
      await writeFile(tokens, tokensText(made.map(({ entry }) => entry)), { mode: 0o600 });
      const { url } = await listening(root, "--tokens", tokens, "--bundle", bundle, "--output", join(base, "made"));
      const agentOf = async (token = "") => {
        const { client } = await connectTo(url, generation, { token });
        return async (name: string, input: Answer) => answerOf(await client.callTool({ name, arguments: input }));
      };
      const [ann, bob] = [await agentOf(made[0]?.token), await agentOf(made[1]?.token)];
      const { session_id } = await ann("create_session", { workflow: "intake" });
      const path = `${session_id}/a.md`;
      expect(await bob("save_output", { path, content: "of bob" })).toMatchObject({ success: false });
      expect(await ann("save_output", { path, content: "of ann" })).toMatchObject({ success: true });
      expect(await bob("read_file", { path })).toMatchObject({ success: false });
      expect(await bob("create_session", { session_id, reopen: true })).toMatchObject({ success: false });
      expect(await bob("list_files", { path: "{output-root}" })).toMatchObject({ entries: [] });
      expect(await ann("complete_session", {})).toMatchObject({ success: true, session_id });
      const { stdout } = await run("sessions", "--state", join(root, "state"), "--owner", "ann");
      expect(stdout).toContain(String(session_id));
    },
  );

  it("gives calls under way the time of --grace once, and answers the fixed time after it", async () => {
    const metrics = vi.fn(() => new Promise<never>(() => {}));
    const health = createHealth({ metrics });
    const log = pino({ level: "silent" });
    const serving = await serveListening(
      { grace: 3_600_000, workflows: [] },
      {
        ...{ at: { host: "127.0.0.1", port: 0 }, served: [], quotas: createQuotas({}), page: undefined },
        ...{ watching: { health, calls: () => logCalls(log), close: async () => {} }, maxBodyBytes: 1000, log },
        times: { headers: 5000, request: 5000, drain: 1000 },
      },
    );
    const unanswered = fetch(`${serving.url}/metrics`).catch((error: unknown) => error);
    await vi.waitFor(() => expect(metrics).toHaveBeenCalled());
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    serving.close();
    await vi.advanceTimersByTimeAsync(1000);
    vi.useRealTimers();
    expect(await serving.ended).toBe("abandoned");
    expect(await unanswered).toBeInstanceOf(Error);
  });

  it("closes the page for people when its own port is in use", async () => {
    const root = await project();
    const { url } = await listening(root);
    const flags = ["--listen", `127.0.0.1:${new URL(url).port}`, "--inspector", "0"];
    const { code, stderr } = await run(
      ...["serve", "--workflows", join(root, "workflows"), "--state", join(root, "other"), "--project", root],
      ...["--allow-command", "node wait.mjs", ...flags],
    );
    expect(code).toBe(3);
    expect(stderr).toContain("is in use");
    const page = /"url":"(http:..localhost:\d+)/.exec(stderr)?.[1] ?? "";
    await expect(fetch(`${page}/page.js`)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });

  it.each([
    [["--listen", "0.0.0.0:0"], /without a login only this machine/],
    [["--listen", "8080"], /Write HOST:PORT/],
    [["--listen", "127.0.0.1:0", "--oauth-issuer", "https://login.example"], /belong together/],
    [["--tokens", "t.json", "--grace", "5s"], /without --listen there is no use for --tokens, --grace$/m],
    [["--inspector"], /needs --listen and a login/],
    [["--listen", "127.0.0.1:0", "--inspector"], /needs --listen and a login/],
    [
      ["--decider", "linear", "--include-root", "x"],
      /without --routed there is no use for --include-root, --decider$/m,
    ],
    [["--quota", "calls=5"], /without --listen there is no use for --quota$/m],
    [["--listen", "127.0.0.1:0", "--quota", "calls=0"], /calls=N/],
    [["--listen", "127.0.0.1:0", "--quota", "steps=5"], /calls=N/],
    [["--listen", "127.0.0.1:0", "--quota", "sessions=5"], /no owners to count/],
    [["--listen", "127.0.0.1:0", "--quota", "verifiers=5"], /no owners to count/],
    [["--listen", "127.0.0.1:0", "--http", "0"], /exclude each other/],
    [["--listen", "127.0.0.1:0", "--tokens", "missing.json"], /missing\.json/],
  ])("refuses %j", async (flags, message) => {
    const root = await project();
    const { code, stderr } = await run(
      ...["serve", "--workflows", join(root, "workflows"), "--state", join(root, "state"), "--project", root],
      ...["--allow-command", "node wait.mjs", ...flags],
    );
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
  });
});
