import { createOpenAI } from "@ai-sdk/openai";
import { AiSdkDecider } from "phasegate/ai";
import { describe, expect, it } from "vitest";
import { failure } from "../support/failure.js";
import { decider, decision, KEY } from "./model-servers.js";

const openAi = (url: string) => createOpenAI({ apiKey: KEY, baseURL: `${url}/v1` });

describe("AiSdkDecider", () => {
  it("passes settings to the model", async () => {
    const { server, decide } = await decider(
      (url) =>
        new AiSdkDecider({
          model: openAi(url).chat("gpt-test"),
          temperature: 0,
          maxOutputTokens: 500,
          providerOptions: { openai: { user: "phasegate" } },
        }),
      [decision("Sow")],
    );
    expect(await decide()).toMatchObject({ nextStep: "Sow" });
    expect(server.requests[0]?.body).toMatchObject({ temperature: 0, max_tokens: 500, user: "phasegate" });
    expect(server.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}` });
  });

  it("requests structured output with the schema", async () => {
    const { server, decide } = await decider(
      (url) => new AiSdkDecider({ model: openAi(url).chat("gpt-test") }),
      [decision("Sow")],
    );
    await decide();
    expect(server.requests[0]?.body).toMatchObject({
      messages: [
        { role: "system", content: expect.stringContaining("Workflow Orchestrator Assistant") },
        { role: "user", content: expect.stringContaining("CURRENT STATE") },
      ],
      response_format: { type: "json_schema", json_schema: { name: "decision", strict: true } },
    });
  });

  it("does not show the response of a refused request, as the key is unknown to it", async () => {
    const body = `{"error":{"message":"bad key ${KEY}"}}`;
    const { exchanges, decide } = await decider(
      (url, options) => new AiSdkDecider({ model: openAi(url)("gpt-test"), ...options }),
      [{ status: 401, body }],
    );
    const error = await failure(decide());
    expect(error.details).toMatchObject({ reason: "http", status: 401 });
    expect(exchanges).toMatchObject([{ failure: { reason: "http", status: 401 } }]);
    expect(exchanges[0]).not.toHaveProperty("response");
    expect(JSON.stringify([error, error.message, exchanges])).not.toContain(KEY);
  });

  it("names the error of a client that cannot be used", async () => {
    const { decide } = await decider(() => new AiSdkDecider({ model: brokenModel() }), []);
    expect(await failure(decide())).toMatchObject({
      message: "broken can't be asked (AI_LoadAPIKeyError)",
      details: { reason: "unavailable", retryable: false, requests: 1 },
    });
  });

  it("stops waiting for a client that ignores its signal", async () => {
    const deaf = { ...brokenModel(), doGenerate: () => new Promise<never>(() => {}) };
    const { decide } = await decider((_url, options) => new AiSdkDecider({ model: deaf, ...options }), [], {
      timeoutMs: 20,
    });
    expect(await failure(decide())).toMatchObject({ details: { reason: "timeout", requests: 2 } });
  });

  it.each([[""], [{ specificationVersion: "v4", provider: "none", modelId: "x" }]])(
    "refuses %j as a model",
    (model) => {
      expect(() => new AiSdkDecider({ model })).toThrow("model must be a language model of the AI SDK, or its name");
    },
  );

  it.each([[""], ["short"], [undefined as never], [5 as never]])(
    "refuses %j as a secret, which could not be found in a text",
    (secret) => {
      expect(() => new AiSdkDecider({ model: "openai/gpt-test", secrets: [secret] })).toThrow(
        "secrets must be a list of keys of 6 characters or more",
      );
    },
  );

  it.each([
    ["temperature", { temperature: Number.POSITIVE_INFINITY }],
    ["maxOutputTokens", { maxOutputTokens: 0 }],
  ])("refuses an invalid %s", (field, options) => {
    expect(() => new AiSdkDecider({ model: "openai/gpt-test", ...options })).toThrow(`${field} must be`);
  });

  it("accepts a name for the SDK's gateway", () => {
    expect(new AiSdkDecider({ model: "openai/gpt-test" })).toBeInstanceOf(AiSdkDecider);
  });
});

/** A provider whose key is missing throws on a request, not when the model is created. */
function brokenModel() {
  const error = new Error(`the key ${KEY} is missing`);
  error.name = "AI_LoadAPIKeyError";
  return {
    specificationVersion: "v4",
    provider: "test",
    modelId: "broken",
    supportedUrls: {},
    doGenerate: () => Promise.reject(error),
    doStream: () => Promise.reject(error),
  };
}
