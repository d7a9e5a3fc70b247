import { describe, expect, it } from "vitest";
import { failureOf, readRetryAfter, redactor, redactShapes, retryDelay } from "../../src/deciders/exchange.js";

describe("redactor", () => {
  it("removes a secret in every encoding", () => {
    const secret = 'a"b/c+d=e';
    const redact = redactor([secret]);
    const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret), btoa(secret)];
    for (const form of forms) expect(redact(`before ${form} after`)).toMatch(/^before "?\[redacted\]"?=* after$/);
  });

  it("removes the longer of two secrets as a whole, and keeps other words", () => {
    expect(redactor(["secret", "secret-and-more"])("secret-and-more, secret")).toBe("[redacted], [redacted]");
    expect(redactor(["local", ""])("a local model")).toBe("a local model");
  });

  it.each([
    "AIzaSyD-1234567890abcdefghijklmnopqrstu",
    "sk-proj-abcdefghijklmnop",
    "gsk_abcdefghijklmnopqr",
    "Bearer abcdefgh.ijkl-mnop",
    '{"x-goog-api-key": "abcdefghijkl"}',
    "api_key=abcdefghijkl",
    '{\\"apiKey\\": \\"abcdefghijkl\\"}',
    "Authorization: Basic abcdefghijkl",
  ])("recognizes the form of %s", (text) => {
    const redacted = redactShapes(`see ${text} there`);
    expect(redacted).toContain("[redacted]");
    expect(redacted).not.toMatch(/abcdefgh|1234567890/);
    expect(redacted).toMatch(/^see .* there$/);
  });

  it("keeps other texts", () => {
    const text = "Rotate the API key, then restart. The key: none. Ask for task-list-of-the-sprint.";
    expect(redactShapes(text)).toBe(text);
  });
});

describe("Retry-After", () => {
  it("is read in seconds, or as a date", () => {
    expect(readRetryAfter("7")).toBe(7000);
    expect(readRetryAfter("0.5")).toBe(500);
    expect(readRetryAfter(new Date(Date.now() - 9000).toUTCString())).toBe(0);
    const ahead = readRetryAfter(new Date(Date.now() + 3_600_000).toUTCString());
    expect(ahead).toBeGreaterThan(3_500_000);
    expect(ahead).toBeLessThanOrEqual(3_600_000);
    for (const value of [undefined, null, "", "soon"]) expect(readRetryAfter(value)).toBeUndefined();
  });

  it("is followed within limits; the default is a second", async () => {
    const { httpFailure, RequestFailure } = await import("../../src/deciders/exchange.js");
    expect(retryDelay(httpFailure(429), 10_000)).toBe(1000);
    expect(retryDelay(httpFailure(429), 300)).toBe(300);
    expect(retryDelay(httpFailure(429, { retryAfterMs: 9000 }), 10_000)).toBe(9000);
    expect(retryDelay(httpFailure(503, { retryAfterMs: 11_000 }), 10_000)).toBeUndefined();
    expect(retryDelay(httpFailure(529), 10_000)).toBe(0);
    expect(retryDelay(httpFailure(408), 10_000)).toBeUndefined();
    expect(retryDelay(new RequestFailure("aborted"), 10_000)).toBeUndefined();
  });
});

describe("failureOf", () => {
  it("returns only names and codes of an error, at any depth", () => {
    const refused = Object.assign(new Error("to key=abcdef"), { code: "ECONNREFUSED" });
    const fetched = new TypeError("fetch failed", { cause: new AggregateError([], "", { cause: refused }) });
    expect(failureOf(fetched)).toMatchObject({ reason: "network", facts: { code: "ECONNREFUSED" } });
    expect(failureOf(new TypeError("terminated"))).toMatchObject({ reason: "network", facts: { code: undefined } });
    expect(failureOf(new SyntaxError("at key"))).toMatchObject({ reason: "invalid_response" });
    expect(failureOf(Object.assign(new Error("x"), { name: "a key: sk-1" })).facts).toEqual({ code: undefined });
    expect(failureOf("just a text")).toMatchObject({ reason: "unavailable", facts: { code: undefined } });
  });
});
