/** Checks what a host asks of a session in code. Agents' calls are checked where they arrive, by the tool. */

import { ownerCheck } from "../ports/actor.js";
import {
  anything,
  callable,
  check,
  checkOptions,
  flag,
  having,
  isOpen,
  type OptionCheck,
  oneOf,
  optionally,
  text,
} from "../workflow/host-options.js";
import { isNoted, NOTED_WORDS } from "./state/noted.js";

const number = check("a whole number", Number.isInteger);
const keyed = { idempotencyKey: optionally(text) };
const noted = { ...keyed, by: optionally(text), note: optionally(text) };
const caller = { as: optionally(oneOf("agent", "host")) };
// Name and comment have checks of their own, which say how long they may be.
const decided = {
  ...keyed,
  by: anything,
  note: anything,
  signature: optionally(having("what signApproval() returns")),
};
const moved = { ...keyed, phase: number, by: text, note: text };

const accepted = optionally(
  check(
    "an object that has a reason for each name",
    (given) => isOpen(given) && Object.values(given).every(text.accepts),
  ),
);

const nothing = {};

const CHECKS = {
  start: { ...keyed, workflowType: text, target: anything, options: anything },
  getApproval: nothing,
  getWaiver: nothing,
  getState: nothing,
  getFullState: nothing,
  getOptions: nothing,
  errors: nothing,
  refusals: nothing,
  audit: { receipt: anything },
  history: { evidence: anything },
  commits: { before: optionally(number), limit: optionally(number) },
  completePhase: {
    ...keyed,
    phase: number,
    submission: anything,
    noted: optionally(check(NOTED_WORDS, isNoted)),
    signal: optionally(having("an AbortSignal")),
    onCheck: optionally(callable),
    mayForget: optionally(callable),
  },
  submission: { phase: number, idempotencyKey: text },
  getPhase: { phase: optionally(number) },
  getTask: { phase: number, task: number },
  getDocument: { path: text },
  artifact: { phase: number },
  completeTask: {
    ...keyed,
    phase: number,
    task: optionally(number),
    note: anything,
    outcome: anything,
    skipped: optionally(
      check("a list of whole numbers", (given) => Array.isArray(given) && given.every(Number.isInteger)),
    ),
  },
  pause: noted,
  resume: noted,
  retryPhase: { ...noted, ...caller, phase: number, resetEvidence: optionally(flag) },
  rollback: { ...keyed, ...caller, to: number },
  overrideGate: moved,
  skipPhase: moved,
  assign: { ...keyed, owner: ownerCheck, by: text, note: optionally(text) },
  migrate: { ...keyed, by: text, accept: accepted },
  migration: { accept: accepted },
  startChild: { ...keyed, item: optionally(number) },
  syncPlan: { ...noted, ...caller, preview: optionally(flag) },
  deleteSession: { by: optionally(text), note: optionally(text) },
  requestWaiver: { ...keyed, phase: number, fields: anything, reason: anything },
  waive: { ...decided, request: text },
  denyWaiver: { ...decided, request: text },
  approve: { ...decided, evidenceHash: text },
  deny: { ...decided, evidenceHash: text },
} satisfies Readonly<Record<string, Readonly<Record<string, OptionCheck>>>>;

/** The operations whose requests are checked. */
export type CheckedOperation = keyof typeof CHECKS;

/**
 * Checks the request of an operation.
 * @throws {PhasegateError} `INVALID_INPUT` for what is unknown, missing or of another kind: a key of the wire such as
 * `idempotency_key` would be ignored.
 */
export function checkRequest(operation: CheckedOperation, request: object): void {
  const checks: Readonly<Record<string, OptionCheck>> = CHECKS[operation];
  checkOptions<object>(operation, request, checks);
}
