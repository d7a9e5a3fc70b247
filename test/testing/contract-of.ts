/**
 * The whole contract over one of the project's storages. A module in storages/ is all that one needs, beside a test file that
 * names it, so that storages are tried side by side: it says how the storage is opened, here and in other processes, and
 * `phasegate test-storage` takes it, too.
 */
import { afterAll, describe, it } from "vitest";
import { storageContract } from "../../src/testing/storage-contract/contract.js";
import type { StorageContractModule } from "../../src/testing/storage-contract/stage.js";
import { howOften } from "../support/how-often.js";

const long = process.env.PHASEGATE_LONG === "1";

/** Makes the tests. */
export function contractOf(name: string, module: StorageContractModule): void {
  describe(name, () => {
    afterAll(() => module.finish?.());
    for (const { name: what, run } of storageContract({ ...module, kills: howOften(3, 1000) })) {
      it(what, { timeout: long ? 7_200_000 : 600_000 }, run);
    }
  });
}
