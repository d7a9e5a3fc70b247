import { GeminiDecider } from "phasegate/ai";
import { describe, expect, it, vi } from "vitest";
import { request } from "../routed/decision/requests.js";
import { failure } from "../support/failure.js";
import { CLIENTS, decider, decision, KEY, lateAtFirst, modelServer } from "./model-servers.js";

const signal = new AbortController().signal;
const gemini = CLIENTS["Gemini's client"] ?? raise();

function raise(): never {
  throw new Error("there is such a client");
}

describe("GeminiDecider", () => {
  it("calls Gemini's generateContent, with the key only in a header", async () => {
    const { server, decide } = await decider(gemini, [decision("Sow")]);
    await decide();
    const [sent] = server.requests;
    expect(sent?.path).toBe("/v1/models/gemini-test:generateContent");
    expect(sent?.headers).toMatchObject({ "x-goog-api-key": KEY });
    expect(JSON.stringify(sent?.body)).not.toContain(KEY);
    expect(sent?.body).toMatchObject({
      systemInstruction: { parts: [{ text: expect.stringContaining("WORKFLOW DEFINITION (GARDEN)") }] },
      generationConfig: {
        responseMimeType: "application/json",
        responseJsonSchema: { required: ["next_step_name", "updated_context", "status_suggestion", "reasoning"] },
      },
    });
  });

  it("passes a temperature and a token limit", async () => {
    const server = await modelServer([decision("Sow")]);
    const options = { apiKey: KEY, baseUrl: server.url, temperature: 0, maxOutputTokens: 500 };
    await new GeminiDecider(options).decide(request(), { signal });
    expect(server.requests[0]).toMatchObject({
      path: "/v1/models/gemini-flash-latest:generateContent",
      body: { generationConfig: { temperature: 0, maxOutputTokens: 500 } },
    });
  });

  it("uses the Gemini API, even if the environment selects Vertex AI", async () => {
    vi.stubEnv("GOOGLE_GENAI_USE_VERTEXAI", "true");
    vi.stubEnv("GOOGLE_CLOUD_PROJECT", "elsewhere");
    const { server, decide } = await decider(gemini, [decision("Sow")]);
    await decide().finally(() => vi.unstubAllEnvs());
    expect(server.requests[0]?.path).toBe("/v1/models/gemini-test:generateContent");
  });

  it("does not send its key to the target of a redirect", async () => {
    const elsewhere = await modelServer([decision("Sow")]);
    const { decide } = await decider(gemini, [{ status: 307, headers: { location: elsewhere.url }, body: "{}" }]);
    expect(await failure(decide())).toMatchObject({ details: { reason: "http", status: 307, requests: 1 } });
    expect(elsewhere.requests).toEqual([]);
  });

  it("reports an error with an invalid body by its status", async () => {
    const { decide } = await decider(gemini, [{ status: 400, body: '{"error": ' }]);
    expect(await failure(decide())).toMatchObject({ details: { reason: "http", status: 400, requests: 1 } });
  });

  it("removes thoughts from the answer, and counts them as output", async () => {
    const parts = [{ text: "Let me think.", thought: true }, { text: decision("Sow").text }];
    const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 5, thoughtsTokenCount: 30 };
    const body = JSON.stringify({ candidates: [{ content: { parts }, finishReason: "STOP" }], usageMetadata });
    const { decide } = await decider(gemini, [{ body }]);
    expect(await decide()).toMatchObject({ nextStep: "Sow", usage: { inputTokens: 7, outputTokens: 35 } });
  });

  it("omits token counts that the response lacks", async () => {
    const body = JSON.stringify({ candidates: [{ content: { parts: [{ text: decision("Sow").text }] } }] });
    const { decide } = await decider(gemini, [{ body }]);
    expect((await decide()).usage).toEqual({ requests: 1 });
  });

  it.each(["", "with\nnewline", "ünusual"])("refuses the key %j without repeating it", async (apiKey) => {
    const made = () => new GeminiDecider({ apiKey });
    expect(made).toThrow("apiKey must be a key of visible ASCII characters");
  });

  it.each([
    ["timeoutMs", { timeoutMs: 0 }],
    ["timeoutMs", { timeoutMs: Number.NaN }],
    ["maxRetryAfterMs", { maxRetryAfterMs: -1 }],
    ["maxPromptTokens", { maxPromptTokens: 0 }],
    ["temperature", { temperature: Number.NaN }],
    ["temperature", { temperature: "hot" as never }],
    ["temperature", { temperature: -0.1 }],
  ])("refuses an invalid %s", (field, options) => {
    expect(() => new GeminiDecider({ apiKey: KEY, ...options })).toThrow(`${field} must be a number from`);
  });

  it.each([
    ["maxOutputTokens must be a whole number from 1", { maxOutputTokens: -1 }],
    ["maxOutputTokens must be a whole number from 1", { maxOutputTokens: 1.5 }],
    ["model must be the name of a model", { model: " " }],
    ["model must be the name of a model", { model: 5 as never }],
    ["baseUrl must be an http or https URL", { baseUrl: "" }],
    ["baseUrl must be an http or https URL", { baseUrl: "ftp://example.com" }],
    ["onExchange must be a function", { onExchange: "log" as never }],
  ])("says that %s", (message, options) => {
    expect(() => new GeminiDecider({ apiKey: KEY, ...options })).toThrow(message);
  });
});

describe("GeminiDecider.fromEnv", () => {
  it("reads key, model and timeout from the environment", async () => {
    const server = await modelServer(lateAtFirst(decision("Sow"), 1500));
    const env = { GEMINI_API_KEY: ` ${KEY} `, GEMINI_MODEL_NAME: "gemini-x", GEMINI_REQUEST_TIMEOUT_SECONDS: "1.5" };
    const made = GeminiDecider.fromEnv(env, { baseUrl: server.url, apiKey: undefined, model: undefined });
    expect(await made.decide(request(), { signal })).toMatchObject({ nextStep: "Sow", usage: { requests: 2 } });
    expect(server.requests[0]).toMatchObject({
      path: "/v1/models/gemini-x:generateContent",
      headers: { "x-goog-api-key": KEY },
    });
  });

  it("prefers options to the environment", async () => {
    const server = await modelServer([decision("Sow")]);
    const env = { GEMINI_MODEL_NAME: "gemini-x", GEMINI_REQUEST_TIMEOUT_SECONDS: "soon" };
    const options = { apiKey: KEY, model: "gemini-y", timeoutMs: 20_000, baseUrl: server.url };
    await GeminiDecider.fromEnv(env, options).decide(request(), { signal });
    expect(server.requests[0]?.path).toBe("/v1/models/gemini-y:generateContent");
  });

  it("names a missing variable, and what to do without a key", () => {
    for (const env of [{}, { GEMINI_API_KEY: "  " }]) {
      expect(() => GeminiDecider.fromEnv(env)).toThrow(
        expect.objectContaining({
          code: "INVALID_INPUT",
          message: "the environment variable GEMINI_API_KEY is not set",
          remedy: expect.stringContaining("LinearDecider"),
          details: { field: "GEMINI_API_KEY", expected: "a key of the Gemini API" },
        }),
      );
    }
  });

  it.each(["0", "-5", "soon", "1e9", "4000", "5s"])("refuses a timeout of %s without showing it", (seconds) => {
    const made = () => GeminiDecider.fromEnv({ GEMINI_API_KEY: KEY, GEMINI_REQUEST_TIMEOUT_SECONDS: seconds });
    expect(made).toThrow("the environment variable GEMINI_REQUEST_TIMEOUT_SECONDS can't be read");
  });
});
