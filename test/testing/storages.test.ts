/**
 * The whole contract over each of the project's storages. A module in storages/ is all that one needs: it says how the
 * storage is opened, here and in other processes, and `phasegate test-storage` takes it, too.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import type { StorageContractModule } from "../../src/testing/storage-check.js";
import { storageContract } from "../../src/testing/storage-contract.js";

const long = process.env.PHASEGATE_LONG === "1";
const FOLDER = join(import.meta.dirname, "storages");

for (const file of readdirSync(FOLDER).sort()) {
  const module: StorageContractModule = await import(join(FOLDER, file));
  describe(file.replace(/\.ts$/, ""), () => {
    afterAll(() => module.finish?.());
    for (const { name, run } of storageContract({ ...module, kills: long ? 1000 : 100 })) {
      it(name, { timeout: long ? 1_800_000 : 600_000 }, run);
    }
  });
}
