/**
 * The stream of changes. The browser opens a lost connection again by itself and names the last message that it has got; where
 * it gives up, a new stream is opened, and everything is read anew.
 */
import { signal } from "@preact/signals";
import type { LiveMessage } from "../wire.js";
import { base } from "./router.js";

/** Whether changes arrive. */
export const connection = signal<"opening" | "open" | "lost">("opening");

/** The wait before a stream that has failed is opened again, in milliseconds. */
const AGAIN_MS = 2000;

const listeners = new Set<(message: LiveMessage) => void>();

/** Calls a function with every message. Returns a function that ends this. */
export function onMessage(listener: (message: LiveMessage) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(message: LiveMessage): void {
  for (const listener of listeners) listener(message);
}

let stream: EventSource | undefined;

/** Opens the stream, and keeps it open. `isAllowed` is asked before it is opened again: the login may have ended. */
export function openStream(isAllowed: () => Promise<boolean>): void {
  open(isAllowed, true);
  // A page that the browser keeps for "back" would hold its connection.
  addEventListener("pagehide", () => stream?.close());
  addEventListener("pageshow", ({ persisted }) => persisted && open(isAllowed, false));
}

function open(isAllowed: () => Promise<boolean>, isFirst: boolean): void {
  const opened = new EventSource(`${base}api/events`);
  stream = opened;
  // A new stream does not know what this page has missed; one that the browser continues does.
  let isAnew = !isFirst;
  opened.addEventListener("open", () => {
    connection.value = "open";
    if (isAnew) tell({ type: "reset" });
    isAnew = false;
  });
  opened.addEventListener("message", ({ data }) => tell(JSON.parse(data)));
  opened.addEventListener("error", () => {
    connection.value = "lost";
    if (opened.readyState === EventSource.CLOSED) setTimeout(reopen, AGAIN_MS, isAllowed);
  });
}

async function reopen(isAllowed: () => Promise<boolean>): Promise<void> {
  if (await isAllowed()) open(isAllowed, false);
  else setTimeout(reopen, AGAIN_MS, isAllowed);
}
