/** What watches a server that listens: metrics for Prometheus, probes, and a line in the log for each call. */
import type { Logger } from "pino";
import { isPhasegateError } from "../errors.js";
import { createHealth, type Health } from "../http/health.js";
import type { PrometheusMetrics } from "../otel/prometheus.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import type { Telemetry } from "../ports/telemetry.js";
import { logCalls } from "./log.js";

/** What watches a server. */
export interface Watching {
  /** For the engines; missing if OpenTelemetry is not installed. */
  readonly telemetry?: Telemetry;
  /** Answers `/healthz`, `/readyz` and `/metrics`. */
  readonly health: Health;
  /** Returns what watches the tools of a client. */
  calls(actor?: string): Pick<Telemetry, "measure">;
  close(): Promise<void>;
}

/** Opens what watches a server. Without the packages for metrics, `/metrics` is not answered, and the log says so. */
export async function openWatching(storage: StorageAdapter | undefined, log: Logger): Promise<Watching> {
  const opened = await openMetrics(log);
  const onError = (err: unknown) => log.error({ err }, "health");
  return {
    ...(opened && { telemetry: opened.telemetry }),
    health: createHealth({ storage, metrics: opened?.metrics.text, onError }),
    calls: (actor) => logCalls(log, { actor, next: opened?.telemetry }),
    close: async () => opened?.metrics.close(),
  };
}

/** Loads OpenTelemetry: optional peers, which a server does without. */
async function openMetrics(
  log: Logger,
): Promise<{ readonly metrics: PrometheusMetrics; readonly telemetry: Telemetry } | undefined> {
  try {
    const { createPrometheusMetrics } = await import("../otel/prometheus.js");
    const metrics = await createPrometheusMetrics();
    const { createTelemetry } = await import("../otel/telemetry.js");
    return { metrics, telemetry: createTelemetry({ meterProvider: metrics.meterProvider }) };
  } catch (err) {
    if (!isPhasegateError(err, "UNSUPPORTED")) throw err;
    log.warn({ err }, "no metrics");
    return undefined;
  }
}
