/** `phasegate serve` on stdio with the starters' workflows, against a bare MCP server: how soon it lists its tools, and its memory then. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { inFolder, median, ratio, row, size, time } from "./measure.mjs";

const ROUNDS = 9;
const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

/** Starts a server, asks for its tools, and gives the milliseconds until the answer and the bytes in memory a second later. */
async function startOnce(args, cwd) {
  const begun = performance.now();
  const child = spawn(process.execPath, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "bench", version: "1.0.0" };
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  send({ method: "notifications/initialized" });
  send({ id: 2, method: "tools/list" });
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, error, result } = JSON.parse(line);
    if (error !== undefined) throw new Error(`${args[0]}: ${error.message}`);
    if (id === 2 && result.tools.length > 0) break;
  }
  const took = performance.now() - begun;
  await delay(1000);
  const status = await readFile(`/proc/${child.pid}/status`, "utf8");
  child.kill("SIGKILL");
  await once(child, "exit");
  return { took, memory: Number(/VmRSS:\s+(\d+) kB/.exec(status)[1]) * 1024 };
}

export async function run() {
  return inFolder(async (folder) => {
    const servers = {
      bare: [path("./bare-server.mjs")],
      phasegate: [path("../dist/cli/main.js"), "serve", "--workflows", path("../starters"), "--state", folder],
    };
    const found = { bare: [], phasegate: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, args] of Object.entries(servers)) found[name].push(await startOnce(args, folder));
    }
    const of = (name, key) => median(found[name].map((one) => one[key]));
    const [bare, ours] = [of("bare", "took"), of("phasegate", "took")];
    const [bareMemory, memory] = [of("bare", "memory"), of("phasegate", "memory")];
    return [
      row(
        "serve on stdio until its tools are listed",
        time(ours * 1000),
        `a bare MCP server ${time(bare * 1000)}`,
        ratio(ours, bare),
        1.5,
      ),
      row(
        "memory of an idle serve",
        size(memory),
        `a bare MCP server ${size(bareMemory)}`,
        ratio(memory, bareMemory),
        1.3,
      ),
    ];
  });
}
