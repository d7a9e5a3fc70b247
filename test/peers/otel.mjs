/** Metrics of a session, as Prometheus reads them. */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { createPrometheusMetrics, createTelemetry } from "phasegate/otel";

const gate = { fields: { tests: { type: "integer", required: true } } };
const phases = [{ number: 1, name: "Test", content: "Run the tests.", gate }];
const release = defineWorkflow({ type: "release", revision: "1", name: "Release", description: "Test it", phases });
const metrics = await createPrometheusMetrics();
const telemetry = createTelemetry({ meterProvider: metrics.meterProvider });
const content = new MemoryContent({ workflows: [release] });
const engine = createEngine({ storage: new MemoryStorage(), content, telemetry });
const { sessionId } = await engine.start({ workflowType: "release", target: "package.json" });
await engine.session(sessionId).completePhase(1, { tests: 12 });
assert.match(await metrics.text(), /phasegate_/);
