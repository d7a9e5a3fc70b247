import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import type { Message } from "../../../src/cli/notify/messages.js";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Gives an answer; the last one of a list is given again and again. */
export type Answering = (response: ServerResponse) => void;

export function status(code: number, headers: Readonly<Record<string, string>> = {}): Answering {
  return (response) => response.writeHead(code, headers).end();
}

/** Starts a server on this machine that notes each request. */
export async function receiverServer(...answers: readonly Answering[]) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { url: path = "", headers } = request;
      const answer = answers[Math.min(received.length, answers.length - 1)] ?? status(204);
      received.push({ path, headers, text: Buffer.concat(chunks).toString("utf8") });
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it listens on no port");
  const bodies = () => received.map(({ text }): unknown => JSON.parse(text));
  return { received, bodies, close, url: `http://127.0.0.1:${address.port}` };
}

export const SECRET = `whsec_${Buffer.from("a secret of thirty-two characters").toString("base64")}`;

/** Checks a signature with Web Crypto as the Standard Webhooks specification says, five minutes of tolerance included. */
export async function isSigned({ headers, text }: Received, secret = SECRET): Promise<boolean> {
  const [id, at, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => headers[name]);
  if (Math.abs(Date.now() / 1000 - Number(at)) > 300) return false;
  const bytes = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes(secret.replace("whsec_", "")), hmac, false, ["verify"]);
  const content = new TextEncoder().encode(`${id}.${at}.${text}`);
  const versions = `${signatures}`.split(" ").map((signature) => signature.split(","));
  const checks = versions.map(([version, value = ""]) =>
    version === "v1" ? crypto.subtle.verify("HMAC", key, bytes(value), content) : false,
  );
  return (await Promise.all(checks)).includes(true);
}

export function aMessage(about: Partial<Message> = {}): Message {
  return {
    type: "session.failed",
    id: "msg_1",
    timestamp: "2026-03-04T05:06:07.000Z",
    text: "Session failed",
    data: { kind: "phased", sessionId: "session_1" },
    ...about,
  };
}
