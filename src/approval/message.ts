/**
 * The text that an approver signs. It names everything that the decision is about, so that a signature for
 * one decision is worthless for any other. The entry file of this folder; keys.ts has the keys and
 * signatures, sign.ts the approver's side.
 */

import * as z from "zod/mini";
import { canonicalJson, digest } from "../workflow/json.js";

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

/** A person's answer, before it is signed. */
export interface ApprovalAnswer {
  /** Whether the person approves. */
  readonly decision: "approve" | "deny";
  /** The approver's name. */
  readonly by: string;
  /** The person's comment. */
  readonly note?: string | undefined;
  /** The time of the answer: ISO 8601, UTC. */
  readonly signedAt: string;
}

/** An approver's signature. */
export interface ApprovalSignature {
  /** The time of the signature by the approver's clock: ISO 8601, UTC. */
  readonly signedAt: string;
  /** The Ed25519 signature of {@link approvalMessage}, in base64url. */
  readonly value: string;
}

/**
 * Returns the text that is signed: a first line that no other use of the key has, and canonical JSON. A
 * note is included by its digest.
 */
export function approvalMessage(question: ApprovalQuestion, answer: ApprovalAnswer): string {
  const { sessionId, workflowType, revision, phase, evidenceHash, request } = question;
  const { decision, by, note = "", signedAt } = answer;
  const signed = { decision, by, sessionId, workflowType, revision, phase, evidenceHash, request, signedAt };
  return `phasegate approval v1\n${canonicalJson({ ...signed, noteDigest: digest(note) })}`;
}

/** Returns the digest of evidence that an approval is bound to; independent of the order of keys. */
export function hashEvidence(evidence: unknown): string {
  return digest(canonicalJson(evidence));
}

/** Checks a stored signature. */
export const signatureSchema = z.object({ signedAt: z.string(), value: z.string() });
