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
  for (const path of ["/v1beta/models/m:generateContent?alt=json", "/v1/responses", "/v1/chat/completions"]) {
    const answer = await post(path);
    expect([answer.status, await answer.text()], path).toEqual([200, expect.stringContaining(`"hello"`)]);
  }
  expect(await (await post("/elsewhere")).text()).toBe('{"error":{"message":"no model answers at /elsewhere"}}');
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
