/**
 * What adapter authors and hosts test themselves with: contract suites for the ports, as cases for
 * any test runner, a clock that stands still, and a server that speaks like a provider of models.
 *
 * @packageDocumentation
 */
export { type ContentContractOptions, contentContract } from "./testing/content-contract.js";
export type { ContractCase } from "./testing/contract-case.js";
export { FakeClock } from "./testing/fake-clock.js";
export { type CommitParts, commitChain, makeCommit, nextCommit } from "./testing/make-commit.js";
export {
  type ModelServer,
  type ModelServerReplies,
  type ModelServerReply,
  type ModelServerRequest,
  startModelServer,
} from "./testing/model-server.js";
export { type PlanContractOptions, planContract } from "./testing/plan-contract.js";
export type { StorageContractOptions } from "./testing/storage-check.js";
export { storageContract } from "./testing/storage-contract.js";
