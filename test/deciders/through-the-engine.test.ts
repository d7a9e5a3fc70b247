import { inspect } from "node:util";
import { type DeciderExchange, GeminiDecider, LinearDecider, type StepDecider } from "phasegate/ai";
import { describe, expect, it } from "vitest";
import { parseSessionId } from "../../src/workflow/names.js";
import { DONE, routed } from "../routed/engine/garden.js";
import { failure } from "../support/failure.js";
import { decision, KEY, modelServer } from "./model-servers.js";

/** Starts an instance on a decider, and collects its events and everything that is stored. */
async function garden(decider: StepDecider) {
  const { engine, storage } = routed(decider);
  const { sessionId: id } = await engine.start({ workflow: "GARDEN" });
  const stored = async () => {
    const commits: unknown[] = [];
    for await (const commit of storage.log(parseSessionId(id))) commits.push(commit);
    return JSON.stringify(commits);
  };
  return { engine, id, stored };
}

describe("a routed engine", () => {
  it("runs a workflow with Gemini's real client", async () => {
    const server = await modelServer([
      decision("sow ", { updated_context: [{ key: "dug", value: true }], reasoning: "dug" }),
      decision("Harvest"),
      decision("Water"),
      { status: 500, body: "{}" },
      decision("FINISH", { status_suggestion: "COMPLETED" }),
    ]);
    const { engine, id, stored } = await garden(
      new GeminiDecider({ apiKey: KEY, model: "gemini-test", baseUrl: server.url }),
    );
    expect(await engine.session(id).advance(DONE)).toMatchObject({ nextStep: { name: "Sow" }, context: { dug: true } });
    // The engine refuses a step that does not exist, and asks again.
    expect(await engine.session(id).advance(DONE)).toMatchObject({ nextStep: { name: "Water" } });
    expect(JSON.stringify(server.requests[2]?.body)).toContain("is no step that may follow");
    expect(await engine.session(id).advance(DONE)).toMatchObject({ status: "completed" });
    expect(server.requests).toHaveLength(5);
    const log = await stored();
    expect(log).toContain("gemini-test");
    expect(log).not.toContain(KEY);
  });

  it("stores a report whose decision failed, and no key; retry asks about the report again", async () => {
    const echo = { status: 403, body: `{"error":{"message":"${KEY} may not"}}` };
    const server = await modelServer([echo, decision("Sow", { reasoning: `by ${KEY}` })]);
    const exchanges: DeciderExchange[] = [];
    const onExchange = (exchange: DeciderExchange) => exchanges.push(exchange);
    const decider = new GeminiDecider({ apiKey: KEY, model: "gemini-test", baseUrl: server.url, onExchange });
    const { engine, id, stored } = await garden(decider);
    const error = await failure(engine.session(id).advance(DONE));
    expect(error).toMatchObject({ code: "DECIDER_FAILED", details: { reason: "http", status: 403 } });
    expect(await engine.session(id).state()).toMatchObject({ status: "failed" });
    expect(await engine.session(id).retry()).toMatchObject({ nextStep: { name: "Sow" } });
    const all = `${await stored()}${inspect([error, exchanges, engine, decider], { depth: 20, showHidden: true })}`;
    expect(all).toContain("[redacted] may not");
    expect(all).not.toContain(KEY);
  });

  it("runs through the steps in order without a model", async () => {
    const { engine, id } = await garden(new LinearDecider());
    const names: unknown[] = [];
    for (const _step of [1, 2, 3]) names.push((await engine.session(id).advance(DONE)).nextStep.name);
    expect(names).toEqual(["Sow", "Water", "FINISH"]);
    expect(await engine.session(id).state()).toMatchObject({ status: "completed" });
  });
});
