import { type Attributes, context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createTelemetry, type TelemetryOptions } from "phasegate/otel";
import { onTestFinished } from "vitest";

/** Points of a metric: the attributes, and the sum or the value of each. */
export type Points = readonly { readonly attributes: Attributes; readonly value: number; readonly count: number }[];

/** Creates telemetry over the real SDK, with exporters in memory. */
export function watched(options: Pick<TelemetryOptions, "evidence"> = {}) {
  // Only the first call registers one; it is the same for all.
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const exported = new InMemorySpanExporter();
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: exported })] });
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  onTestFinished(async () => {
    await meterProvider.shutdown();
    await tracerProvider.shutdown();
  });
  const collect = async () => {
    const { resourceMetrics, errors } = await reader.collect();
    return { errors, metrics: resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics) };
  };
  return {
    telemetry: createTelemetry({ tracerProvider, meterProvider, ...options }),
    tracerProvider,
    /** The spans that have ended, in the order of their ends. */
    spans: () => exported.getFinishedSpans(),
    collect,
    /** Reads a metric; undefined if nothing was recorded. */
    async points(name: string): Promise<Points | undefined> {
      const metric = (await collect()).metrics.find(({ descriptor }) => descriptor.name === name);
      return metric?.dataPoints.map(({ attributes, value }) => {
        if (typeof value === "number") return { attributes, value, count: 1 };
        return { attributes, value: value.sum ?? 0, count: value.count };
      });
    },
  };
}

/** Returns spans as a tree of their names, as lines. Spans without a parent among them are at the left. */
export function tree(spans: readonly ReadableSpan[]): string[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const below = (parent: string | undefined, depth: number): string[] =>
    spans
      .filter(({ parentSpanContext: { spanId } = { spanId: "" } }) =>
        parent === undefined ? !ids.has(spanId) : spanId === parent,
      )
      .sort((one, other) => sequence(one, other))
      .flatMap((span) => [`${"  ".repeat(depth)}${span.name}`, ...below(span.spanContext().spanId, depth + 1)]);
  return below(undefined, 0);
}

function sequence(one: ReadableSpan, other: ReadableSpan): number {
  return one.startTime[0] - other.startTime[0] || one.startTime[1] - other.startTime[1];
}
