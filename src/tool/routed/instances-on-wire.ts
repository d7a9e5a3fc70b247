import type * as z from "zod";
import type { Reveal } from "../../definition/structure.js";
import { evidenceNames, exampleEvidence, requiredFormat } from "../../gate/required-format.js";
import { conceal, revealOf } from "../../gate/reveal.js";
import type {
  GateRefusal,
  RoutedQuestion,
  RoutedResult,
  RoutedView,
  StepView,
  UnapprovedStep,
} from "../../routed/engine/types.js";
import { verificationNews } from "../verification-on-wire.js";
import type { resultSchema, statusSchema } from "./answers.js";
import { type RoutedFace, toCall } from "./routed-face.js";

/** What a call that moves an instance answers on the wire. */
export type ResultOnWire = z.input<typeof resultSchema>;
/** Where an instance stands, on the wire. */
export type StatusOnWire = z.input<typeof statusSchema>;

/** A move, and what a person has said to it while it was under way. */
export interface Moved extends RoutedResult {
  readonly denied?: { readonly by: string; readonly note: string };
}

/**
 * What a call that moves an instance answers: seed 003's three keys, then how it stands. An answer that is given once more
 * after the instance has gone on tells what the earlier call led to, and what is to be done now.
 */
export function resultOnWire(face: RoutedFace, moved: Moved): ResultOnWire {
  const { reasoning, replayed, gate, denied, nextStep, now = moved } = moved;
  const { completedAt } = now;
  return {
    instance_id: now.instanceId,
    next_step: stepOnWire(now.nextStep),
    current_context: now.context,
    workflow_name: now.workflow,
    status: now.status,
    ...reasonOf(now),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(completedAt === undefined ? {} : { completed_at: completedAt }),
    ...(gate === undefined ? {} : { gate: gateOnWire(gate, nextStep.gate ? revealOf(nextStep.gate) : "fields") }),
    ...(denied === undefined ? {} : { approval_denied: denied }),
    ...(replayed ? { replayed } : {}),
    ...(now === moved ? {} : { earlier_answer: { next_step_name: nextStep.name, status: moved.status } }),
    ...waitingOnWire(face, now),
  };
}

/** Where an instance stands; without its step where the workflow's files can't be read. */
export function statusOnWire(face: RoutedFace, view: RoutedView, step?: StepView): StatusOnWire {
  return {
    instance_id: view.instanceId,
    workflow_name: view.workflow,
    status: view.status,
    current_step_name: view.currentStep ?? null,
    ...(step === undefined ? {} : { next_step: stepOnWire(step) }),
    current_context: view.context,
    created_at: view.createdAt,
    updated_at: view.updatedAt,
    completed_at: view.completedAt ?? null,
    ...reasonOf(view),
    ...(view.replayed ? { replayed: true as const } : {}),
    ...waitingOnWire(face, view),
  };
}

function stepOnWire({ name, instructions, gate }: StepView): ResultOnWire["next_step"] {
  if (gate === undefined) return { step_name: name, instructions };
  const example = exampleEvidence(gate);
  const details = { required: [...evidenceNames(gate)], schema: requiredFormat(gate) };
  return {
    step_name: name,
    instructions,
    report_details: { ...details, ...(example === undefined ? {} : { example }) },
  };
}

function gateOnWire({ attempt, maxAttempts, problems, verification }: GateRefusal, reveal: Reveal) {
  return {
    passed: false as const,
    attempt,
    max_attempts: maxAttempts,
    problems: [...conceal(problems, reveal)],
    ...verificationNews(verification.length === 0 ? undefined : verification, reveal),
  };
}

function waitingOnWire(face: RoutedFace, { awaiting, pending, allowed, unapproved }: RoutedView) {
  return {
    ...(unapproved === undefined ? {} : { approval_not_believed: unapprovedOnWire(unapproved) }),
    ...(awaiting === undefined ? {} : { awaiting_approval: true as const, approval: questionOnWire(awaiting) }),
    ...(pending === undefined ? {} : { pending: pending.operation }),
    allowed: toCall(face, allowed),
  };
}

function questionOnWire({ step, prompt, approvers, askedAt }: RoutedQuestion) {
  const whom = approvers === undefined ? {} : { approvers: [...approvers] };
  return { step_name: step, prompt, ...whom, asked_at: askedAt };
}

function unapprovedOnWire({ step, by, distrust }: UnapprovedStep) {
  const whose = by === undefined ? {} : { by };
  const remedy = `Ask the person who runs this server, who must know the approver's key. To have a person asked again, resume with the details that ${step} asks for; if that is not possible any more, start a new instance.`;
  return { step_name: step, ...whose, reason: distrust, remedy };
}

function reasonOf({ reason }: RoutedView) {
  return reason === undefined ? {} : { reason };
}
