/**
 * What orchestrators and Prometheus ask a server: whether its process answers, whether it should get calls, and its metrics.
 * Behind no login, so the answers say nothing of sessions.
 */
import { systemClock } from "../ports/clock.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";

/** The options of {@link createHealth}. */
export interface HealthOptions {
  /** The storage that the server needs. Default: none, and the server is ready until it is told to end. */
  readonly storage?: Pick<StorageAdapter, "countActive"> | undefined;
  /** The time for the storage's answer, in milliseconds. Default 2,000. */
  readonly timeoutMs?: number;
  /** Returns the metrics in Prometheus's text format. Default: none, and `/metrics` is not answered. */
  readonly metrics?: (() => Promise<string>) | undefined;
  /** Called with each failure of the storage or of the metrics, for the host's log. Must not throw. Default: none. */
  readonly onError?: (error: unknown) => void;
}

/** Answers about the health of a server. */
export interface Health {
  /**
   * Answers `GET` and `HEAD` of `/healthz` (200 as long as the process answers), `/readyz` (503 while the storage does not
   * answer, and from {@link Health.drain} on) and `/metrics`. Undefined for any other path. Never rejects.
   */
  handle(request: Request): Promise<Response | undefined>;
  /** From now on the server is not ready: its callers must choose another one. */
  drain(): void;
}

/** Creates a fetch handler for the probes of an orchestrator and for Prometheus. */
export function createHealth(options: HealthOptions = {}): Health {
  const { timeoutMs = 2000, metrics, onError = () => {} } = options;
  let draining = false;
  const isReady = storageProbe(options.storage, timeoutMs, onError);
  const answers: Readonly<Record<string, (() => Promise<Response>) | undefined>> = {
    "/healthz": async () => status(200, "ok"),
    "/readyz": async () => {
      if (draining) return status(503, "draining");
      return (await isReady()) ? status(200, "ready") : status(503, "storage unavailable");
    },
    "/metrics": metrics && (() => metricsAnswer(metrics, onError)),
  };
  return {
    async handle(request) {
      const { pathname } = new URL(request.url);
      const answer = Object.hasOwn(answers, pathname) ? answers[pathname] : undefined;
      if (answer === undefined) return undefined;
      if (request.method !== "GET" && request.method !== "HEAD") {
        return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
      }
      const response = await answer();
      return request.method === "HEAD" ? new Response(null, response) : response;
    },
    drain() {
      draining = true;
    },
  };
}

/** Returns a check that the storage answers in time. A storage that hangs is asked once, however often probes come. */
function storageProbe(
  storage: HealthOptions["storage"],
  timeoutMs: number,
  onError: (error: unknown) => void,
): () => Promise<boolean> {
  if (storage === undefined) return async () => true;
  let asking: Promise<boolean> | undefined;
  const ask = async () => {
    try {
      await storage.countActive(1);
      return true;
    } catch (error) {
      onError(error);
      return false;
    }
  };
  return () => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return within(asking, timeoutMs);
  };
}

function within(answer: Promise<boolean>, milliseconds: number): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = systemClock.after(milliseconds, () => resolve(false));
    void answer.then((isTrue) => {
      cancel();
      resolve(isTrue);
    });
  });
}

async function metricsAnswer(metrics: () => Promise<string>, onError: (error: unknown) => void): Promise<Response> {
  try {
    const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8", ...UNCACHED };
    return new Response(await metrics(), { headers });
  } catch (error) {
    onError(error);
    return status(500, "metrics unavailable");
  }
}

const UNCACHED = { "cache-control": "no-store" };

function status(code: number, text: string): Response {
  return Response.json({ status: text }, { status: code, headers: UNCACHED });
}
