/**
 * Verifiers: what evidence says, checked against files, commands, git and servers. Needs Node.
 *
 * @packageDocumentation
 */

export type { Verifier, VerifyRequest, VerifyResult } from "./ports/verifier.js";
export type { AllowedCommands } from "./verifiers/command.js";
export {
  createVerifiers,
  type VerifierLimits,
  type VerifierName,
  type VerifiersOptions,
} from "./verifiers/create-verifiers.js";
export type { AllowedHost } from "./verifiers/http-ok.js";
export type { JsonObject, JsonValue } from "./workflow/json.js";
