import type { StorageAdapter } from "../ports/storage-adapter.js";
import type { ContractCase } from "./contract-case.js";
import type { ReopenCheck, StorageCheck, StorageContractOptions } from "./storage-check.js";
import { appendChecks } from "./storage-contract-append.js";
import { listChecks } from "./storage-contract-list.js";
import { pageChecks } from "./storage-contract-pages.js";
import { readChecks } from "./storage-contract-read.js";
import { removeChecks } from "./storage-contract-remove.js";
import { reopenChecks } from "./storage-contract-reopen.js";

/**
 * What every {@link StorageAdapter} must do, as cases for any test runner:
 *
 * ```ts
 * for (const { name, run } of storageContract({ open: async () => new MemoryStorage() })) it(name, run);
 * ```
 */
export function storageContract(options: StorageContractOptions): ContractCase[] {
  const checks = [...appendChecks, ...readChecks, ...listChecks, ...pageChecks, ...removeChecks];
  const cases = checks.map(([name, check]) => ({ name, run: () => runCheck(options, check) }));
  const { reopen } = options;
  if (reopen === undefined) return cases;
  const restart = async (storage: StorageAdapter) => {
    await storage.close?.();
    return reopen(storage);
  };
  return [...cases, ...reopenChecks.map(([name, check]) => ({ name, run: () => runReopen(options, restart, check) }))];
}

async function runCheck({ open }: StorageContractOptions, check: StorageCheck[1]): Promise<void> {
  const storage = await open();
  try {
    await check(storage);
  } finally {
    await storage.close?.();
  }
}

async function runReopen(
  options: StorageContractOptions,
  restart: (storage: StorageAdapter) => Promise<StorageAdapter>,
  check: ReopenCheck[1],
): Promise<void> {
  let storage = await options.open();
  try {
    await check(storage, async () => {
      storage = await restart(storage);
      return storage;
    });
  } finally {
    await storage.close?.();
  }
}
