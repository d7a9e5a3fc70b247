import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
} from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

/**
 * A stdio transport that knows which requests have no answer yet: the SDK's own drops those under way
 * when the connection ends, and an agent whose evidence was accepted should hear of it.
 */
export class CountingStdioTransport extends StdioServerTransport {
  readonly #open = new Set<RequestId>();
  readonly #waiting: (() => void)[] = [];
  /** Called when the transport has closed, whoever closed it. */
  onclosed: (() => void) | undefined;

  override async start(): Promise<void> {
    const deliver = this.onmessage;
    this.onmessage = (message) => {
      this.#received(message);
      deliver?.(message);
    };
    await super.start();
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    try {
      await super.send(message);
    } finally {
      const answer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
      if (answer && message.id !== undefined) this.#settle(message.id);
    }
  }

  override async close(): Promise<void> {
    await super.close();
    this.#open.clear();
    this.#wake();
    this.onclosed?.();
  }

  /** Resolves when every request has its answer, or after so many milliseconds: false if it took longer. */
  async idle(withinMs: number): Promise<boolean> {
    if (this.#open.size === 0) return true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, withinMs, false);
    });
    const answered = new Promise<boolean>((resolve) => this.#waiting.push(() => resolve(true)));
    const outcome = await Promise.race([answered, late]);
    clearTimeout(timer);
    return outcome;
  }

  /** A subscription stays open as long as the connection does, and a cancelled request gets no answer. */
  #received(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) {
      if (message.method !== "subscriptions/listen") this.#open.add(message.id);
    } else if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
      const id = message.params?.requestId;
      if (typeof id === "string" || typeof id === "number") this.#settle(id);
    }
  }

  #settle(id: RequestId): void {
    this.#open.delete(id);
    if (this.#open.size === 0) this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
