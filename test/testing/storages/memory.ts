/** MemoryStorage, for the contract: nothing stays, so there is nothing to open again. */
import { MemoryStorage } from "phasegate";

export async function open(): Promise<MemoryStorage> {
  return new MemoryStorage();
}
