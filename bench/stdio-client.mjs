/** A client of MCP servers on stdio, as small as it can be, so that what is measured is the server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const clientInfo = { name: "bench", version: "1.0.0" };

/**
 * Starts a server, and gives what it answers to a request, one after the other. `roots` are the URLs of folders that the client
 * has open, if it says so.
 */
export function client(args, cwd, { env = process.env, roots } = {}) {
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  let id = 0;
  const ask = async (method, params) => {
    id += 1;
    send({ id, method, params });
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`${args[0]} has ended`);
      const message = JSON.parse(value);
      if (message.method === "roots/list") send({ id: message.id, result: { roots: roots.map((uri) => ({ uri })) } });
      if (message.method !== undefined || message.id !== id) continue;
      if (message.error !== undefined) throw new Error(`${args[0]}: ${message.error.message}`);
      return message.result;
    }
  };
  return {
    child,
    ask,
    /** The first exchange, up to the list of tools. */
    async listTools() {
      const capabilities = roots === undefined ? {} : { roots: {} };
      await ask("initialize", { protocolVersion: "2025-06-18", capabilities, clientInfo });
      send({ method: "notifications/initialized" });
      const { tools } = await ask("tools/list");
      if (tools.length === 0) throw new Error(`${args[0]} has no tools`);
      return tools;
    },
    async stop() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}
