/** `node worker.mjs FILE`: builds a Worker, and runs it in workerd on PORT. */
import { builtinModules } from "node:module";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

const [entry = ""] = process.argv.slice(2);
const { outputFiles } = await build({
  ...{ entryPoints: [entry], bundle: true, format: "esm", write: false, logLevel: "error" },
  ...{ external: ["cloudflare:*", "node:*", ...builtinModules], conditions: ["workerd", "worker", "import"] },
});
const worker = new Miniflare({
  modules: [{ type: "ESModule", path: "worker.mjs", contents: outputFiles[0].text }],
  compatibilityDate: "2026-06-11",
  compatibilityFlags: ["nodejs_compat"],
  durableObjects: entry === "agents-stateful.mjs" ? { MCP_OBJECT: { className: "Workflows", useSQLite: true } } : {},
  port: Number(process.env.PORT),
});
await worker.ready;
console.log("ready");
