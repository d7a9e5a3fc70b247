import { describe, expect, it } from "vitest";
import type { Format } from "../../../src/cli/notify/formats.js";
import { Outbox, type Receiver } from "../../../src/cli/notify/outbox.js";
import { signed, webhook } from "../../../src/cli/notify/webhook.js";
import { aMessage, isSigned, receiverServer, SECRET, status } from "./receiving.js";

const KEY = Buffer.from(SECRET.replace("whsec_", ""), "base64");

/** An outbox on a clock that waits for nothing, and notes how long it would have waited. */
function outboxTo(receiver: Receiver) {
  const logged: object[] = [];
  const waits: number[] = [];
  let now = 0;
  const clock = {
    now: () => now,
    random: () => 1,
    after(milliseconds: number, callback: () => void) {
      waits.push(milliseconds);
      now += milliseconds;
      const timer = setImmediate(callback);
      return () => clearImmediate(timer);
    },
  };
  const ending = new AbortController();
  const log = { debug: () => {}, info: () => {}, warn: (about: object) => void logged.push(about) };
  const outbox = new Outbox(receiver, log, ending.signal, clock);
  return { outbox, logged, waits, end: () => ending.abort() };
}

const at = (url: string, more: { format?: Format; timeoutMs?: number; keys?: readonly Uint8Array[] } = {}) =>
  webhook({ url: new URL(url), format: "json", keys: [KEY], ...more });

describe("a message to an address", () => {
  it("is signed so that an implementation of the specification accepts it, and no other secret or body does", async () => {
    const { url, received } = await receiverServer();
    const { outbox, logged } = outboxTo(at(`${url}/hook?x=1#json`));
    outbox.add(aMessage());
    await outbox.empty();
    const [one] = received;
    if (one === undefined) throw new Error("nothing came");
    expect(one).toMatchObject({
      path: "/hook?x=1",
      headers: { "webhook-id": "msg_1", "content-type": "application/json" },
    });
    expect(await isSigned(one)).toBe(true);
    expect(await isSigned({ ...one, text: `${one.text} ` })).toBe(false);
    expect(await isSigned(one, `whsec_${Buffer.alloc(32).toString("base64")}`)).toBe(false);
    expect(logged).toEqual([]);
  });

  it("has the signature that the specification's library makes", () => {
    // Made with the package standardwebhooks 1.0.0.
    const key = Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLw", "base64");
    const made = signed("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}', [key]);
    expect(made["webhook-signature"]).toBe("v1,/Xy7FLfFISa1TZH7WLT+0x/orG5MlcutAFOpVan3/00=");
  });

  it("is signed with each secret while one replaces the other", async () => {
    const { url, received } = await receiverServer();
    const next = Buffer.alloc(24, 7);
    const { outbox } = outboxTo(at(url, { keys: [KEY, next] }));
    outbox.add(aMessage());
    await outbox.empty();
    const [one] = received;
    if (one === undefined) throw new Error("nothing came");
    expect([await isSigned(one), await isSigned(one, `whsec_${next.toString("base64")}`)]).toEqual([true, true]);
  });

  it("is sent again after a 500, with the same id and a signature for the time of the try", async () => {
    const { url, received } = await receiverServer(status(500), status(503), status(200));
    const { outbox, waits, logged } = outboxTo(at(url));
    outbox.add(aMessage());
    await outbox.empty();
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual(["msg_1", "msg_1", "msg_1"]);
    expect(await Promise.all(received.map((one) => isSigned(one)))).toEqual([true, true, true]);
    expect([waits, logged]).toEqual([[1000, 2000], []]);
  });

  it("waits as long as a 429 asks for", async () => {
    const { url, received } = await receiverServer(status(429, { "retry-after": "7" }), status(204));
    const { outbox, waits, logged } = outboxTo(at(url));
    outbox.add(aMessage());
    await outbox.empty();
    expect([received.length, waits, logged]).toEqual([2, [7000], []]);
  });

  it("is dropped at once if it would have to wait too long", async () => {
    const { url, received } = await receiverServer(status(429, { "retry-after": "3600" }));
    const { outbox, waits, logged } = outboxTo(at(url));
    outbox.add(aMessage());
    await outbox.empty();
    expect([received.length, waits]).toEqual([1, []]);
    expect(logged).toMatchObject([{ id: "msg_1", reason: "it answers 429" }]);
  });

  it("is dropped after ten minutes of failures, with waits that double up to a minute", async () => {
    const { url, received } = await receiverServer(status(502));
    const { outbox, waits, logged } = outboxTo(at(url));
    outbox.add(aMessage());
    await outbox.empty();
    const sum = waits.reduce((total, wait) => total + wait, 0);
    expect(waits.slice(0, 8)).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    expect([sum <= 600_000, sum + 60_000 > 600_000, received.length]).toEqual([true, true, waits.length + 1]);
    expect(logged).toHaveLength(1);
    expect(logged).toMatchObject([{ receiver: new URL(url).host, type: "session.failed", reason: "it answers 502" }]);
  });

  it("is tried at least once, and given up at the same time as those before it", async () => {
    const { url, bodies } = await receiverServer(status(502));
    const { outbox, logged, waits } = outboxTo(at(url));
    const ids = Array.from({ length: 20 }, (_, index) => `msg_${index}`);
    for (const id of ids) outbox.add(aMessage({ id }));
    await outbox.empty();
    expect([...new Set(bodies().map((body) => Object(body).id))]).toEqual(ids);
    expect(logged).toMatchObject(ids.map((id) => ({ id, reason: "it answers 502" })));
    expect(waits.reduce((total, wait) => total + wait, 0)).toBeLessThanOrEqual(600_000);
  });

  it.each([400, 401, 404, 410])(
    "is not sent again after a %i, which is logged once, without the path",
    async (code) => {
      const { url, received } = await receiverServer(status(code));
      const { outbox, logged } = outboxTo(at(`${url}/hooks/secret`));
      outbox.add(aMessage());
      await outbox.empty();
      expect([received.length, logged.length]).toEqual([1, 1]);
      expect(logged).toMatchObject([{ reason: `it answers ${code}`, sessionId: "session_1" }]);
      expect(JSON.stringify(logged)).not.toContain("secret");
    },
  );

  it("does not follow a redirect with its signature", async () => {
    const elsewhere = await receiverServer();
    const { url } = await receiverServer(status(307, { location: `${elsewhere.url}/stolen` }));
    const { outbox, logged } = outboxTo(at(url));
    outbox.add(aMessage());
    await outbox.empty();
    expect(elsewhere.received).toEqual([]);
    expect(logged).toMatchObject([{ reason: "it answers 307; redirects are not followed" }]);
  });

  it("is sent again if a server hangs or breaks off", async () => {
    const hangs = () => {};
    const breaks = ({ socket }: { readonly socket: { destroy(): void } | null }) => socket?.destroy();
    const { url, received } = await receiverServer(hangs, breaks, status(200));
    const { outbox, logged } = outboxTo(at(url, { timeoutMs: 200 }));
    outbox.add(aMessage());
    await outbox.empty();
    expect([received.length, logged]).toEqual([3, []]);
  });

  it("says that nothing listens", async () => {
    const { url, close } = await receiverServer();
    close();
    const { outbox, logged } = outboxTo(at(url));
    outbox.add(aMessage());
    await outbox.empty();
    expect(logged).toMatchObject([{ reason: "no answer (ECONNREFUSED)" }]);
  });

  it("is not signed for a chat, which has no use for it", async () => {
    const { url, received } = await receiverServer();
    const { outbox } = outboxTo(at(url, { format: "slack", keys: [] }));
    outbox.add(aMessage());
    await outbox.empty();
    expect(received.map(({ text }) => text)).toEqual(['{"text":"Session failed","mrkdwn":false}']);
    expect(received[0]?.headers).not.toHaveProperty("webhook-signature");
  });
});

describe("an outbox", () => {
  it("keeps the order, and drops what is more than a hundred messages", async () => {
    const { url, bodies } = await receiverServer();
    const { outbox, logged } = outboxTo(at(url));
    for (let index = 0; index < 103; index += 1) outbox.add(aMessage({ id: `msg_${index}` }));
    await outbox.empty();
    // One is on its way.
    expect(bodies()).toMatchObject(Array.from({ length: 101 }, (_, index) => ({ id: `msg_${index}` })));
    expect(logged).toMatchObject([101, 102].map((index) => ({ id: `msg_${index}`, reason: "100 others wait" })));
  });

  it("takes messages again after it was empty", async () => {
    const { url, bodies } = await receiverServer();
    const { outbox } = outboxTo(at(url));
    for (const id of ["msg_1", "msg_2"]) {
      outbox.add(aMessage({ id }));
      await outbox.empty();
    }
    expect(bodies()).toMatchObject([{ id: "msg_1" }, { id: "msg_2" }]);
  });

  it("drops all that has not arrived when the server ends, and names each", async () => {
    const { url, received } = await receiverServer(() => {});
    const { outbox, logged, end } = outboxTo(at(url));
    for (const id of ["msg_1", "msg_2"]) outbox.add(aMessage({ id }));
    await expect.poll(() => received.length).toBe(1);
    end();
    await outbox.empty();
    expect(logged).toMatchObject(["msg_1", "msg_2"].map((id) => ({ id, reason: "the server ends" })));
  });

  it("goes on after a receiver that throws", async () => {
    const sent: string[] = [];
    const { outbox, logged } = outboxTo({
      name: "broken",
      async send({ id }) {
        sent.push(id);
        if (id === "msg_1") throw new Error("broken");
        return undefined;
      },
    });
    for (const id of ["msg_1", "msg_2"]) outbox.add(aMessage({ id }));
    await outbox.empty();
    expect([sent, logged]).toMatchObject([["msg_1", "msg_2"], [{ id: "msg_1", reason: "broken" }]]);
  });
});
