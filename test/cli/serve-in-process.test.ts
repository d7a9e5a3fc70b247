import { PassThrough } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { runCli } from "../../src/cli/cli.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { SMALL } from "./workflow-folders.js";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

/** Starts the server on streams of the test. */
async function serve(...flags: string[]) {
  const root = await temporaryFolder();
  await writeFiles(root, SMALL);
  const terminal = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const ended = runCli(["serve", "--workflows", root, "--state", `${root}/state`, ...flags], terminal);
  const send = (message: object) => terminal.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const said = (stream: PassThrough) => String(stream.read() ?? "");
  return { ...terminal, ended, send, said };
}

const INITIALIZE = {
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

describe("the server, in this process", () => {
  it("ends when its input ends, and removes its signal listeners", async () => {
    const before = process.listenerCount("SIGTERM");
    const { stdin, stdout, stderr, ended, send, said } = await serve("--poll", "0", "--max-sessions", "0");
    send(INITIALIZE);
    stdin.end();
    expect(await ended).toBe(0);
    const result = { serverInfo: { name: "phasegate" }, instructions: expect.stringContaining("pos_workflow") };
    expect(JSON.parse(said(stdout))).toMatchObject({ id: 0, result });
    expect(said(stderr)).toContain('"msg":"stopped"');
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });

  it("names its tool in what it says of itself, if agents may begin with it", async () => {
    const about = async (...flags: string[]) => {
      const { stdin, stdout, ended, send, said } = await serve(...flags);
      send(INITIALIZE);
      stdin.end();
      await ended;
      return JSON.parse(said(stdout)).result.instructions;
    };
    expect(await about("--tool-name", "work")).toContain("call the tool `work` with");
    expect(await about("--actions", "get_state,complete_phase")).toBeUndefined();
  });

  it("ends on a signal", async () => {
    const { stderr, ended, said } = await serve();
    await vi.waitFor(() => expect(process.listenerCount("SIGTERM")).toBeGreaterThan(0));
    process.emit("SIGTERM", "SIGTERM");
    expect(await ended).toBe(0);
    expect(said(stderr)).toMatch(/"signal":"SIGTERM","msg":"ending"/);
  });

  it("ends on a signal after ten seconds if its client reads no answer", async () => {
    const { stdout, ended, send } = await serve();
    send(INITIALIZE);
    for (let id = 1; id < 500; id += 1) send({ id, method: "tools/list" });
    await vi.waitUntil(() => stdout.writableNeedDrain, { timeout: 20_000 });
    let code: number | undefined;
    void ended.then((found) => {
      code = found;
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    process.emit("SIGTERM", "SIGTERM");
    await vi.advanceTimersByTimeAsync(9_000);
    expect(code, "it waits for the client").toBeUndefined();
    await vi.advanceTimersByTimeAsync(1_100);
    vi.useRealTimers();
    expect(await ended).toBe(0);
  });

  it("fails when the connection breaks, and reports the reason", async () => {
    const { stdout, stderr, ended, send, said } = await serve("--log-level", "warn", "--poll", "0");
    stdout.destroy();
    send(INITIALIZE);
    expect(await ended).toBe(3);
    expect(said(stderr)).toMatch(/"level":"warn".*"msg":"connection"/);
  });

  it("logs nothing at the level silent", async () => {
    vi.stubEnv("PHASEGATE_LOG_LEVEL", "silent");
    const { stdin, stderr, ended, said } = await serve();
    stdin.end();
    expect(await ended).toBe(0);
    expect(said(stderr)).toBe("");
  });
});
