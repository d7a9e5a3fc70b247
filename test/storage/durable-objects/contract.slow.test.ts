import { MemoryStorage } from "phasegate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { storageContract } from "../../../src/testing/storage-contract/contract.js";
import type { Outcome } from "./contract-object.js";
import { bundled, type RunningWorker, startWorker } from "./workerd.js";

/** What no Durable Object has. */
const LACKS =
  /^the adapter has no `(begin|compact|repair)`$|^the adapter does not have the capability `multiProcess`$|^the options have no `spawn`$/;

describe("DurableStorage in workerd, each case in an object of its own", () => {
  let worker: RunningWorker;
  beforeAll(async () => {
    worker = await startWorker(await bundled("contract-object.ts"), { className: "Contract", isNode: true });
  });
  afterAll(() => worker.stop());

  const open = async () => new MemoryStorage();
  // Only the names are of use here: the cases run in workerd.
  const cases = storageContract({ open, reopen: open });

  it.each(cases)("$name", async ({ name }) => {
    const answer = await fetch(new URL(`/${encodeURIComponent(name)}`, worker.url));
    const { error, reason } = (await answer.json()) as Outcome;
    expect(error).toBeUndefined();
    if (reason !== undefined) expect(reason).toMatch(LACKS);
  });
});
