import { createQuotas, type QuotaOptions, type QuotaRefusal, quotaError, quotaResponse } from "phasegate/login";
import { describe, expect, it } from "vitest";

function quotas(options: QuotaOptions) {
  const clock = { time: 1_000_000, now: () => clock.time };
  return { clock, counters: createQuotas({ ...options, clock }) };
}

const OK = { ok: true };

describe("quotas", () => {
  it("do not limit what has no limit", () => {
    const { counters } = quotas({});
    for (let count = 0; count < 1000; count += 1) {
      expect(counters.call("ann", 1e9)).toEqual(OK);
      expect(counters.session("ann", count)).toEqual(OK);
      expect(counters.verifier("ann").ok).toBe(true);
    }
  });

  it("let an actor call so often in a minute, and say when the next call can come", () => {
    const { clock, counters } = quotas({ callsPerMinute: 6 });
    for (let count = 0; count < 6; count += 1) expect(counters.call("ann")).toEqual(OK);
    const refused = { ok: false, which: "callsPerMinute", limit: 6, retryAfterSeconds: 10 };
    expect(counters.call("ann")).toEqual(refused);
    // A refused call takes nothing.
    expect(counters.call("ann")).toEqual(refused);
    expect(counters.call("bob")).toEqual(OK);
    clock.time += 9999;
    expect(counters.call("ann")).toEqual({ ...refused, retryAfterSeconds: 1 });
    clock.time += 1;
    expect(counters.call("ann")).toEqual(OK);
    expect(counters.call("ann")).toEqual(refused);
    clock.time += 3_600_000;
    for (let count = 0; count < 6; count += 1) expect(counters.call("ann")).toEqual(OK);
    expect(counters.call("ann")).toEqual(refused);
  });

  it("count the bytes of an hour, those of answers too", () => {
    const { clock, counters } = quotas({ bytesPerHour: 3600, callsPerMinute: 100 });
    expect(counters.call("ann", 3000)).toEqual(OK);
    expect(counters.call("ann", 601)).toEqual({ ok: false, which: "bytesPerHour", limit: 3600, retryAfterSeconds: 1 });
    expect(counters.call("ann", 600)).toEqual(OK);
    counters.addBytes("ann", 100);
    expect(counters.call("ann", 10)).toMatchObject({ which: "bytesPerHour", retryAfterSeconds: 110 });
    clock.time += 110_000;
    expect(counters.call("ann", 10)).toEqual(OK);
    counters.addBytes("ann", 1e12);
    expect(counters.call("ann", 1)).toMatchObject({ retryAfterSeconds: 3601 });
    clock.time += 3_601_000;
    expect(counters.call("ann", 1)).toEqual(OK);
  });

  it.each([Number.NaN, -1, -1e9])("count a size of %d as all that there is: it must not end the limit", (size) => {
    const { counters } = quotas({ bytesPerHour: 1000 });
    expect(counters.call("ann", size)).toEqual(OK);
    expect(counters.call("ann", 1)).toMatchObject({ which: "bytesPerHour" });
    counters.addBytes("bob", size);
    expect(counters.call("bob", 1)).toMatchObject({ which: "bytesPerHour" });
  });

  it("take a request that is larger than the limit from a full hour, and make the next one wait", () => {
    const { clock, counters } = quotas({ bytesPerHour: 3600 });
    expect(counters.call("ann", 5400)).toEqual(OK);
    expect(counters.call("ann", 5400)).toMatchObject({ retryAfterSeconds: 5400 });
    clock.time += 5_400_000;
    expect(counters.call("ann", 5400)).toEqual(OK);
  });

  it("take no call for bytes that are refused", () => {
    const { counters } = quotas({ callsPerMinute: 2, bytesPerHour: 10 });
    expect(counters.call("ann", 10)).toEqual(OK);
    for (let count = 0; count < 5; count += 1) expect(counters.call("ann", 1)).toMatchObject({ which: "bytesPerHour" });
    expect(counters.call("ann", 0)).toEqual(OK);
    expect(counters.call("ann", 0)).toMatchObject({ which: "callsPerMinute" });
  });

  it("gain nothing from a clock that is set back", () => {
    const { clock, counters } = quotas({ callsPerMinute: 1 });
    expect(counters.call("ann")).toEqual(OK);
    clock.time -= 3_600_000;
    expect(counters.call("ann")).toMatchObject({ retryAfterSeconds: 60 });
  });

  it("limit sessions, for which no time to come back is known", () => {
    const { counters } = quotas({ sessions: 2 });
    expect(counters.session("ann", 1)).toEqual(OK);
    expect(counters.session("ann", 2)).toEqual({ ok: false, which: "sessions", limit: 2 });
  });

  it("limit verifiers at once, and free each place once", () => {
    const { counters } = quotas({ verifiersAtOnce: 2 });
    const [one, two] = [counters.verifier("ann"), counters.verifier("ann")];
    const refused = { ok: false, which: "verifiersAtOnce", limit: 2, retryAfterSeconds: 2 };
    expect(counters.verifier("ann")).toEqual(refused);
    expect(counters.verifier("bob").ok).toBe(true);
    if (!one.ok || !two.ok) throw new Error("no place");
    one.release();
    one.release();
    expect(counters.verifier("ann").ok).toBe(true);
    expect(counters.verifier("ann")).toEqual(refused);
    two.release();
    expect(counters.verifier("ann").ok).toBe(true);
  });

  it("remember so many actors, and forget the one that called longest ago", () => {
    const { counters } = quotas({ callsPerMinute: 2, maxActors: 3 });
    for (const name of ["ann", "bob", "eve", "ann", "eve", "zoe"]) expect(counters.call(name)).toEqual(OK);
    // Bob's one call is forgotten, the two of ann and eve are not.
    expect(["ann", "eve"].map((name) => counters.call(name).ok)).toEqual([false, false]);
    expect([counters.call("bob").ok, counters.call("bob").ok, counters.call("bob").ok]).toEqual([true, true, false]);
  });

  it("are more than 0", () => {
    for (const limits of [{ sessions: 0 }, { callsPerMinute: -1 }, { bytesPerHour: Number.NaN }, { maxActors: 0 }]) {
      expect(() => createQuotas(limits)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    }
  });
});

describe("a refusal", () => {
  const calls: QuotaRefusal = { ok: false, which: "callsPerMinute", limit: 60, retryAfterSeconds: 7 };

  it("is BUSY or LIMIT, and says when to come back", () => {
    expect(quotaError(calls)).toEqual({
      ...{ code: "BUSY", message: "You have used up your 60 calls in a minute.", which: "callsPerMinute" },
      ...{ remedy: "Send the same call again in 7 s.", retryAfterSeconds: 7 },
    });
    expect(quotaError({ ...calls, which: "verifiersAtOnce" }).code).toBe("BUSY");
    expect(quotaError({ ...calls, which: "bytesPerHour" }).code).toBe("LIMIT");
    expect(quotaError({ ok: false, which: "sessions", limit: 5 })).toEqual({
      ...{ code: "LIMIT", message: "You have used up your 5 sessions that are not ended.", which: "sessions" },
      ...{ remedy: "Complete one of your sessions first." },
    });
  });

  it("over HTTP is 429 with Retry-After, and an error of JSON-RPC", async () => {
    const response = quotaResponse(calls);
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await response.json()).toEqual({
      jsonrpc: "2.0",
      error: {
        code: -32_000,
        message: "You have used up your 60 calls in a minute. Send the same call again in 7 s.",
        data: { code: "BUSY", which: "callsPerMinute", retryAfterSeconds: 7 },
      },
      id: null,
    });
    const sessions = quotaResponse({ ok: false, which: "sessions", limit: 5 });
    expect([sessions.status, sessions.headers.get("retry-after")]).toEqual([429, null]);
  });
});
