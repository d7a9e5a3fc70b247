import { type ContractCase, type ContractReport, type ContractRun, outcomeOf, runCases } from "../contract.js";
import { aliasChecks, appendChecks } from "./append.js";
import { errorChecks, keyChecks } from "./errors.js";
import { growthChecks, instanceChecks } from "./growth.js";
import { killChecks, processChecks } from "./kills.js";
import { listChecks, pageChecks } from "./list.js";
import { modelChecks } from "./model.js";
import { capabilityChecks, readChecks } from "./read.js";
import { removeChecks, reopenChecks } from "./remove.js";
import {
  type ReopenCheck,
  type StageCheck,
  type StorageCheck,
  type StorageContractOptions,
  StorageStage,
} from "./stage.js";
import { watchChecks } from "./watch.js";

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
