/** A tool that waits until its call is cancelled, and a model that calls it: for the scripts beside this one. */
import assert from "node:assert/strict";
import { startModelServer } from "phasegate/testing";

const cancel = new AbortController();
export const signal = cancel.signal;
const seen = { begun: 0, cancelled: 0 };

export const slow = {
  name: "slow",
  description: "Waits",
  inputSchema: { type: "object", properties: {} },
  call: (_, { signal: own }) =>
    new Promise((resolve) => {
      seen.begun += 1;
      const end = () => {
        seen.cancelled += 1;
        resolve({ isError: true, body: { code: "CANCELLED" } });
      };
      // Version 6.0.0 of the AI SDK goes on to the next step after it was aborted.
      if (own.aborted) return end();
      own.addEventListener("abort", end);
      cancel.abort();
    }),
};

/** The model calls the tool whenever it is asked. */
export const server = await startModelServer(() => ({ toolCalls: [{ name: "slow", arguments: {} }] }));

/** Waits for a run that is cancelled, and checks that each of its calls has learnt of it. */
export async function checkCancelled(run) {
  await run.catch((error) => assert.equal(error.name, "AbortError"));
  assert.notEqual(seen.begun, 0);
  assert.equal(seen.cancelled, seen.begun);
  await server.close();
}
