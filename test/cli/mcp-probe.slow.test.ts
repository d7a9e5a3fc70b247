import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { probeServer } from "../../src/cli/mcp-probe.js";
import { howOften } from "../support/how-often.js";
import { answering } from "./answering.js";
import { BIN } from "./bin.js";

const MINUTE = 60_000;

const probe = (command: string, args: readonly string[] = [], cwd = tmpdir(), ms = MINUTE) =>
  probeServer({ command, args, env: {}, cwd }, ms);

/** Starts a script as a server. */
const script = (text: string, ms = MINUTE) => probe(process.execPath, ["-e", text], tmpdir(), ms);

// Each waits for a process.
describe.concurrent("a server that is started for its tools", () => {
  it.each([
    ["is not there", () => probe("no-such-command"), /^there is no command no-such-command on the PATH$/],
    ["is not executable", () => probe("/"), /^it can't be started: /],
    ["can't be a command", () => probe(process.execPath, ["a\0"]), /^it can't be started: /],
    ["has a folder that is gone", () => probe("node", [], "/gone"), /^its folder \/gone does not exist$/],
    [
      "is refused by phasegate",
      () => probe(process.execPath, [BIN, "serve"]),
      /^it ended with exit code 2: there is nothing to serve/i,
    ],
    [
      "ends",
      () => script("console.error('first'); console.error('an error'); process.exit(4)"),
      /^it ended with exit code 4: an error$/,
    ],
    ["is killed", () => script("process.kill(process.pid, 'SIGKILL')"), /^it ended with SIGKILL$/],
    [
      "says something else",
      () => script("console.log('Hello'); process.stdin.resume()"),
      /^it writes something else than MCP to stdout: Hello$/,
    ],
    [
      "says no object",
      () => script("console.log('7'); process.stdin.resume()"),
      /^it writes something else than MCP to stdout: 7$/,
    ],
    ["says nothing", () => script("process.stdin.resume()", 500), /^it did not answer within 0.5 seconds$/],
    [
      "writes without end",
      () => script("process.stdin.resume(); setInterval(() => process.stdout.write('x'.repeat(1e6)), 1)"),
      /^it writes without end$/,
    ],
    ["has no list", () => script(answering({ tools: 1 })), /^its list of tools is not a list$/],
    ["answers with an error", () => script(answering(undefined)), /^it answers with an error: \{"code":1\}$/],
  ])("is a failure if it %s", async (_, started, reason) => {
    expect(await started()).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });

  it("may have pages of tools, notifications and lines without content", async () => {
    // Ended by a signal, which takes seconds.
    const stubborn = `process.on("SIGTERM", () => {}); setInterval(() => process.stderr.write("x".repeat(1000)), 10);`;
    const text = `${howOften("", stubborn)}
      require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method, params } = JSON.parse(line);
        const info = { serverInfo: { name: "phasegate", version: "7" } };
        console.log(JSON.stringify({ jsonrpc: "2.0", method: "notifications/message" }) + "\\n");
        const page = params?.cursor === "2" ? { tools: [{ name: "b" }] } : { tools: [{ name: "a" }], nextCursor: "2" };
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: method === "tools/list" ? page : info }));
      });`;
    const facts = { ok: true, name: "phasegate", version: "7", tools: ["a", "b"], tokens: 7 };
    expect(await script(text)).toMatchObject(facts);
  });
});
