import { once } from "node:events";

/** In a worker that was started with others: waits until all of them are ready. What they do is too short to meet otherwise. */
export async function begin(): Promise<void> {
  if (process.send === undefined) return;
  process.send("ready");
  await once(process, "message");
  process.disconnect();
}
