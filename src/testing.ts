/**
 * What adapter authors and hosts test themselves with: contract suites for the ports, as cases for
 * any test runner, and a clock that stands still.
 *
 * @packageDocumentation
 */
export { type ContentContractOptions, contentContract, runContentContract } from "./testing/content-contract.js";
export type { ContractCase } from "./testing/contract-case.js";
export { FakeClock } from "./testing/fake-clock.js";
export { type CommitParts, commitChain, makeCommit, nextCommit } from "./testing/make-commit.js";
export { type PlanContractOptions, planContract } from "./testing/plan-contract.js";
export { ContractError, type ContractReport, type ContractResult, type ContractRun } from "./testing/run-contract.js";
export type { StorageContractModule, StorageContractOptions, StorageProcess } from "./testing/storage-check.js";
export { runStorageContract, storageContract } from "./testing/storage-contract.js";
