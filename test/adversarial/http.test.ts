import { createServer, type RequestListener } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { aGate } from "./a-gate.js";

/** Starts a server on this machine; `asked` lists the URLs of its requests. */
async function aServer(answer: RequestListener) {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return { asked, host: `127.0.0.1:${address.port}`, url: `http://127.0.0.1:${address.port}/` };
}

const GATE = "evidence_schema:\n  page: {type: string, description: where it runs, verify: http_ok}\n";

/** Starts a session at a gate whose check may call one server. */
const asking = (host: string) => aGate({ gate: GATE, verifiers: { hosts: [{ host, private: true }] } });

describe("a gate that calls a server", () => {
  it("lets an honest agent through", async () => {
    const { host, url } = await aServer((_, response) => response.end("up"));
    await (await asking(host)).accepts({ page: `${url}health` });
  });

  it("refuses a page that fails", async () => {
    const { host, url } = await aServer((request, response) => {
      response.writeHead(request.url === "/health" ? 200 : 500).end();
    });
    const { accepts, refuses } = await asking(host);
    await refuses({ page: url }, /the answer is 500; expected: 200 to 299/);
    await accepts({ page: `${url}health` });
  });

  it("refuses a page that redirects to a private address, without calling that address", async () => {
    const secret = await aServer((_, response) => response.end("secret"));
    const { host, url } = await aServer((request, response) => {
      if (request.url === "/health") response.end("up");
      else response.writeHead(302, { location: secret.url }).end();
    });
    const { accepts, refuses } = await asking(host);
    await refuses({ page: url }, /the answer is 302; redirects are not followed/);
    expect(secret.asked).toEqual([]);
    await accepts({ page: `${url}health` });
  });

  it("refuses a server of the agent, without calling it", async () => {
    const mine = await aServer((_, response) => response.end("up"));
    const { host, url } = await aServer((_, response) => response.end("up"));
    const { accepts, refuses } = await asking(host);
    await refuses({ page: mine.url }, /page.*not on the host's list/s);
    await refuses({ page: `http://${host}@${mine.host}/` }, /page/);
    expect(mine.asked).toEqual([]);
    await accepts({ page: url });
  });

  it("refuses a file:// URL", async () => {
    const { host, url } = await aServer((_, response) => response.end("up"));
    const { accepts, refuses } = await asking(host);
    await refuses({ page: "file:///etc/hostname" }, /page.*http/s);
    await accepts({ page: url });
  });
});
