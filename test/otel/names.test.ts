import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { createPrometheusMetrics, createTelemetry } from "phasegate/otel";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { parse } from "yaml";
import { METRICS } from "../../src/otel/metrics.js";
import { WIRE_ERRORS } from "../../src/tools/dispatch.js";
import { connectInMemory } from "../mcp/connect-in-memory.js";
import { routed, Script } from "../routed/engine/garden.js";
import { makeAsking } from "../support/approvals.js";
import { startVerified } from "../support/verified.js";

/** Makes every metric there is, with every attribute, and returns what Prometheus gets: labels by the names of metrics. */
async function emitted(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { meterProvider, text, close } = await createPrometheusMetrics();
  onTestFinished(close);
  const telemetry = createTelemetry({ meterProvider });
  const gate = "evidence_schema:\n  ok: {type: boolean, required: true, description: x, verify: {verifier: look}}\n";
  let ok = false;
  const look = {
    verify: async () => {
      if (!ok) throw new Error("crashed");
      return { ok, message: "looked" };
    },
  };
  const { engine, sessionId, submit } = await startVerified([gate], { telemetry, verifiers: { look } });
  const { ask } = await connectInMemory(engine, { telemetry });
  await submit({ ok: true });
  ok = true;
  await ask({ action: "complete_phase", session_id: sessionId, phase: 1, evidence: { ok: true } });
  await ask({ action: "get_phase", session_id: "nobody" });
  const asking = await makeAsking({ telemetry });
  const waiting = await asking.waiting();
  await asking.engine.session(waiting.sessionId).approve(await asking.signed(waiting.sessionId));
  const failing = routed(new Script("Sow", new Error("away")), { telemetry });
  const { sessionId } = await failing.engine.start({ workflow: "GARDEN" });
  const report = { report: { status: "success" } };
  await failing.engine.session(sessionId).advance(report);
  await expect(failing.engine.session(sessionId).advance(report)).rejects.toThrow();
  telemetry.conflicted("phased");
  const storage = telemetry.storage({
    ...asking.storage,
    capabilities: asking.storage.capabilities,
    countActive: async () => 0,
    read: () => Promise.reject(new Error("gone")),
  } as never);
  await expect(storage.read("nobody" as never)).rejects.toThrow("gone");
  await telemetry
    .measure({ kind: "gate", sessionId, workflowType: "w", phase: 1, attempt: 1, evidence: {} }, () =>
      Promise.reject(new Error("rules")),
    )
    .catch(() => {});
  await vi.waitFor(async () => expect(await text()).toContain("phasegate_wait_duration_seconds_count"));
  const found = new Map<string, Set<string>>();
  for (const line of (await text()).split("\n")) {
    const [, name = "", labels = ""] = /^(\w+)\{(.*)\} [^ ]+$/.exec(line) ?? [];
    if (!/^(?:mcp|phasegate)_/.test(name)) continue;
    const known = found.get(name) ?? new Set();
    found.set(name, known);
    for (const [, label = ""] of labels.matchAll(/(?:^|,)(\w+)="(?:[^"\\]|\\.)*"/g)) {
      if (label !== "otel_scope_name") known.add(label);
    }
  }
  return found;
}

const prometheusLabel = (attribute: string) => attribute.replaceAll(".", "_");

/** Returns the names that Prometheus has for a metric. */
function namesOf({ name, type, unit }: (typeof METRICS)[keyof typeof METRICS]): string[] {
  const base = `${prometheusLabel(name)}${unit === "s" ? "_seconds" : ""}`;
  if (type === "histogram") return ["count", "sum", "bucket"].map((part) => `${base}_${part}`);
  return [type === "counter" ? `${base}_total` : base];
}

/** A selection in a query: a metric, and the labels that it is chosen by. */
interface Selection {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** Reads a query: what it selects, by which labels it groups, and where it is no PromQL. */
function readQuery(query: string) {
  // Grafana puts an interval there.
  const text = query.replaceAll("$__rate_interval", "5m");
  const selections: Selection[] = [];
  const grouped: string[] = [];
  const errors: string[] = [];
  parser.parse(text).iterate({
    enter({ type, from, to, node }) {
      if (type.isError) errors.push(`${text} at ${from}`);
      if (type.name === "GroupingLabels") {
        grouped.push(...node.getChildren("LabelName").map((label) => text.slice(label.from, label.to)));
      }
      if (type.name !== "VectorSelector") return;
      const labels = [...text.slice(from, to).matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = ""]) => label);
      selections.push({ metric: /^\w+/.exec(text.slice(from, to))?.[0] ?? "", labels });
    },
  });
  return { selections, grouped, errors };
}

interface Dashboard {
  readonly panels: readonly {
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

const dashboard: Dashboard = JSON.parse(readFileSync("deploy/dashboard.json", "utf8"));
const targets = dashboard.panels.flatMap((panel) => panel.targets ?? []);
const alerts: { groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[] } = parse(
  readFileSync("deploy/alerts.yaml", "utf8"),
);
const rules = alerts.groups.flatMap((group) => group.rules);

describe("the names of metrics", () => {
  it("are emitted, all of them, with the attributes of the table", async () => {
    const found = await emitted();
    const expected = Object.values(METRICS).flatMap((metric) =>
      namesOf(metric).map((name): [string, string[]] => {
        const own = metric.attributes.map(prometheusLabel);
        return [name, [...own, ...(name.endsWith("_bucket") ? ["le"] : [])].sort()];
      }),
    );
    const sorted = [...found].map(([name, labels]): [string, string[]] => [name, [...labels].sort()]);
    expect(Object.fromEntries(sorted)).toEqual(Object.fromEntries(expected));
  });

  it("in the documentation are those of the table", () => {
    const rows = readFileSync("docs/observability.md", "utf8")
      .split("\n")
      .filter((line) => /^\| `(?:mcp|phasegate)\.[\w.]+` \|/.test(line))
      .map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    const expected = Object.values(METRICS).map(({ name, type, unit, attributes, description }) => [
      `\`${name}\``,
      `${type}, \`${unit}\``,
      attributes.map((attribute) => `\`${attribute}\``).join(", "),
      description,
    ]);
    expect(rows).toEqual(expected);
  });

  const labelsOf = new Map(
    Object.values(METRICS).flatMap((metric) => {
      const labels = new Set([...metric.attributes.map(prometheusLabel), "le", "job", "instance"]);
      return namesOf(metric).map((name): [string, ReadonlySet<string>] => [name, labels]);
    }),
  );
  labelsOf.set("up", new Set(["job", "instance"]));

  it.each([
    ...targets.map(({ expr, legendFormat }): [string, string] => [expr, legendFormat]),
    ...rules.map(({ expr, annotations }): [string, string] => [expr, Object.values(annotations).join(" ")]),
  ])("are those of the query %s", (query, text) => {
    const { selections, grouped, errors } = readQuery(query);
    expect(errors).toEqual([]);
    expect(selections).not.toEqual([]);
    for (const { metric, labels } of selections) {
      expect([...labelsOf.keys()]).toContain(metric);
      const known = labelsOf.get(metric) ?? new Set();
      for (const label of [...labels, ...grouped]) expect([...known], query).toContain(label);
    }
    // What is shown of a result are the labels that it is grouped by.
    for (const [, label = ""] of text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)) {
      expect(query.includes(`up{`) ? ["instance"] : grouped).toContain(label);
    }
  });

  it("has no query with a code that no error has", () => {
    const codes = new Set([...Object.keys(WIRE_ERRORS), ...Object.values(WIRE_ERRORS).map(({ code }) => code)]);
    const texts = [...targets, ...rules].flatMap(({ expr }) =>
      [...expr.matchAll(/(?:phasegate_error_code|error_type)(?:=~|!=|=)"([^"]+)"/g)].flatMap(([, given = ""]) =>
        given.split("|"),
      ),
    );
    expect(texts.length).toBeGreaterThan(5);
    expect(texts.filter((code) => !codes.has(code))).toEqual([]);
  });

  it("leaves out no metric that nobody looks at", () => {
    const used = new Set(
      [...targets, ...rules].flatMap(({ expr }) => readQuery(expr).selections.map((one) => one.metric)),
    );
    const unused = Object.values(METRICS).filter((metric) => !namesOf(metric).some((name) => used.has(name)));
    expect(unused).toEqual([]);
  });
});
