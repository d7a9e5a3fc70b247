/**
 * What an approver signs: a text that names all that the word is about, so that a signature given for one
 * thing is worth nothing for any other.
 */
import * as z from "zod/mini";
import { canonicalJson, digest } from "../workflow/json.js";
/** Checks a signature that comes out of a store. */
export const signatureSchema = z.object({ signedAt: z.string(), value: z.string() });

/** An approver's signature. */
export interface ApprovalSignature {
  /** When it was signed, by the approver's clock: ISO 8601, UTC. */
  readonly signedAt: string;
  /** Ed25519 over {@link approvalMessage}, in base64url. */
  readonly value: string;
}

/** What is asked of a person. */
export interface ApprovalQuestion {
  readonly sessionId: string;
  readonly workflowType: string;
  /** The revision of the workflow that the session was on when it asked. */
  readonly revision: string;
  readonly phase: number;
  /** SHA-256 of the evidence, whatever the order of its keys. */
  readonly evidenceHash: string;
  /** The hash of the commit that asked: no other question, of this session or another, has the same. */
  readonly request: string;
}

/** A person's answer, before it is signed. */
export interface ApprovalAnswer {
  readonly decision: "approve" | "deny";
  /** The approver's name. */
  readonly by: string;
  readonly note?: string | undefined;
  /** ISO 8601, UTC. */
  readonly signedAt: string;
}

/**
 * The text that is signed: a first line that no other use of the key has, and canonical JSON. A note
 * goes in by its digest.
 */
export function approvalMessage(question: ApprovalQuestion, answer: ApprovalAnswer): string {
  const { sessionId, workflowType, revision, phase, evidenceHash, request } = question;
  const { decision, by, note = "", signedAt } = answer;
  const signed = { decision, by, sessionId, workflowType, revision, phase, evidenceHash, request, signedAt };
  return `phasegate approval v1\n${canonicalJson({ ...signed, noteDigest: digest(note) })}`;
}

/** What an approval is bound to: the evidence, whatever the order of its keys. */
export function hashEvidence(evidence: unknown): string {
  return digest(canonicalJson(evidence));
}
