/**
 * The contract of storage adapters. The cases are in the files of their subjects: append.ts, read.ts, list.ts,
 * remove.ts, errors.ts, growth.ts, watch.ts and kills.ts; stage.ts opens the storage for a case.
 */
import {
  type ContractCase,
  type ContractReport,
  type ContractRun,
  NotTried,
  outcomeOf,
  runCases,
} from "../contract.js";
import { aliasChecks, appendChecks } from "./append.js";
import { errorChecks, keyChecks } from "./errors.js";
import { growthChecks, instanceChecks, optionalChecks } from "./growth.js";
import { killChecks, processChecks } from "./kills.js";
import { changesChecks, listChecks, modelChecks, pageChecks } from "./list.js";
import { capabilityChecks, readChecks } from "./read.js";
import { removeChecks, reopenChecks } from "./remove.js";
import { type StageCheck, type StorageContractOptions, StorageStage } from "./stage.js";
import { watchChecks } from "./watch.js";

/**
 * Returns the promises of every `StorageAdapter` as cases for any test runner:
 *
 * ```ts
 * for (const { name, run } of storageContract({ open: async () => new MemoryStorage() })) it(name, run);
 * ```
 *
 * Cases that start processes take longer than others: allow a minute for them, and more time for more `kills`.
 */
export function storageContract(options: StorageContractOptions): ContractCase[] {
  const checks = {
    ...appendChecks,
    ...readChecks,
    ...aliasChecks,
    ...listChecks,
    ...pageChecks,
    ...changesChecks,
    ...modelChecks,
    ...removeChecks,
    ...(options.reopen === undefined ? {} : reopenChecks),
    ...errorChecks,
    ...capabilityChecks,
    ...growthChecks,
    ...optionalChecks,
    ...watchChecks,
    ...instanceChecks,
    ...keyChecks,
    ...processChecks,
    ...killChecks,
  };
  return Object.entries(checks).map(([name, check]) => ({ name, run: () => outcomeOf(() => runOn(options, check)) }));
}

/**
 * Runs the whole contract over an adapter, one case after the other, and returns the report. Throws a `ContractError` with
 * the report if a promise is broken.
 */
export function runStorageContract(options: StorageContractOptions, run: ContractRun = {}): Promise<ContractReport> {
  return runCases(storageContract(options), run);
}

async function runOn(options: StorageContractOptions, check: StageCheck): Promise<void> {
  const stage = await StorageStage.open(options);
  try {
    await check(stage);
  } catch (error) {
    throw error instanceof NotTried ? error : stage.explained(error);
  } finally {
    await stage.close();
  }
}
