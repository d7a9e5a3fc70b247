/** A Worker that runs each case of the storage contract in an object of its own. */
import { type DurableObjectDatabase, DurableStorage } from "phasegate/durable-objects";
import { storageContract } from "../../../src/testing/storage-contract/contract.js";
import { fetchFromObject } from "./objects.js";

/** How a case has ended. */
export interface Outcome {
  /** The reason, if it was not tried. */
  readonly reason?: string;
  readonly error?: string;
}

export class Contract {
  readonly #database: DurableObjectDatabase;

  constructor({ storage }: { readonly storage: DurableObjectDatabase }) {
    this.#database = storage;
  }

  async fetch(request: Request): Promise<Response> {
    const open = async () => new DurableStorage(this.#database);
    const wanted = decodeURIComponent(new URL(request.url).pathname.slice(1));
    const one = storageContract({ open, reopen: open }).find(({ name }) => name === wanted);
    return Response.json(await outcomeOf(one?.run));
  }
}

async function outcomeOf(run: (() => Promise<string | undefined>) | undefined): Promise<Outcome> {
  if (run === undefined) return { error: "there is no such case" };
  try {
    const reason = await run();
    return reason === undefined ? {} : { reason };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

export default { fetch: fetchFromObject };
