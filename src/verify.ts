/**
 * Verifiers: what evidence says, checked against files, commands, git and servers. Needs Node.
 *
 * @packageDocumentation
 */
export type { AllowedCommands } from "./adapters/verifiers/allowed-commands.js";
export type { AllowedHost } from "./adapters/verifiers/allowed-hosts.js";
export {
  createVerifiers,
  type VerifierLimits,
  type VerifierName,
  type VerifiersOptions,
} from "./adapters/verifiers/create-verifiers.js";
export type { JsonObject, JsonValue } from "./definition/json.js";
export type { Verifier, VerifyRequest, VerifyResult } from "./ports/verifier.js";
