import { Client, type CreateMessageRequest } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { type DeciderExchange, type ModelDeciderOptions, SamplingDecider, type SamplingServer } from "phasegate/ai";
import { describe, expect, it, onTestFinished } from "vitest";
import { request } from "../routed/decision/requests.js";
import { failure } from "../support/failure.js";
import { decision } from "./model-servers.js";

type Asked = CreateMessageRequest["params"];
type Said = string | Error | object | ((asked: Asked) => Promise<string>);

const signal = new AbortController().signal;
const said = (next: string) => decision(next).text ?? "";

/** Connects a server to a client whose model gives these answers in order. */
async function connected(answers: readonly Said[] | undefined, options: ModelDeciderOptions = {}) {
  const server = new McpServer({ name: "host", version: "1.0.0" });
  const client = new Client({ name: "agent", version: "1.0.0" });
  const asked: Asked[] = [];
  if (answers !== undefined) {
    client.registerCapabilities({ sampling: {} });
    client.setRequestHandler("sampling/createMessage", async ({ params }) => {
      asked.push(params);
      const answer = answers[asked.length - 1] ?? "";
      if (answer instanceof Error) throw answer;
      const text = typeof answer === "function" ? await answer(params) : answer;
      const content = typeof text === "string" ? { type: "text", text } : text;
      return { role: "assistant", model: "client-model", content: JSON.parse(JSON.stringify(content)) };
    });
  }
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(other), client.connect(one)]);
  onTestFinished(() => client.close());
  const exchanges: DeciderExchange[] = [];
  const onExchange = (exchange: DeciderExchange) => exchanges.push(exchange);
  const decider = new SamplingDecider({ server: server.server, onExchange, ...options });
  return { client, server, asked, exchanges, decider, decide: () => decider.decide(request(), { signal }) };
}

describe("SamplingDecider", () => {
  it.each([0, Number.NaN, -1, 1.5])("refuses %d as the maximum size of an answer", (maxTokens) => {
    expect(() => new SamplingDecider({ server: () => undefined, maxTokens })).toThrow(
      "maxTokens must be a whole number from 1",
    );
  });

  it("asks the client's own model", async () => {
    const { asked, exchanges, decide } = await connected([said("Sow")]);
    expect(await decide()).toMatchObject({ nextStep: "Sow", usage: { model: "client-model", requests: 1 } });
    expect(asked).toMatchObject([
      {
        systemPrompt: expect.stringContaining("WORKFLOW DEFINITION (GARDEN)"),
        messages: [{ role: "user", content: { type: "text", text: expect.stringContaining("JSON Schema") } }],
        maxTokens: 2000,
      },
    ]);
    expect(exchanges).toMatchObject([{ decider: "sampling", model: "client-model", response: said("Sow") }]);
  });

  it("accepts JSON in a code fence", async () => {
    const { decide } = await connected([`\`\`\`json\n${said("Sow")}\n\`\`\``]);
    expect(await decide()).toMatchObject({ nextStep: "Sow" });
  });

  it("retries once if the answer is not JSON", async () => {
    const { asked, decide } = await connected(["I would say: Sow!", said("Sow")]);
    expect(await decide()).toMatchObject({ nextStep: "Sow", usage: { requests: 2 } });
    expect(JSON.stringify(asked[1])).toContain("was no JSON object");
  });

  it("retries once if the answer is an image", async () => {
    const picture = { type: "image", data: "AAAA", mimeType: "image/png" };
    const { decide } = await connected([picture, picture]);
    expect(await failure(decide())).toMatchObject({
      message: "the answer of the client's model can't be used: the answer was empty, asked 2 times",
      details: { reason: "invalid_response", requests: 2 },
    });
  });

  it("reports that a client has no sampling, without a request", async () => {
    const { decide } = await connected(undefined);
    expect(await failure(decide())).toMatchObject({
      code: "DECIDER_FAILED",
      message: "the MCP client has no sampling: its model can't be asked",
      remedy: expect.stringContaining("LinearDecider"),
      details: { reason: "unavailable", retryable: false, requests: 0 },
    });
  });

  it("reports that no client is connected", async () => {
    const alone = new McpServer({ name: "host", version: "1.0.0" });
    for (const server of [alone.server, () => undefined]) {
      const error = await failure(new SamplingDecider({ server }).decide(request(), { signal }));
      expect(error).toMatchObject({ message: "no MCP client is connected: its model can't be asked" });
    }
  });

  it("reports that a newer protocol has no sampling", async () => {
    const errors: unknown[] = [];
    const factory = () => {
      const server = new McpServer({ name: "host", version: "1.0.0" });
      const decider = new SamplingDecider({ server: server.server });
      server.registerTool("decide", { description: "Decides" }, async () => {
        errors.push(await failure(decider.decide(request(), { signal })));
        return { content: [] };
      });
      return server;
    };
    const [one, other] = InMemoryTransport.createLinkedPair();
    const handle = serveStdio(factory, { transport: other });
    const capabilities = { sampling: {} };
    const client = new Client(
      { name: "agent", version: "1.0.0" },
      { capabilities, versionNegotiation: { mode: "auto" } },
    );
    await client.connect(one);
    expect(client.getProtocolEra()).toBe("modern");
    await client.callTool({ name: "decide" });
    await client.close();
    await handle.close();
    expect(errors).toMatchObject([
      {
        message: "the MCP client's protocol has no sampling requests: its model can't be asked",
        details: { reason: "unavailable", retryable: false },
      },
    ]);
  });

  it("uses the client of the current call", async () => {
    const first = await connected([said("Sow")]);
    const second = await connected([said("Water")]);
    let current = first.server.server;
    const decider = new SamplingDecider({ server: () => current });
    expect(await decider.decide(request(), { signal })).toMatchObject({ nextStep: "Sow" });
    current = second.server.server;
    expect(await decider.decide(request(), { signal })).toMatchObject({ nextStep: "Water" });
  });

  it("does not retry if the client's user declines, and does not repeat the client's text", async () => {
    const { asked, decide } = await connected([new Error("the user declined, key sk-planted")]);
    const error = await failure(decide());
    expect(error).toMatchObject({
      message: expect.stringMatching(/^the client's model can't be asked \(-?\d+\)$/),
      details: { reason: "unavailable", retryable: true, requests: 1 },
    });
    expect(JSON.stringify([error, error.message, error.cause])).not.toContain("planted");
    expect(asked).toHaveLength(1);
  });

  it("stops waiting for a client that is too slow", async () => {
    const never = () => new Promise<string>(() => {});
    const { decide } = await connected([never, never], { timeoutMs: 30 });
    expect(await failure(decide())).toMatchObject({ details: { reason: "timeout", requests: 2 } });
  });

  it("can be aborted by its caller", async () => {
    const controller = new AbortController();
    const hang = () => {
      controller.abort();
      return new Promise<string>(() => {});
    };
    const { decider } = await connected([hang]);
    const error = await failure(decider.decide(request(), { signal: controller.signal }));
    expect(error).toMatchObject({ details: { reason: "aborted", requests: 1 } });
  });

  it("reports that the client has disconnected", async () => {
    const { client, decide } = await connected([
      async () => {
        await client.close();
        return "";
      },
    ]);
    expect(await failure(decide())).toMatchObject({ message: "no MCP client is connected: its model can't be asked" });
  });
});

describe("a sampling server", () => {
  const capable = () => ({ sampling: {} });
  const failing = (code: string | number) => {
    const error = Object.assign(new Error("secret words"), { code });
    const server: SamplingServer = { getClientCapabilities: capable, createMessage: () => Promise.reject(error) };
    return failure(new SamplingDecider({ server }).decide(request(), { signal }));
  };

  it.each(["METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION", "CAPABILITY_NOT_SUPPORTED", -32601])(
    "whose protocol lacks the request (%s) cannot be used",
    async (code) => {
      expect(await failing(code)).toMatchObject({
        message: "the MCP client's protocol has no sampling requests: its model can't be asked",
        details: { reason: "unavailable", retryable: false, requests: 0 },
      });
    },
  );

  it.each([
    ["REQUEST_TIMEOUT", "timeout"],
    ["CONNECTION_CLOSED", "network"],
    ["NOT_CONNECTED", "network"],
    ["INVALID_RESULT", "invalid_response"],
  ])("that fails with %s is retried once: %s", async (code, reason) => {
    expect(await failing(code)).toMatchObject({ details: { reason, retryable: true, requests: 2 } });
  });

  it("that answers with several parts has its texts joined", async () => {
    const [one, other] = [said("Sow").slice(0, 9), said("Sow").slice(9)];
    const content = [{ type: "text", text: one }, { type: "image" }, { type: "text", text: other }];
    const createMessage = () => Promise.resolve({ content });
    const server: SamplingServer = { getClientCapabilities: capable, createMessage };
    expect(await new SamplingDecider({ server }).decide(request(), { signal })).toMatchObject({ nextStep: "Sow" });
  });

  it("that answers without a text is retried once", async () => {
    const server: SamplingServer = { getClientCapabilities: capable, createMessage: () => Promise.resolve(null) };
    expect(await failure(new SamplingDecider({ server }).decide(request(), { signal }))).toMatchObject({
      details: { reason: "invalid_response", requests: 2 },
    });
  });
});
