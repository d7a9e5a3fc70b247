/**
 * Spans and metrics of engines and tools, for OpenTelemetry and Prometheus. Needs the optional peer `@opentelemetry/api`,
 * and nothing of Node's.
 *
 * @packageDocumentation
 */

export { createPrometheusMetrics, type PrometheusMetrics } from "./otel/prometheus.js";
export { createTelemetry, type TelemetryOptions } from "./otel/telemetry.js";
