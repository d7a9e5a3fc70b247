import { LinearDecider, ScriptedDecider } from "phasegate/ai";
import { describe, expect, it } from "vitest";
import { unusableClient } from "../../src/deciders/exchange.js";
import type { DecisionRequest } from "../../src/routed/decision/request.js";
import { request } from "../routed/decision/requests.js";
import { failure } from "../support/failure.js";

const signal = new AbortController().signal;

describe("LinearDecider", () => {
  const next = async (parts: Partial<DecisionRequest>) => {
    const { currentStep, ...rest } = request(parts);
    const asked = parts.operation === "start" ? rest : { ...rest, ...(currentStep ? { currentStep } : {}) };
    return (await new LinearDecider().decide(asked)).nextStep;
  };

  it("goes through the steps in order, and finishes after the last one", async () => {
    expect(await next({ operation: "start" })).toBe("Dig");
    expect(await next({ currentStep: "Dig" })).toBe("Sow");
    expect(await next({ currentStep: "Sow" })).toBe("Water");
    expect(await next({ currentStep: "Water" })).toBe("FINISH");
  });

  it("chooses an allowed step: a later one, else the end, else an earlier one", async () => {
    expect(await next({ currentStep: "Dig", allowed: ["Dig", "Water", "FINISH"] })).toBe("Water");
    expect(await next({ currentStep: "Sow", allowed: ["Dig", "FINISH"] })).toBe("FINISH");
    expect(await next({ currentStep: "Water", allowed: ["Sow", "Dig"] })).toBe("Dig");
    expect(await next({ operation: "start", allowed: ["Sow"] })).toBe("Sow");
  });

  it("keeps a resuming client on its step, unless the step is done", async () => {
    const back = { operation: "resume", currentStep: "Sow" } as const;
    expect(await next({ ...back, assumedStep: "Dig", report: { status: "success" } })).toBe("Sow");
    expect(await next({ ...back, assumedStep: "Sow", report: { status: "lost" } })).toBe("Sow");
    expect(await next({ ...back, assumedStep: "Sow", report: { status: "success" } })).toBe("Water");
    expect(await next({ ...back, assumedStep: "Dig", allowed: ["Water"] })).toBe("Water");
  });
});

describe("ScriptedDecider", () => {
  it("returns its answers in order, and records its requests", async () => {
    const script = new ScriptedDecider(["Sow", { nextStep: "Water", reasoning: "dry", contextUpdates: { dry: true } }]);
    expect(await script.decide(request(), { signal })).toEqual({ nextStep: "Sow", contextUpdates: {} });
    expect(await script.decide(request({ currentStep: "Sow" }), { signal })).toEqual({
      nextStep: "Water",
      reasoning: "dry",
      contextUpdates: { dry: true },
    });
    expect(script.requests.map(({ currentStep }) => currentStep)).toEqual(["Dig", "Sow"]);
  });

  it("throws a given error, and fails after the last answer", async () => {
    const script = new ScriptedDecider([new Error("no weather")]);
    await expect(script.decide(request(), { signal })).rejects.toThrow("no weather");
    expect(await failure(script.decide(request(), { signal }))).toMatchObject({
      code: "DECIDER_FAILED",
      message: "the script has no answer for request 2",
      details: { reason: "unavailable", retryable: false },
    });
  });

  it("may be a function of the request", async () => {
    const script = new ScriptedDecider(async ({ report }) => (report?.status === "success" ? "Sow" : "Dig"));
    expect(await script.decide(request(), { signal })).toMatchObject({ nextStep: "Sow" });
    expect(await script.decide(request({ report: { status: "failure" } }), { signal })).toMatchObject({
      nextStep: "Dig",
    });
  });
});

it("a package that can't be used is reported with the versions that can, and with the one that was found", () => {
  const cause = new Error("Cannot find package 'ai'");
  const needed = { name: "not-there", versions: "5 or later", users: "deciders" };
  const details = { reason: "unavailable", retryable: false, requests: 0 };
  const remedy = expect.stringContaining("Install it next to phasegate: npm install not-there@latest");
  const message = "deciders need the package not-there, 5 or later: it can't be loaded";
  expect(unusableClient(needed, cause)).toMatchObject({ code: "DECIDER_FAILED", message, remedy, details, cause });
  const { message: found } = unusableClient({ ...needed, name: "zod" }, cause);
  expect(found).toMatch(
    /^deciders need the package zod, 5 or later: version 4\.\d+\.\d+ is installed, and can't be used$/,
  );
});
