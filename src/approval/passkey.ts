/**
 * Approvals by passkey (WebAuthn). The challenge is the SHA-256 of the text that Ed25519 keys sign, so that a passkey's
 * signature is for one decision only. @simplewebauthn/server, an optional peer, is loaded by the first check.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod/mini";
import { PhasegateError } from "../errors.js";
import { type OptionalPackage, unusablePackage } from "../ports/optional-package.js";
import { shown } from "../workflow/names.js";
import type { Passkey } from "./approvers.js";
import { fromBase64Url, toBase64Url } from "./keys.js";
import {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type ApprovalSignature,
  approvalMessage,
  type WaiverQuestion,
} from "./message.js";

const ORIGINS_MAX = 20;

/**
 * Public keys as COSE in base64url. Authenticators encode keys in one form only (CTAP2's canonical CBOR), so each kind has
 * one beginning and one length.
 */
const COSE = {
  ES256: /^pQECAyYgASFYI[A-P][\w-]{42}Ilgg[\w-]{43}$/,
  Ed25519: /^pAEBAycgBiFYI[A-P][\w-]{42}$/,
};

/** Returns the algorithm of a COSE key in base64url; undefined for another algorithm, and for anything but a key. */
function algorithmOf(publicKey: string): Passkey["algorithm"] | undefined {
  if (COSE.ES256.test(publicKey)) return "ES256";
  return COSE.Ed25519.test(publicKey) ? "Ed25519" : undefined;
}

const text = (form: RegExp) => z.string().check(z.regex(form));

/** A passkey. A credential's id has at most 1,023 bytes, a domain 253 characters. */
const passkeySchema = z
  .strictObject({
    kind: z.literal("passkey"),
    credentialId: text(/^[\w-]{1,1364}$/),
    publicKey: z.string(),
    algorithm: z.enum(["ES256", "Ed25519"]),
    rpId: text(/^(?=.{1,253}$)[a-z0-9-]+(?:\.[a-z0-9-]+)*$/),
    origins: z.array(z.string()).check(z.minLength(1), z.maxLength(ORIGINS_MAX)),
    invitation: z.optional(text(/^[0-9a-f]{64}$/)),
  })
  .check(
    z.refine(({ publicKey, algorithm }) => algorithmOf(publicKey) === algorithm, { path: ["publicKey"] }),
    z.refine(({ origins, rpId }) => origins.every((origin) => isOriginOf(origin, rpId)), { path: ["origins"] }),
  );

/**
 * Checks an approver's passkey. It comes from outside: from a file, or from the host.
 * @throws {PhasegateError} `INVALID_INPUT` with the name of a member that is wrong, or that passkeys do not have.
 */
export function requirePasskey(name: string, key: Passkey): void {
  const member = wrongMember(key);
  if (member === undefined) return;
  throw new PhasegateError("INVALID_INPUT", `approvers.${shown(name)} is a passkey with a wrong ${shown(member)}`, {
    remedy: "Take it out, and invite the person again: phasegate approvers invite NAME.",
    details: { field: `approvers.${name}.${member}`, expected: "a passkey as it was registered" },
  });
}

/** Returns the name of a member that is wrong, or that passkeys do not have. */
function wrongMember(key: Passkey): string | undefined {
  const [issue] = passkeySchema.safeParse(key).error?.issues ?? [];
  if (issue === undefined) return undefined;
  return String(issue.code === "unrecognized_keys" ? issue.keys[0] : issue.path[0]);
}

/** Returns true for the origin of a page on which a passkey of this domain works: HTTPS, or HTTP on this machine. */
function isOriginOf(origin: string, rpId: string): boolean {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url === undefined || url.origin !== origin) return false;
  const isSecure = url.protocol === "https:" || (url.protocol === "http:" && /(^|\.)localhost$/.test(url.hostname));
  return isSecure && `.${url.hostname}`.endsWith(`.${rpId}`);
}

/** The algorithms that are offered, ES256 and EdDSA, by their COSE numbers. */
const ALGORITHMS = [-7, -8];

/**
 * Returns the challenge that a passkey signs for an answer: the SHA-256 of `approvalMessage`, in base64url. Ask for user
 * verification (`userVerification: "required"`) with the credentials of that approver. Then pass `signedAt`, the
 * assertion's `signature` as `value`, its `authenticatorData`, and its `clientDataJSON` as `clientData` to
 * `Engine.approve` or `Engine.deny`, for a waiver to `Engine.waive` or `Engine.denyWaiver`.
 */
export function passkeyChallenge(
  question: ApprovalQuestion | WaiverQuestion,
  answer: ApprovalAnswer,
): { readonly challenge: string } {
  return { challenge: challengeOf(approvalMessage(question, answer)) };
}

function challengeOf(message: string): string {
  return toBase64Url(sha256(utf8ToBytes(message)));
}

/** Returns why a signature is not by a passkey for this text; undefined if it is. */
export async function checkAssertion(
  { credentialId: id, publicKey, rpId, origins }: Passkey,
  message: string,
  { value, authenticatorData, clientData }: ApprovalSignature,
): Promise<Error | undefined> {
  if (authenticatorData === undefined || clientData === undefined) {
    return new Error("authenticatorData and clientData belong together");
  }
  const { server } = await loadWebAuthn();
  const { verified } = await server
    .verifyAuthenticationResponse({
      response: {
        ...{ id, rawId: id, type: "public-key", clientExtensionResults: {} },
        response: { authenticatorData, clientDataJSON: clientData, signature: value },
      },
      expectedChallenge: challengeOf(message),
      expectedOrigin: [...origins],
      expectedRPID: rpId,
      requireUserVerification: true,
      // Nobody knows the counter of the time when an old log is checked. An audit compares those in the log.
      credential: { id, publicKey: fromBase64Url(publicKey), counter: 0 },
    })
    .catch((error: unknown) => ({ verified: error instanceof Error ? error : new Error(String(error)) }));
  if (verified instanceof Error) return verified;
  if (!verified) return new Error("the signature is not by this passkey");
  return isEmbedded(clientData) ? new Error("the page was embedded in a page of another origin") : undefined;
}

/** Returns true if the passkey was asked in a frame of another site's page, where people don't see what they approve. */
function isEmbedded(clientData: string): boolean {
  const { crossOrigin }: { crossOrigin?: unknown } = JSON.parse(textOf(clientData));
  return crossOrigin !== undefined && crossOrigin !== false;
}

function textOf(base64Url: string): string {
  return new TextDecoder().decode(fromBase64Url(base64Url));
}

/** The site where passkeys are registered and used. */
export interface PasskeyPlace {
  /** The domain of the page, such as `gates.example.com` or `localhost`. Not an IP address. */
  readonly rpId: string;
  /** The origins of the page, such as `https://gates.example.com`. */
  readonly origins: readonly string[];
}

/** The person that a passkey is registered for. */
export interface RegistrationRequest extends Pick<PasskeyPlace, "rpId"> {
  readonly name: string;
  /** The passkeys that the person has registered: a device does not register a second one. */
  readonly known?: readonly Passkey[];
}

/** The options with which a browser makes a passkey: `PublicKeyCredentialCreationOptionsJSON`, as JSON for the page. */
export interface RegistrationOptions {
  /** 32 random bytes in base64url. Keep them on the server for {@link readRegistration}. */
  readonly challenge: string;
  readonly rp: { readonly name: string; readonly id?: string };
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string };
  /** ES256 and EdDSA. */
  readonly pubKeyCredParams: readonly { readonly alg: number; readonly type: "public-key" }[];
  /** In milliseconds. */
  readonly timeout?: number;
  /** `none`: nobody asks which device it is. */
  readonly attestation?: string;
  /** The passkeys that the person has. */
  readonly excludeCredentials?: readonly { readonly id: string; readonly type: string }[];
  /** User verification is required, a resident key preferred. */
  readonly authenticatorSelection?: { readonly userVerification?: string; readonly residentKey?: string };
}

/**
 * Returns what a browser needs to make a passkey for an approver, with a new challenge.
 * @throws {PhasegateError} `INTERNAL` when @simplewebauthn/server is not installed.
 */
export async function registrationOptions({
  name,
  rpId,
  known = [],
}: RegistrationRequest): Promise<RegistrationOptions> {
  const { server } = await loadWebAuthn();
  return server.generateRegistrationOptions({
    rpName: "phasegate",
    rpID: rpId,
    userName: name,
    userDisplayName: name,
    attestationType: "none",
    authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: known.map(({ credentialId }) => ({ id: credentialId })),
  });
}

const registrationSchema = z.object({
  id: text(/^[\w-]{1,1364}$/),
  rawId: text(/^[\w-]{1,1364}$/),
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: text(/^[\w-]{1,4096}$/),
    attestationObject: text(/^[\w-]{1,16384}$/),
  }),
});

/** The challenge of {@link registrationOptions}, and the place of the page that must answer it. */
export interface ExpectedRegistration extends PasskeyPlace {
  /** The challenge of {@link registrationOptions}; use it once. */
  readonly challenge: string;
}

/**
 * Checks a browser's answer to {@link registrationOptions} (`RegistrationResponseJSON`), and returns the passkey to store.
 * @throws {PhasegateError} `INVALID_INPUT` when the answer does not count, or a host could not use the passkey; `INTERNAL`
 * when @simplewebauthn/server is not installed.
 */
export async function readRegistration(response: unknown, expected: ExpectedRegistration): Promise<Passkey> {
  const { challenge, rpId, origins } = expected;
  const { data } = registrationSchema.safeParse(response);
  if (data === undefined) throw notRegistered(new Error("a member is missing, of another type, or too long"));
  const { server, helpers } = await loadWebAuthn();
  try {
    const attestation = helpers.decodeAttestationObject(fromBase64Url(data.response.attestationObject));
    // Other attestations have certificates, which may name addresses for the library to load more from.
    const isPlain = attestation.get("fmt") === "none" || attestation.get("fmt") === "packed";
    if (!isPlain || attestation.get("attStmt").get("x5c") !== undefined) {
      throw new Error("it has an attestation with certificates, and none was asked for");
    }
    const { verified, registrationInfo } = await server.verifyRegistrationResponse({
      response: { ...data, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: rpId,
      requireUserPresence: true,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) throw new Error("it is not verified");
    const { id, publicKey } = registrationInfo.credential;
    const key = toBase64Url(publicKey);
    const algorithm = algorithmOf(key);
    if (algorithm === undefined) throw new Error("its key is neither ES256 nor Ed25519");
    if (isEmbedded(data.response.clientDataJSON)) throw new Error("the page was embedded in a page of another origin");
    const passkey: Passkey = { kind: "passkey", credentialId: id, publicKey: key, algorithm, rpId, origins };
    // Otherwise its first approval would be refused, when the invitation is used up.
    const wrong = wrongMember(passkey);
    if (wrong !== undefined) throw new Error(`a host could not use it, because of its ${wrong}`);
    return passkey;
  } catch (error) {
    throw notRegistered(error);
  }
}

function notRegistered(cause: unknown): PhasegateError<"INVALID_INPUT"> {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new PhasegateError("INVALID_INPUT", `the passkey can't be registered: ${why}`, {
    remedy:
      "Open the page at its own address and try again, with a device that asks for a fingerprint, a face or a PIN.",
    details: { field: "response", expected: "the answer of the browser to the registration options" },
    cause,
  });
}

interface WebAuthn {
  readonly server: typeof import("@simplewebauthn/server");
  readonly helpers: typeof import("@simplewebauthn/server/helpers");
}

const WEBAUTHN: OptionalPackage = {
  name: "@simplewebauthn/server",
  versions: "13 or later",
  users: "approvals by passkey",
};

/** Loads the package, an optional one. Throws `INTERNAL` if it can't be used. */
export async function loadWebAuthn(): Promise<WebAuthn> {
  try {
    const server = await import("@simplewebauthn/server");
    const helpers = await import("@simplewebauthn/server/helpers");
    return { server, helpers };
  } catch (error) {
    throw unusablePackage(WEBAUTHN, error);
  }
}
