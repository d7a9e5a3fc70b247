import { type ModelServerReplies, startModelServer } from "phasegate/testing";
import { expect, it, onTestFinished } from "vitest";

async function started(replies: ModelServerReplies) {
  const server = await startModelServer(replies);
  onTestFinished(() => server.close());
  const post = (path: string, body = '{"model":"m"}') => fetch(`${server.url}${path}`, { method: "POST", body });
  return { server, post };
}

it("puts a text into the format that the path asks for", async () => {
  const { post } = await started(() => ({ text: "hello" }));
  for (const path of [
    "/v1beta/models/m:generateContent?alt=json",
    "/v1/responses",
    "/v1/chat/completions",
    "/v1/messages",
  ]) {
    const answer = await post(path);
    expect([answer.status, await answer.text()], path).toEqual([200, expect.stringContaining(`"hello"`)]);
  }
  expect(await (await post("/elsewhere")).text()).toBe('{"error":{"message":"no model answers at /elsewhere"}}');
});

const toolCalls = [{ name: "look", arguments: { at: "it" } }];

it("speaks Anthropic's format, in one piece and as a stream", async () => {
  const { post } = await started(() => ({ text: "hello", toolCalls }));
  const whole: unknown = await (await post("/v1/messages")).json();
  expect(whole).toMatchObject({
    id: "msg_1",
    content: [{ text: "hello" }, { type: "tool_use", id: "toolu_call_1_0", name: "look", input: { at: "it" } }],
    stop_reason: "tool_use",
  });
  const streamed = await post("/v1/messages", '{"model":"m","stream":true}');
  expect(streamed.headers.get("content-type")).toBe("text/event-stream");
  const events = (await streamed.text()).split("\n\n").flatMap((event) => /^data: (.*)$/m.exec(event)?.[1] ?? []);
  expect(events.map((event) => JSON.parse(event))).toMatchObject([
    { type: "message_start", message: { id: "msg_2", content: [], stop_reason: null } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hello" } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "tool_use", name: "look", input: {} } },
    { type: "content_block_delta", index: 1, delta: { partial_json: '{"at":"it"}' } },
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "tool_use" } },
    { type: "message_stop" },
  ]);
});

it("gives each answer an id of its own: frameworks take one with a known id for the same answer", async () => {
  const { post } = await started(() => ({ toolCalls }));
  for (const path of ["/v1/responses", "/v1/chat/completions", "/v1/messages"]) {
    const [one, other]: { id: string }[] = [await (await post(path)).json(), await (await post(path)).json()];
    expect(one?.id, path).not.toBe(other?.id);
  }
});

it("keeps what it was asked, and answers 404 at the end of its replies", async () => {
  const { server, post } = await started([{ status: 429, headers: { "retry-after": "3" }, body: "slow down" }]);
  const limited = await post("/v1/responses", "no JSON");
  expect([limited.status, limited.headers.get("retry-after"), await limited.text()]).toEqual([429, "3", "slow down"]);
  expect((await post("/v1/responses")).status).toBe(404);
  expect(server.requests).toMatchObject([
    { path: "/v1/responses", body: "no JSON", headers: { host: expect.stringContaining("127.0.0.1") } },
    { body: { model: "m" } },
  ]);
});

it("breaks a connection where it is asked to, and where a reply fails", async () => {
  const { server, post } = await started(({ path }) => (path === "/cut" ? { body: "whole", cut: true } : fail()));
  await expect(post("/cut").then((answer) => answer.text())).rejects.toThrow("terminated");
  await expect(post("/fail")).rejects.toThrow("fetch failed");
  await server.close();
  await expect(post("/closed")).rejects.toThrow("fetch failed");
});

function fail(): never {
  throw new Error("a reply that fails");
}
