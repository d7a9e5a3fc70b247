/** Metrics as text for Prometheus: `GET /metrics` without a collector in between. */
import type { MeterProvider } from "@opentelemetry/api";
import type { ResourceMetrics } from "@opentelemetry/sdk-metrics";
import { PhasegateError } from "../errors.js";

/** Metrics that Prometheus reads. */
export interface PrometheusMetrics {
  /** Where `createTelemetry` puts its metrics. */
  readonly meterProvider: MeterProvider;
  /** Returns the current values in Prometheus's text format. */
  text(): Promise<string>;
  /** Ends it. */
  close(): Promise<void>;
}

/**
 * Creates metrics that Prometheus reads, and starts no server: `createHealth` of `phasegate/mcp-http` answers `/metrics` with
 * the text. Needs the optional peers `@opentelemetry/sdk-metrics` and `@opentelemetry/exporter-prometheus`.
 * @throws {PhasegateError} `UNSUPPORTED` when they are not installed.
 */
export async function createPrometheusMetrics(): Promise<PrometheusMetrics> {
  const [{ MeterProvider }, { PrometheusExporter, PrometheusSerializer }] = await load();
  const reader = new PrometheusExporter({ preventServerStart: true });
  const meterProvider = new MeterProvider({ readers: [reader] });
  // Without `target_info`: its service name would be that of Node, and Prometheus names the server by job and instance.
  const serializer = new PrometheusSerializer(undefined, false, undefined, true);
  return {
    meterProvider,
    // A metric that can't be read, such as the number of sessions without a storage, is left out; the others are shown.
    text: async () =>
      serializer.serialize(named((await reader.collect({ timeoutMillis: COLLECT_MS })).resourceMetrics)),
    close: () => meterProvider.shutdown(),
  };
}

/** The time to count active sessions, in milliseconds. */
const COLLECT_MS = 2000;

/** Adds the unit to the names of durations, as Prometheus wants it and collectors do it; the exporter does not. */
function named(metrics: ResourceMetrics): ResourceMetrics {
  return {
    ...metrics,
    scopeMetrics: metrics.scopeMetrics.map((scope) => ({
      ...scope,
      metrics: scope.metrics.map((metric) => {
        const { descriptor } = metric;
        if (descriptor.unit !== "s") return metric;
        return { ...metric, descriptor: { ...descriptor, name: `${descriptor.name}.seconds`, unit: "seconds" } };
      }),
    })),
  };
}

async function load() {
  try {
    return await Promise.all([import("@opentelemetry/sdk-metrics"), import("@opentelemetry/exporter-prometheus")]);
  } catch (cause) {
    const message = "metrics for Prometheus need packages that are not installed, or of versions that don't fit";
    throw new PhasegateError("UNSUPPORTED", message, {
      remedy: "npm install @opentelemetry/api @opentelemetry/sdk-metrics@2 @opentelemetry/exporter-prometheus",
      details: { operation: "metrics" },
      cause,
    });
  }
}
