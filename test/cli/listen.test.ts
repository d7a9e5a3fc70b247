import { spawn } from "node:child_process";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectTo, until } from "../mcp/http-server.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { BIN } from "./bin.js";
import { run } from "./run-cli.js";

const START = { action: "start", workflow_type: "slow", target_file: "src/a.ts" };
const SLOW = `checkpoint: {strict: true}
evidence_schema:
  summary: {type: string, required: true, description: "what was done"}
verify: {verifier: command, argv: [node, wait.mjs]}
`;
/** Says that it runs, then waits for the file \`go\`. */
const WAIT = `import { existsSync, writeFileSync } from "node:fs";
writeFileSync("pid", String(process.pid));
setInterval(() => { if (existsSync("go")) process.exit(0); }, 10);
`;

/** A project with a workflow whose gate runs a command that waits. */
async function project() {
  const root = await temporaryFolder();
  await writeFiles(root, {
    "wait.mjs": WAIT,
    "workflows/slow/metadata.json": JSON.stringify({
      ...{ workflow_type: "slow", name: "Slow", description: "Waits", version: "1.0.0" },
      phases: [{ phase_number: 1, phase_name: "One" }],
    }),
    "workflows/slow/phases/1/phase.md": "# Phase 1\n\nDo it.\n",
    "workflows/slow/phases/1/gate-definition.yaml": SLOW,
  });
  return root;
}

/** Starts the bin, listening on a free port of this machine. */
async function serveListening(root: string, ...flags: string[]) {
  const args = ["serve", "--listen", "127.0.0.1:0", "--state", join(root, "state"), "--project", root];
  const more = ["--workflows", join(root, "workflows"), "--allow-command", "node wait.mjs", ...flags];
  const child = spawn(process.execPath, [BIN, ...args, ...more], { stdio: ["ignore", "ignore", "pipe"] });
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
      const found = /"url":"([^"]+)"/.exec(said)?.[1];
      if (found !== undefined) resolve(`${found}/mcp`);
    });
    child.on("close", () => reject(new Error(said)));
  });
  const lines = (): Record<string, unknown>[] =>
    said
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
  return { child, url, closed, lines };
}

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
    const { child, url, closed, lines } = await serveListening(root, "--grace", "0s");
    const { ask, call } = await connectTo(url, "2026");
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

  it("is killed and comes back: the client's repeated call is carried out once", async () => {
    const root = await project();
    const first = await serveListening(root);
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
    const second = await serveListening(root);
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
    const { url } = await serveListening(root, "--tokens", tokens, "--quota", "calls=25,bytes=1000000");
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
    const page = { origin: "https://evil.example", authorization: `Bearer ${ann}` };
    expect((await fetch(url, { method: "POST", headers: page })).status).toBe(403);
    expect((await run("tokens", "revoke", "bob", "--tokens", tokens)).code).toBe(0);
    await expect(other.ask({ action: "list_workflows" })).rejects.toThrow();
    await access(tokens);
  });

  it.each([
    [["--listen", "0.0.0.0:0"], /without a login only this machine/],
    [["--listen", "8080"], /Write HOST:PORT/],
    [["--listen", "127.0.0.1:0", "--oauth-issuer", "https://login.example"], /belong together/],
    [["--tokens", "t.json"], /need --listen/],
    [["--quota", "calls=5"], /need --listen/],
    [["--listen", "127.0.0.1:0", "--quota", "calls=0"], /calls=N/],
    [["--listen", "127.0.0.1:0", "--quota", "sessions=5"], /calls=N/],
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
