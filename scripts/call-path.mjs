/**
 * Prints how many files and calls of src/ one warm `complete_phase` goes through, over MCP on a FileStorage. V8 counts
 * each call of each function (its precise coverage). Runs the sources themselves, as a build joins files.
 *
 *     node scripts/call-path.mjs [--files]      each file with its calls
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const MAX_FILES = 45;
const MAX_CALLS = 250;
const WARM_UP = 4;

// Sources import each other as they will be called once they are built.
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith(".") && specifier.endsWith(".js")) {
      const url = new URL(specifier.replace(/\.js$/, ".ts"), context.parentURL);
      if (existsSync(fileURLToPath(url))) return next(url.href, context);
    }
    return next(specifier, context);
  },
});

const SOURCES = pathToFileURL(`${join(import.meta.dirname, "../src")}/`).href;
const { createEngine, defineWorkflow, MemoryContent } = await import("../src/index.ts");
const { FileStorage } = await import("../src/fs.ts");
const { registerWorkflowTool } = await import("../src/mcp.ts");
const { Client } = await import("@modelcontextprotocol/client");
const { InMemoryTransport, McpServer } = await import("@modelcontextprotocol/server");
const z = await import("zod");

const phases = Array.from({ length: WARM_UP + 2 }, (_, index) => ({
  number: index + 1,
  name: `Phase ${index + 1}`,
  content: "Do it.",
  gate: { evidence: z.object({ tests_pass: z.boolean(), coverage: z.number(), summary: z.string() }) },
}));
const workflow = defineWorkflow({ type: "measured", revision: "1", name: "Measured", description: "One call", phases });

const folder = await mkdtemp(join(tmpdir(), "phasegate-"));
const engine = createEngine({
  storage: await FileStorage.open(folder),
  content: new MemoryContent({ workflows: [workflow] }),
});
const server = new McpServer({ name: "measured", version: "1.0.0" });
registerWorkflowTool(server, engine);
const client = new Client({ name: "client", version: "1.0.0" });
const [one, other] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(one), client.connect(other)]);

const { session_id } = await call({ action: "start", workflow_type: "measured", target_file: "a.ts" });
for (let phase = 1; phase <= WARM_UP; phase++) await complete(phase);

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
await inspector.post("Profiler.takePreciseCoverage");
await complete(WARM_UP + 1);
// What follows the answer belongs to the call.
await new Promise((resolve) => setTimeout(resolve, 100));
const { result } = await inspector.post("Profiler.takePreciseCoverage");
inspector.disconnect();

const files = result
  .filter(({ url }) => url.startsWith(SOURCES))
  .map(({ url, functions }) => ({ path: url.slice(SOURCES.length), calls: callsIn(functions) }))
  .filter(({ calls }) => calls > 0)
  .sort((first, second) => second.calls - first.calls);
const calls = files.reduce((sum, file) => sum + file.calls, 0);
if (process.argv.includes("--files")) {
  for (const file of files) console.log(`${String(file.calls).padStart(5)}  ${file.path}`);
}
console.log(`one warm complete_phase: ${files.length} files (goal ${MAX_FILES}), ${calls} calls (goal ${MAX_CALLS})`);

await client.close();
await engine.close();
await rm(folder, { recursive: true });

async function call(request) {
  const { structuredContent } = await client.callTool({ name: "pos_workflow", arguments: request });
  if (structuredContent?.status !== "success") throw new Error(JSON.stringify(structuredContent));
  return structuredContent;
}

function complete(phase) {
  const evidence = { tests_pass: true, coverage: 0.93, summary: "all of it" };
  return call({ action: "complete_phase", session_id, phase, evidence });
}

/** The functions' own counts: their first ranges. The first function of all is the module itself. */
function callsIn(functions) {
  return functions
    .filter(({ functionName, ranges }) => functionName !== "" || ranges[0].startOffset > 0)
    .reduce((sum, { ranges }) => sum + ranges[0].count, 0);
}
