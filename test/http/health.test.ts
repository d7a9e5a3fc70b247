import { createHealth, type HealthOptions } from "phasegate/mcp-http";
import { createPrometheusMetrics, createTelemetry } from "phasegate/otel";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { MemoryStorage } from "../../src/storage/memory/storage.js";

function probe(options: HealthOptions = {}) {
  const health = createHealth(options);
  const ask = (path: string, method = "GET") => health.handle(new Request(`http://host.test${path}`, { method }));
  return { health, ask };
}

describe("probes", () => {
  it("answer as long as the process does, and are no cached answers", async () => {
    const { ask } = probe();
    const response = await ask("/healthz");
    expect(response?.status).toBe(200);
    expect(response?.headers.get("cache-control")).toBe("no-store");
    expect(await response?.json()).toEqual({ status: "ok" });
    expect((await ask("/readyz"))?.status).toBe(200);
    const head = await ask("/readyz", "HEAD");
    expect([head?.status, await head?.text()]).toEqual([200, ""]);
    const post = await ask("/healthz", "POST");
    expect([post?.status, post?.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("leave other paths to the host", async () => {
    const { ask } = probe();
    for (const path of ["/", "/mcp", "/healthz/", "/metrics", "/__proto__", "/constructor"]) {
      expect(await ask(path), path).toBeUndefined();
    }
  });

  it("say that the server is not ready while its storage fails, and alive all the same", async () => {
    const onError = vi.fn();
    let fails = true;
    const failure = new Error("no route to host");
    const storage = {
      countActive: () => {
        if (fails) throw failure;
        return Promise.resolve(0);
      },
    };
    const { ask } = probe({ storage, onError });
    const response = await ask("/readyz");
    expect([response?.status, await response?.json()]).toEqual([503, { status: "storage unavailable" }]);
    expect(onError).toHaveBeenCalledExactlyOnceWith(failure);
    expect((await ask("/healthz"))?.status).toBe(200);
    fails = false;
    expect((await ask("/readyz"))?.status).toBe(200);
  });

  it("wait for a storage that hangs no longer than said, and ask it once", async () => {
    let answer = (_: number) => {};
    const countActive = vi.fn(() => new Promise<number>((resolve) => (answer = resolve)));
    const { ask } = probe({ storage: { countActive }, timeoutMs: 20 });
    for (const response of await Promise.all([ask("/readyz"), ask("/readyz")])) expect(response?.status).toBe(503);
    expect((await ask("/readyz"))?.status).toBe(503);
    expect(countActive).toHaveBeenCalledOnce();
    answer(0);
    await vi.waitFor(async () => {
      const asked = ask("/readyz");
      answer(0);
      expect((await asked)?.status).toBe(200);
    });
  });

  it("say that the server is not ready once it is told to end", async () => {
    const { ask, health } = probe({ storage: new MemoryStorage() });
    health.drain();
    const response = await ask("/readyz");
    expect([response?.status, await response?.json()]).toEqual([503, { status: "draining" }]);
    expect((await ask("/healthz"))?.status).toBe(200);
  });
});

describe("metrics for Prometheus", () => {
  it("are text with the names, units and labels that Prometheus has", async () => {
    const { meterProvider, text, close } = await createPrometheusMetrics();
    onTestFinished(close);
    const telemetry = createTelemetry({ meterProvider });
    await telemetry.measure({ kind: "call", method: "tools/call", tool: 'a"b\n' }, async () => 1);
    telemetry.conflicted("phased");
    const { ask } = probe({ metrics: text });
    const response = await ask("/metrics");
    expect(response?.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const lines = (await response?.text())?.split("\n") ?? [];
    expect(lines).toContain("# TYPE mcp_server_operation_duration_seconds histogram");
    expect(lines).toContain("# TYPE phasegate_conflicts_total counter");
    expect(lines.find((line) => line.startsWith("phasegate_conflicts_total{"))).toMatch(
      /phasegate_engine="phased".* 1$/,
    );
    expect(lines.find((line) => line.includes("gen_ai_tool_name"))).toContain('gen_ai_tool_name="a\\"b\\n"');
  });

  it("are no answer where they fail, which the host is told", async () => {
    const onError = vi.fn();
    const { ask } = probe({ metrics: () => Promise.reject(new Error("closed")), onError });
    expect((await ask("/metrics"))?.status).toBe(500);
    expect(onError).toHaveBeenCalledOnce();
  });
});
