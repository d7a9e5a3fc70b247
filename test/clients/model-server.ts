/** A model's server on loopback. A script is the model: it gets each request of the agent, and says what the model answers. */
import { createServer } from "node:http";
import { zstdDecompressSync } from "node:zlib";
import { type Asked, readRequest, type Said } from "./apis.ts";

/** What the model does: it takes each request of the agent, and answers. Its first answer is to nothing, and is not sent. */
export type Model = Generator<Said, never, Asked>;

export interface ModelServer {
  readonly url: string;
  /** Has a model answer from now on. */
  begin(model: Model): void;
  /** Returns why the model has given up; undefined if it has not. */
  problem(): string | undefined;
  /** The requests so far, with what was answered. */
  readonly log: readonly { readonly path: string; readonly request: string; readonly answer: string }[];
  close(): Promise<void>;
}

/** Serves models. Requests that `isAgents` does not accept are a client's own, such as for a title: they get a few words. */
export async function serveModel(isAgents: (asked: Asked) => boolean): Promise<ModelServer> {
  const log: { path: string; request: string; answer: string }[] = [];
  let model: Model | undefined;
  let problem: string | undefined;
  let calls = 0;

  const answer = (asked: Asked): Said => {
    if (!isAgents(asked)) return { text: "Scripted" };
    try {
      if (model !== undefined && problem === undefined) return model.next(asked).value;
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    return { text: "I give up." };
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const bytes = Buffer.concat(chunks);
    const text = (request.headers["content-encoding"] === "zstd" ? zstdDecompressSync(bytes) : bytes).toString("utf8");
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const read = request.method === "POST" ? readRequest(path, text) : undefined;
    if (read === undefined) {
      log.push({ path: `${request.method} ${path}`, request: text, answer: "404" });
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"not here"}}');
      return;
    }
    calls += 1;
    const { type, text: sent } = read.send(answer(read.asked), `call_${calls}`);
    log.push({ path, request: text, answer: sent });
    response.writeHead(200, { "content-type": type }).end(sent);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the model's server has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    log,
    begin(next) {
      next.next();
      model = next;
    },
    problem: () => problem,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
