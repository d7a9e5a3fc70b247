/**
 * Prints how many files and calls of src/ one warm `complete_phase` goes through, over MCP on a FileStorage, and fails if
 * there are more than the goal. Its answer has the phase that it opens, which takes two thirds of the calls. Runs the
 * sources themselves, as a build joins files. Each source gets a counter at the beginning of every function. V8's own
 * figure is printed too: it counts an async function once more for every `await` that it resumes after.
 *
 *     node scripts/call-path.mjs [--files | --functions]      each file, or each function, with its calls
 */
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const MAX_FILES = 87;
const MAX_CALLS = 1220;
const WARM_UP = 4;

/** The counted functions: the file and place of each, and how often it was called. */
const functions = [];
globalThis.callCounts = [];

const SOURCES = pathToFileURL(`${join(import.meta.dirname, "../src")}/`).href;

// Sources import each other as they will be called once they are built.
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith(".") && specifier.endsWith(".js")) {
      const url = new URL(specifier.replace(/\.js$/, ".ts"), context.parentURL);
      if (existsSync(fileURLToPath(url))) return next(url.href, context);
    }
    return next(specifier, context);
  },
  load(url, context, next) {
    if (!url.startsWith(SOURCES)) return next(url, context);
    return { format: "module", shortCircuit: true, source: withCounters(url) };
  },
});

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
await afterAnswer();

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
await inspector.post("Profiler.takePreciseCoverage");
globalThis.callCounts.fill(0);
await complete(WARM_UP + 1);
await afterAnswer();
const counts = [...globalThis.callCounts];
const { result } = await inspector.post("Profiler.takePreciseCoverage");
inspector.disconnect();

const called = functions.map((own, index) => ({ ...own, calls: counts[index] ?? 0 })).filter((own) => own.calls > 0);
const files = Object.entries(Object.groupBy(called, ({ path }) => path)).map(([place, own]) => ({
  place,
  calls: sumOf(own),
}));
if (process.argv.includes("--files")) print(files);
if (process.argv.includes("--functions"))
  print(called.map((own) => ({ ...own, place: `${own.path}:${own.line} ${own.name}` })));
const resumed = sumOf(
  result.filter(({ url }) => url.startsWith(SOURCES)).flatMap(({ functions: all }) => callsIn(all)),
);
console.log(
  `one warm complete_phase: ${files.length} files (goal ${MAX_FILES}), ${sumOf(called)} calls (goal ${MAX_CALLS})`,
);
console.log(`V8 counts ${resumed}, with the resumptions of async functions`);

await client.close();
await engine.close();
await rm(folder, { recursive: true });
if (files.length > MAX_FILES || sumOf(called) > MAX_CALLS) process.exitCode = 1;

async function call(request) {
  const { structuredContent, content } = await client.callTool({ name: "pos_workflow", arguments: request });
  if (structuredContent?.status !== "success") throw new Error(JSON.stringify(content));
  return structuredContent;
}

function complete(phase) {
  const evidence = { tests_pass: true, coverage: 0.93, summary: "all of it" };
  return call({ action: "complete_phase", session_id, phase, evidence });
}

/** Waits for what follows an answer, such as writing `head`: it belongs to that call. */
function afterAnswer() {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

function print(lines) {
  for (const { place, calls } of lines.toSorted((first, second) => second.calls - first.calls)) {
    console.log(`${String(calls).padStart(5)}  ${place}`);
  }
}

function sumOf(counted) {
  return counted.reduce((sum, { calls }) => sum + calls, 0);
}

/** The functions' own counts: their first ranges. The first function of all is the module itself. */
function callsIn(all) {
  return all
    .filter(({ functionName, ranges }) => functionName !== "" || ranges[0].startOffset > 0)
    .map(({ ranges }) => ({ calls: ranges[0].count }));
}

/** Returns a source as JavaScript, in which each function with a body counts its calls. */
function withCounters(url) {
  const path = url.slice(SOURCES.length);
  const { factory } = ts;
  const transform = (context) => (source) => {
    const visit = (node) => {
      const visited = ts.visitEachChild(node, visit, context);
      if (!ts.isFunctionLike(node) || node.body === undefined) return visited;
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      const name = node.name ?? node.parent?.name;
      const index = functions.push({ path, line: line + 1, name: name?.getText(source) ?? "" }) - 1;
      globalThis.callCounts.push(0);
      const counts = factory.createIdentifier("globalThis.callCounts");
      const increment = factory.createPostfixIncrement(factory.createElementAccessExpression(counts, index));
      return counting(visited, increment);
    };
    return ts.visitEachChild(source, visit, context);
  };
  const counting = (node, increment) => {
    const body = ts.isBlock(node.body)
      ? factory.createBlock([factory.createExpressionStatement(increment), ...node.body.statements], true)
      : factory.createParenthesizedExpression(factory.createComma(increment, node.body));
    if (ts.isArrowFunction(node)) {
      const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken } = node;
      return factory.updateArrowFunction(
        node,
        modifiers,
        typeParameters,
        parameters,
        type,
        equalsGreaterThanToken,
        body,
      );
    }
    return Object.assign(node, { body });
  };
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext };
  const code = readFileSync(fileURLToPath(url), "utf8");
  return ts.transpileModule(code, { compilerOptions, fileName: url, transformers: { before: [transform] } }).outputText;
}
