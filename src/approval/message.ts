/**
 * The text that an approver signs. It names everything that the decision is about, so that a signature for
 * one decision is worthless for any other. The entry file of this folder; what is decided where:
 * - message.ts: what a signature covers, and the approver's side of it
 * - keys.ts: Ed25519 keys and signatures
 * - approvers.ts: which keys a person has, and when an invitation to register a passkey counts
 * - passkey.ts: signatures by passkeys and their registration, loaded by the first call that needs them
 * - decision.ts: which decisions count
 * - guard.ts: which approvals in a log count, and when a session is behind one that does not
 */
import * as z from "zod/mini";
import { type ErrorDetails, PhasegateError } from "../errors.js";
import { systemClock } from "../ports/clock.js";
import { canonicalJson, digest } from "../workflow/json.js";
import type { ApproverKeys } from "./keys.js";

/** The question that a person is asked. */
export interface ApprovalQuestion {
  /** The session that waits. */
  readonly sessionId: string;
  /** The type of its workflow. */
  readonly workflowType: string;
  /** The revision of the workflow when the session asked. */
  readonly revision: string;
  /** The number of the phase that waits. */
  readonly phase: number;
  /** SHA-256 of the evidence as canonical JSON. */
  readonly evidenceHash: string;
  /** The hash of the commit that asked: unique among all questions of all sessions. */
  readonly request: string;
}

/** A question as a session asks it. */
export interface ApprovalRequested extends ApprovalQuestion {
  /** The number of the attempt at the gate. */
  readonly attempt: number;
  readonly prompt: string;
  /** The names of those who may answer, as the host knows them; any approver if missing. */
  readonly approvers?: readonly string[];
  /** ISO 8601, UTC. */
  readonly askedAt: string;
}

/** A request for a waiver: what an agent can't meet, and asks a person to do without. */
export interface WaiverQuestion {
  /** The session that waits. */
  readonly sessionId: string;
  /** The type of its workflow. */
  readonly workflowType: string;
  /** The revision of the workflow when the session asked. */
  readonly revision: string;
  /** The number of the phase that waits. */
  readonly phase: number;
  /** The names of what is to be waived. */
  readonly fields: readonly string[];
  /** The hash of the commit that asked: unique among all questions of all sessions. */
  readonly request: string;
}

/** A person's answer, before it is signed. */
export interface ApprovalAnswer {
  /** True if the person approves, or grants the waiver. */
  readonly decision: "approve" | "deny";
  /** The approver's name. */
  readonly by: string;
  /** The person's comment. */
  readonly note?: string | undefined;
  /** The time of the answer: ISO 8601, UTC. */
  readonly signedAt: string;
}

/** An approver's signature: by an Ed25519 key, or with the last two members by a passkey. */
export interface ApprovalSignature {
  /** The time of the signature by the approver's clock: ISO 8601, UTC. */
  readonly signedAt: string;
  /** In base64url: the Ed25519 signature of {@link approvalMessage}, or the signature of the passkey's assertion. */
  readonly value: string;
  /** The authenticator data of the assertion, in base64url; at most 2,048 characters. */
  readonly authenticatorData?: string | undefined;
  /** The client data of the assertion (`clientDataJSON`), in base64url; at most 4,096 characters. */
  readonly clientData?: string | undefined;
}

/**
 * Returns the text that is signed: a first line that no other use of the key has, and canonical JSON. A
 * note is included by its digest.
 */
export function approvalMessage(question: ApprovalQuestion | WaiverQuestion, answer: ApprovalAnswer): string {
  const { sessionId, workflowType, revision, phase, request } = question;
  const { decision, by, note = "", signedAt } = answer;
  const about = isWaiver(question) ? { fields: question.fields } : { evidenceHash: question.evidenceHash };
  const signed = { decision, by, sessionId, workflowType, revision, phase, ...about, request, signedAt };
  const use = isWaiver(question) ? "waiver" : "approval";
  return `phasegate ${use} v1\n${canonicalJson({ ...signed, noteDigest: digest(note) })}`;
}

export function isWaiver<Q extends ApprovalQuestion | WaiverQuestion>(question: Q): question is Q & WaiverQuestion {
  return "fields" in question;
}

/** Returns the digest of evidence that an approval is bound to; independent of the order of keys. */
export function hashEvidence(evidence: unknown): string {
  return digest(canonicalJson(evidence));
}

export function approvalRefused(
  message: string,
  remedy: string,
  details: ErrorDetails["APPROVAL_REFUSED"],
  cause?: Error,
): PhasegateError<"APPROVAL_REFUSED"> {
  return new PhasegateError("APPROVAL_REFUSED", message, { remedy, details, cause });
}

const text = (max: number) => z.string().check(z.maxLength(max));

/**
 * Checks a signature, as it arrives and as it is stored. Signatures of other members and lengths are refused. The lengths
 * stand in the patterns, which then never go through millions of characters.
 */
export const signatureSchema = z.object({
  signedAt: text(100),
  value: text(1024),
  authenticatorData: z.optional(z.string().check(z.regex(/^[\w-]{1,2048}$/))),
  clientData: z.optional(z.string().check(z.regex(/^[\w-]{1,4096}$/))),
});

/**
 * Generates an Ed25519 key pair for an approver. The host gets the public key (`EngineOptions.approvers`);
 * keep the private key where no agent can read it.
 */
export async function createApproverKeys(): Promise<ApproverKeys> {
  const { createKeys } = await import("./keys.js");
  return createKeys();
}

/** The answer to sign. */
export interface SignRequest extends Omit<ApprovalAnswer, "signedAt"> {
  /** The approver's private key, from {@link createApproverKeys}. */
  readonly privateKey: string;
  /** ISO 8601, UTC. Default: now. */
  readonly signedAt?: string;
}

/**
 * Signs a person's answer to a question from `Engine.getApproval` or `Engine.getWaiver`. Pass the same `by` and `note`
 * to `Engine.approve` or `Engine.deny`, for a waiver to `Engine.waive` or `Engine.denyWaiver`.
 * @throws {PhasegateError} `INVALID_INPUT` when `privateKey` is not an Ed25519 private key.
 */
export async function signApproval(
  question: ApprovalQuestion | WaiverQuestion,
  request: SignRequest,
): Promise<ApprovalSignature> {
  const { privateKey, signedAt = new Date(systemClock.now()).toISOString(), ...answer } = request;
  const { readPrivateKey } = await import("./keys.js");
  const signer = await readPrivateKey(privateKey);
  return { signedAt, value: await signer.sign(approvalMessage(question, { ...answer, signedAt })) };
}
