import { readFile } from "node:fs/promises";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { Notify } from "../../../src/cli/notify/notify.js";
import { AlteredStorage } from "../../log/altered-storage.js";
import { DONE, routed, Script } from "../../routed/engine/garden.js";
import { makeAsking } from "../../support/approvals.js";
import { DEPTH_GATE, gardenWith } from "../../support/gated-garden.js";
import { makeEngine, startTwoPhases } from "../../support/make-engine.js";
import { receiverServer, SECRET } from "./receiving.js";

const PAGE = "https://gates.example.com/inspector";
const silent = pino({ level: "silent" });

/** A server of which a person is told, and the sources that it listens to. */
async function telling(...listened: Parameters<Notify["listen"]>[0][]) {
  const { url, bodies } = await receiverServer();
  const options = { notify: [url], inspectorUrl: `${PAGE}/` };
  const notify = await Notify.open(options, { PHASEGATE_NOTIFY_SECRET: SECRET }, silent);
  if (notify === undefined) throw new Error("there is a receiver");
  for (const sources of listened) notify.listen(sources);
  return {
    /** Returns all messages, once they have arrived. */
    messages: async () => {
      await notify.close();
      return bodies();
    },
  };
}

describe("people are told of a phased session", () => {
  it("that waits for an approval: who may answer which question where", async () => {
    const { engine, waiting } = await makeAsking({ inspectorUrl: PAGE });
    const { messages } = await telling({ engine });
    const { sessionId, question } = await waiting();
    const link = `${PAGE}/sessions/${sessionId}?answer=${question.request}`;
    const [message, ...others] = await messages();
    expect(Object(message).data.link).toBe(link);
    // The hash depends on all that a log records.
    const stated = JSON.stringify(message).replaceAll(question.request, "…");
    expect(JSON.parse(stated)).toEqual(
      JSON.parse(await readFile(new URL("documented/approval.json", import.meta.url), "utf8")),
    );
    expect(others).toEqual([]);
  });

  it("whose agent asks for a waiver, in one line, however many the agent writes", async () => {
    const { engine } = makeEngine({ owner: { name: "ann", team: "red" } });
    const { messages } = await telling({ engine });
    const sessionId = await startTwoPhases(engine);
    const reason = `no GPU\nhere \u202e${"x".repeat(280)}😀 and more`;
    await engine.session(sessionId).requestWaiver(1, { fields: ["tests_pass"], reason });
    const [message, ...others] = await messages();
    expect(others).toEqual([]);
    expect(message).toMatchObject({
      type: "waiver.requested",
      data: { phaseName: "Build", fields: ["tests_pass"], reason, owner: "ann", team: "red" },
    });
    const { text } = Object(message);
    expect(text).toMatch(
      /^Waiver of tests_pass asked of any approver: no GPU here \\u202ex+… \(two_phases on src\/a.ts, /,
    );
    expect(text.isWellFormed()).toBe(true);
  });

  it("that has failed, with a link to its page", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 2 } });
    const { messages } = await telling({ engine });
    const sessionId = await startTwoPhases(engine);
    for (const _ of [1, 2]) await engine.session(sessionId).completePhase(1, {});
    const reason = "its attempts at the phase are used up: 2";
    expect(await messages()).toMatchObject([
      {
        type: "session.failed",
        text: expect.stringContaining(`Session failed, ${reason} (two_phases on src/a.ts, phase 1: Build, session`),
        data: { reason, link: `${PAGE}/sessions/${sessionId}` },
      },
    ]);
  });

  it("by the process that has made the commit, alone", async () => {
    const one = await makeAsking();
    const other = await makeAsking({ storage: one.storage });
    const [first, second] = [await telling({ engine: one.engine }), await telling({ engine: other.engine })];
    const { sessionId } = await one.waiting();
    expect(await other.engine.session(sessionId).state()).toMatchObject({ awaitingApproval: {} });
    expect(await second.messages()).toEqual([]);
    expect(await first.messages()).toHaveLength(1);
  });

  it("without the name of its phase, if that can't be read", async () => {
    const { engine, storage, waiting } = await makeAsking();
    const { messages } = await telling({ engine });
    const stop = engine.on("approvalRequested", () => {
      storage.read = () => Promise.reject(new Error("the disk is gone"));
    });
    onTestFinished(stop);
    await waiting().catch(() => {});
    const [message] = await messages();
    expect(message).toMatchObject({ text: expect.stringContaining(", phase 1, session "), data: { phase: 1 } });
    expect(Object(message).data).not.toHaveProperty("phaseName");
  });
});

describe("people are told of a routed session", () => {
  it("that waits for an approval, or has failed", async () => {
    const approval = { prompt: "Deep enough?", approvers: ["ann"] };
    const workflows = gardenWith({ ...DEPTH_GATE, approval });
    const { engine } = routed(new Script(), { workflows, limits: { maxAttempts: 1 }, inspectorUrl: PAGE });
    const { messages } = await telling({ routed: engine });
    const start = async () => (await engine.start({ workflow: "GARDEN" })).sessionId;
    const [waits, fails] = [await start(), await start()];
    await engine.session(waits).advance({ report: { status: "success", details: { depth: 3 } } });
    await engine.session(fails).advance(DONE);
    expect(await messages()).toMatchObject([
      {
        type: "approval.requested",
        text: expect.stringContaining(
          `asked of ann: Deep enough? (GARDEN, step Dig, session ${waits}) ${PAGE}/sessions/`,
        ),
        data: { kind: "routed", sessionId: waits, workflow: "GARDEN", phaseName: "Dig", question: "Deep enough?" },
      },
      { type: "session.failed", data: { kind: "routed", sessionId: fails, link: `${PAGE}/sessions/${fails}` } },
    ]);
  });
});

describe("people are told of a log that was edited", () => {
  it("once by each server, with the same id", async () => {
    const storage = new AlteredStorage();
    const [one, other] = [makeEngine({ storage }), makeEngine({ storage })];
    const sessionId = await startTwoPhases(one.engine);
    storage.edit(1, { hash: "0".repeat(64) });
    const both: unknown[] = [];
    for (const { engine } of [other, makeEngine({ storage })]) {
      const { messages } = await telling({ engine });
      for (const _ of [1, 2])
        await engine
          .session(sessionId)
          .state()
          .catch(() => {});
      await engine.listSessions();
      both.push(...(await messages()));
    }
    expect(both).toMatchObject(
      [1, 2].map(() => ({ type: "log.damaged", id: Object(both[0]).id, data: { sessionId } })),
    );
    expect(Object(both[0]).text).toMatch(/^Log damaged or edited: commit 1 of session \S+ was changed: .* \(session /);
  });

  it("but not of a refusal that concerns no log", async () => {
    const { engine } = makeEngine();
    const { messages } = await telling({ engine });
    await engine.start({ workflowType: "two_phases", target: "../out" }).catch(() => {});
    expect(await messages()).toEqual([]);
  });
});

it("a receiver that hangs delays no call, and the end by two seconds at most", async () => {
  const { url, received } = await receiverServer(() => {});
  const notify = await Notify.open({ notify: [`${url}#slack`] }, {}, silent);
  const { engine, waiting } = await makeAsking();
  notify?.listen({ engine });
  for (const _ of [1, 2, 3]) await waiting();
  await expect.poll(() => received.length).toBe(1);
  const begun = performance.now();
  await notify?.close();
  const took = performance.now() - begun;
  expect(took).toBeGreaterThan(1400);
  expect(took).toBeLessThan(4000);
});

it("nobody is told without an option", async () => {
  expect(await Notify.open({}, {}, silent)).toBeUndefined();
});
