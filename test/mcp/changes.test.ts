import { describe, expect, it, vi } from "vitest";
import { makeEngine } from "../support/make-engine.js";
import { built } from "../support/workflows.js";
import { connectInMemory } from "./connect-in-memory.js";
import { until } from "./http-server.js";

/** A client that collects the updates that it is told of. */
async function subscriber() {
  const made = makeEngine({ limits: { maxActiveSessions: 200 } });
  const updated: string[] = [];
  const connected = await connectInMemory(made.engine, {}, (client) =>
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri)),
  );
  const start = async (target: string) => {
    const { sessionId } = await made.engine.start({ workflowType: "two_phases", target });
    return { sessionId, uri: `phasegate://session/${sessionId}` };
  };
  return { ...made, ...connected, updated, start };
}

describe("subscriptions to sessions", () => {
  it.each(["before", "after"])("go on when one is refused at the same time, asked for %s", async (order) => {
    const { engine, client, updated, start } = await subscriber();
    const { sessionId, uri } = await start("a");
    const bad = "phasegate://session/there_is_none_20261122_010656";
    const uris = order === "before" ? [bad, uri] : [uri, bad];
    const asked = await Promise.allSettled(uris.map((one) => client.subscribeResource({ uri: one })));
    expect(asked.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await engine.session(sessionId).completePhase(1, built);
    await until(() => updated.length > 0);
    expect(updated).toEqual([uri]);
  });

  it("go on when another ends at the same time", async () => {
    const { engine, client, updated, start } = await subscriber();
    const [one, two] = [await start("a"), await start("b")];
    await client.subscribeResource({ uri: one.uri });
    await Promise.all([
      client.unsubscribeResource({ uri: one.uri }),
      client.subscribeResource({ uri: two.uri }),
      client.unsubscribeResource({ uri: one.uri }),
    ]);
    await engine.session(two.sessionId).completePhase(1, built);
    await until(() => updated.length > 0);
    expect(updated).toEqual([two.uri]);
  });

  it("end before they have begun, if the client says so", async () => {
    const { registration, engine, updated, start } = await subscriber();
    const [one, two] = [await start("a"), await start("b")];
    const begun = registration.subscribe?.(one.uri);
    registration.unsubscribe?.(one.uri);
    await begun;
    await registration.subscribe?.(two.uri);
    await engine.session(one.sessionId).completePhase(1, built);
    await engine.session(two.sessionId).completePhase(1, built);
    await until(() => updated.length > 0);
    expect(updated).toEqual([two.uri]);
  });

  it("are 100 at most at the same time, and those that ended do not count", async () => {
    const { registration, start } = await subscriber();
    const { uri } = await start("a");
    const targets = Array.from({ length: 100 }, (_, index) => `many/${index}`);
    const sessions = await Promise.all(targets.map(start));
    for (const { uri: each } of sessions) await registration.subscribe?.(each);
    await expect(registration.subscribe?.(uri)).rejects.toThrow("a client may subscribe to 100 sessions");
    registration.unsubscribe?.(sessions[7]?.uri ?? "");
    await registration.subscribe?.(uri);
  });

  it("begin again when the storage can be watched again, and tell what may have been missed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { engine, registration, client, updated, start } = await subscriber();
      const { uri } = await start("a");
      const errors: unknown[] = [];
      engine.on("internalError", ({ error }) => void errors.push(error));
      const { watch } = engine;
      const failure = new Error("the storage is down");
      let fails = 0;
      engine.watch = () => {
        fails += 1;
        // The first fails later, as a connection that breaks; the second at once, as a database that can't be opened.
        if (fails === 1) return broken(failure);
        if (fails === 2) throw failure;
        engine.watch = watch;
        return engine.watch();
      };
      await registration.subscribe?.(uri);
      for (let turn = 0; turn < 2; turn += 1) await vi.advanceTimersByTimeAsync(5000);
      expect([fails, errors.length]).toEqual([3, 2]);
      await vi.advanceTimersByTimeAsync(0);
      expect(updated).toContain(uri);
      await client.ping();
    } finally {
      vi.useRealTimers();
    }
  });
});

async function* broken(error: Error): AsyncGenerator<never> {
  yield* [];
  throw error;
}
