/**
 * Tests for adapter authors and hosts: contract suites for the ports, as cases for any test runner or as one call; adapters
 * that are broken on purpose; a storage that fails when it is told to, a clock that stands still, an agent that follows a
 * script, and a server that speaks like a provider of models.
 *
 * @packageDocumentation
 */

export {
  BROKEN_CONTENTS,
  BROKEN_STORAGES,
  type BrokenStorage,
  brokenContent,
  brokenStorage,
} from "./testing/broken.js";
export { contentContract, planContract, runContentContract } from "./testing/content-contract.js";
export {
  ContractError,
  type ContractReport,
  commitChain,
  FakeClock,
  makeCommit,
  nextCommit,
} from "./testing/contract.js";
export { FaultyStorage, type StorageFault } from "./testing/faulty-storage.js";
export {
  type ModelServer,
  type ModelServerReplies,
  type ModelServerReply,
  startModelServer,
} from "./testing/model-server.js";
export { ScriptedAgent, type ScriptedAgentOptions } from "./testing/scripted-agent.js";
export { runStorageContract, storageContract } from "./testing/storage-contract/contract.js";
export type {
  StorageContractModule,
  StorageContractOptions,
  StorageProcess,
} from "./testing/storage-contract/stage.js";
