/**
 * Takes a report's details to its step's gate, by the same rules as the evidence of a phase: rules first,
 * verifiers only if nothing else is wrong.
 */

import { hashEvidence } from "../approval/message.js";
import { type Judged, judge } from "../gate/judge.js";
import type { Snapshot, Verification } from "../phased/state/events.js";
import { beginPhase } from "../phased/verify/snapshots.js";
import { verifyEvidence } from "../phased/verify/verify.js";
import type { Payload } from "../ports/storage-adapter.js";
import type { JsonObject } from "../workflow/json.js";
import type { FieldGate } from "../workflow/structure.js";
import type { RoutedContext } from "./options.js";
import { type PinnedStep, type RoutedStructure, stepOf } from "./state/events.js";
import type { RoutedSession } from "./state/machine.js";

/** The verdict of a step's gate on a report. */
interface JudgedReport extends Judged<Verification> {
  /** The hash that an approval is bound to. */
  readonly evidenceHash: string;
}

/** Takes a report's details to its step's gate. Steps count as phases by their position, from 1. */
export async function judgeReport(
  context: RoutedContext,
  session: RoutedSession,
  structure: RoutedStructure,
  { name, gate }: PinnedStep & { readonly gate: FieldGate },
  evidence: JsonObject,
): Promise<JudgedReport> {
  const { enforcement } = context.options;
  const phase = { number: numberOf(structure, name), gate };
  const facts = { id: session.sessionId, workflowType: structure.name, target: "", phase: phase.number };
  const judged = await judge(gate, evidence, {
    enforcement,
    surroundings: () => ({ session: { ...facts, attempt: session.head.attempts + 1 } }),
    verify: () => verifyEvidence(verifyContext(context), verified(session), {}, phase, evidence),
  });
  return { ...judged, evidenceHash: hashEvidence(evidence) };
}

/** The session of the step. */
interface Owner {
  readonly sessionId: RoutedSession["sessionId"];
  readonly version: number;
  readonly head: { readonly workflow: string; readonly attempts: number; readonly baseline?: number | undefined };
}

/** Takes the snapshots of a step, if its gate needs any. */
export async function beginStep(
  context: RoutedContext,
  session: Owner,
  structure: RoutedStructure,
  name: string,
): Promise<{ readonly snapshots?: readonly Snapshot[]; readonly payloads: readonly Payload[] }> {
  const gate = stepOf(structure, name)?.gate;
  if (gate === undefined) return { payloads: [] };
  const phases = [{ number: numberOf(structure, name), gate }];
  return (await beginPhase(verifyContext(context), verified(session), { phases, isStep: true }, 0)) ?? { payloads: [] };
}

function numberOf({ steps }: RoutedStructure, name: string): number {
  return steps.findIndex((step) => step.name === name) + 1;
}

function verifyContext({ options, kernel, beginnings, notifications }: RoutedContext) {
  return { options, kernel, beginnings, notifications };
}

function verified<O extends Owner>({ head, ...session }: O) {
  const { workflow, baseline } = head;
  return { ...session, head: { workflowType: workflow, target: "", baseline } };
}
