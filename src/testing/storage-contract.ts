import { type ContractCase, outcomeOf } from "./contract-case.js";
import { type ContractReport, type ContractRun, runCases } from "./run-contract.js";
import type { ReopenCheck, StorageCheck, StorageContractOptions } from "./storage-check.js";
import { aliasChecks } from "./storage-contract-aliases.js";
import { appendChecks } from "./storage-contract-append.js";
import { capabilityChecks } from "./storage-contract-capabilities.js";
import { errorChecks } from "./storage-contract-errors.js";
import { growthChecks } from "./storage-contract-growth.js";
import { instanceChecks } from "./storage-contract-instances.js";
import { keyChecks } from "./storage-contract-keys.js";
import { killChecks } from "./storage-contract-kills.js";
import { listChecks } from "./storage-contract-list.js";
import { modelChecks } from "./storage-contract-model.js";
import { pageChecks } from "./storage-contract-pages.js";
import { processChecks } from "./storage-contract-processes.js";
import { readChecks } from "./storage-contract-read.js";
import { removeChecks } from "./storage-contract-remove.js";
import { reopenChecks } from "./storage-contract-reopen.js";
import { watchChecks } from "./storage-contract-watch.js";
import { type StageCheck, StorageStage } from "./storage-stage.js";

const onOne: readonly StorageCheck[] = [
  ...appendChecks,
  ...readChecks,
  ...aliasChecks,
  ...listChecks,
  ...pageChecks,
  ...modelChecks,
  ...removeChecks,
];

/** What every adapter is asked; what it has no part in says so. */
const onStage: readonly StageCheck[] = [
  ...errorChecks,
  ...capabilityChecks,
  ...growthChecks,
  ...watchChecks,
  ...instanceChecks,
  ...keyChecks,
  ...processChecks,
  ...killChecks,
];

/**
 * What every `StorageAdapter` must do, as cases for any test runner:
 *
 * ```ts
 * for (const { name, run } of storageContract({ open: async () => new MemoryStorage() })) it(name, run);
 * ```
 *
 * Cases that start processes take longer than others: give them a minute, and more the more `kills` there are.
 */
export function storageContract(options: StorageContractOptions): ContractCase[] {
  const restarts = options.reopen === undefined ? [] : reopenChecks;
  const checks = [...onOne.map(ofStorage), ...restarts.map(ofRestart), ...onStage];
  return checks.map(([name, check]) => ({ name, run: () => outcomeOf(() => runOn(options, check)) }));
}

/**
 * Runs the whole contract over an adapter, one case after the other, and gives a report. Throws a `ContractError`,
 * which has the report, if a promise is not kept.
 */
export function runStorageContract(options: StorageContractOptions, run: ContractRun = {}): Promise<ContractReport> {
  return runCases(storageContract(options), run);
}

function ofStorage([name, check]: StorageCheck): StageCheck {
  return [name, ({ storage }) => check(storage)];
}

function ofRestart([name, check]: ReopenCheck): StageCheck {
  return [name, (stage) => check(stage.storage, () => stage.reopen())];
}

async function runOn(options: StorageContractOptions, check: StageCheck[1]): Promise<void> {
  const stage = await StorageStage.open(options);
  try {
    await check(stage);
  } finally {
    await stage.close();
  }
}
