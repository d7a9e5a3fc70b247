/** Spans and metrics of a session, and the probes of a server, with exporters in memory. */
import assert from "node:assert/strict";
import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { createHealth } from "phasegate/mcp-http";
import { createPrometheusMetrics, createTelemetry } from "phasegate/otel";
import * as z from "zod";

const workflow = defineWorkflow({
  type: "release",
  revision: "1",
  name: "Release",
  description: "Tests first",
  phases: [
    { number: 1, name: "Test", content: "# Test", gate: { evidence: z.object({ tests_pass: z.literal(true) }) } },
    { number: 2, name: "Ship", content: "# Ship" },
  ],
});
const content = new MemoryContent({ workflows: [workflow] });
const storage = new MemoryStorage();

// A host registers its SDK, such as NodeSDK with an exporter to its collector.
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const exporter = new InMemorySpanExporter();
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });

// #region telemetry
const metrics = await createPrometheusMetrics();
const telemetry = createTelemetry({ tracerProvider, meterProvider: metrics.meterProvider });
const engine = createEngine({ storage, content, telemetry });
// and registerWorkflowTool(server, engine, { telemetry });
// #endregion telemetry

// #region health
const health = createHealth({ storage, metrics: metrics.text });
// In a server's fetch handler, before the login:
const answer = await health.handle(new Request("http://127.0.0.1:8080/readyz"));
// When it is told to end: the probe answers 503 from now on.
process.once("SIGTERM", () => health.drain());
// #endregion health
assert.equal(answer?.status, 200);

const { sessionId } = await engine.start({ workflowType: "release", target: "package.json" });
await engine.session(sessionId).completePhase(1, { tests_pass: false });
await engine.session(sessionId).completePhase(1, { tests_pass: true });

for (const { name, parentSpanContext, attributes } of exporter.getFinishedSpans()) {
  const verdict = attributes["phasegate.verdict"];
  console.log(`${parentSpanContext === undefined ? "" : "  "}${name}${verdict === undefined ? "" : `: ${verdict}`}`);
}
const text = await metrics.text();
console.log(
  text
    .split("\n")
    .filter((line) => line.startsWith("phasegate_gate_verdicts_total"))
    .join("\n"),
);
assert.match(text, /^phasegate_gate_verdicts_total\{.*phasegate_verdict="passed".*\} 1$/m);
await metrics.close();
