/**
 * Verifiers: what evidence says, checked against files, commands, git and servers; and the types for a verifier of your
 * own. Needs Node, except for the types.
 *
 * @packageDocumentation
 */

export type { Verification } from "./phased/state/events.js";
export type { Verifier, VerifyRequest, VerifyResult } from "./ports/verifier.js";
export type { AllowedCommands } from "./verifiers/allowed-commands.js";
export { createVerifiers, type VerifiersOptions } from "./verifiers/create-verifiers.js";
export type { VerifierLimits } from "./verifiers/define-verifier.js";
export type { AllowedHost } from "./verifiers/http-ok.js";
export type { VerifierName } from "./workflow/built-in-verifiers.js";
