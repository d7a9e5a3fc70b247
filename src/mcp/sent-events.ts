/** The last events that one connection has sent: a client whose stream has broken gets those that it has missed. */
import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";
import { jsonWeight } from "../workflow/cache.js";

/** The weight of the events that are kept for one connection. A heavier one is not kept. */
const KEPT_WEIGHT = 128 * 1024;
/** An event's number on its connection, and its stream. */
const EVENT_ID = /^([1-9]\d{0,14})_([\w-]{1,64})$/;

interface Sent {
  readonly number: number;
  readonly streamId: string;
  readonly message: JSONRPCMessage;
}

/**
 * An id names its stream, which can therefore be taken up also if its events are no longer kept. The SDK is not told of
 * streams that are open: a client that comes back takes its stream from a request that has not noticed that it is broken.
 */
export class SentEvents implements EventStore {
  #kept: Sent[] = [];
  #weight = 0;
  #last = 0;

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    this.#last += 1;
    const sent = { number: this.#last, streamId, message };
    const weight = jsonWeight(message);
    if (weight > KEPT_WEIGHT) return idOf(sent);
    this.#kept.push(sent);
    this.#weight += weight;
    while (this.#weight > KEPT_WEIGHT) this.#forgetOldest();
    return idOf(sent);
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const [, digits, streamId = ""] = EVENT_ID.exec(lastEventId) ?? [];
    let last = Number(digits);
    // More may be sent meanwhile.
    const next = () => this.#kept.find((one) => one.streamId === streamId && one.number > last);
    for (let sent = next(); sent !== undefined; sent = next()) {
      last = sent.number;
      // The first event of a stream has no message: it only tells its id.
      if ("jsonrpc" in sent.message) await send(idOf(sent), sent.message);
    }
    return streamId;
  }

  #forgetOldest(): void {
    const oldest = this.#kept.shift();
    if (oldest !== undefined) this.#weight -= jsonWeight(oldest.message);
  }
}

/** Checks for an id that an event of some connection may have. */
export function isEventId(id: string): boolean {
  return EVENT_ID.test(id);
}

function idOf({ number, streamId }: Sent): string {
  return `${number}_${streamId}`;
}
