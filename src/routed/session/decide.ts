import { PhasegateError } from "../../errors.js";
import type { Decision, DecisionContext } from "../../kernel/machine.js";
import type { Snapshot } from "../../session/verification.js";
import { applyEvent } from "./apply-event.js";
import type { RoutedCommand } from "./commands.js";
import type { RoutedEvent } from "./events.js";
import type { RoutedHead } from "./head.js";
import { commandRefusal } from "./refusals.js";

type Result = Decision<RoutedEvent, RoutedHead>;

/**
 * Decides a command on a head. Pure. Whether a step exists and may follow is checked before, against the pinned
 * structure; here it is whether the session's state allows the command at all.
 */
export function decideRouted(head: RoutedHead | undefined, command: RoutedCommand, context: DecisionContext): Result {
  if (command.type === "start") return start(head, command, context);
  if (head === undefined) throw new Error("a routed session begins with a start");
  const refusal = commandRefusal(head, command);
  if (refusal !== undefined) return { ok: false, error: refusal };
  const events = eventsOf(head, command);
  const next = events.reduce<RoutedHead>((before, event) => applyEvent(before, event, command, context), head);
  return { ok: true, events, head: next };
}

function start(
  head: RoutedHead | undefined,
  { structure, context, digest, firstStep, snapshots }: Extract<RoutedCommand, { type: "start" }>,
  { at, version }: DecisionContext,
): Result {
  if (head !== undefined) return { ok: false, error: startedAlready(head) };
  const first = structure.steps.find(({ name }) => name === firstStep);
  return {
    ok: true,
    events: [
      {
        type: "started",
        structure,
        context,
        ...(firstStep === undefined ? {} : { firstStep }),
        ...begunWith(snapshots),
      },
    ],
    head: {
      status: "RUNNING",
      workflow: structure.name,
      revision: structure.revision,
      total: structure.steps.length,
      context,
      visits: first?.maxVisits === undefined ? {} : { [first.name]: 1 },
      attempts: 0,
      spent: 0,
      createdAt: at,
      ...(snapshots === undefined ? {} : { baseline: version }),
      ...(firstStep === undefined
        ? { pending: { operation: "start", version, digest } as const }
        : { step: firstStep }),
    },
  };
}

function eventsOf(head: RoutedHead, command: Exclude<RoutedCommand, { type: "start" }>): RoutedEvent[] {
  switch (command.type) {
    case "report": {
      const { warnings, verification, approval } = command;
      const reported: RoutedEvent = {
        type: "reported",
        ...reportOf(head, command),
        ...(warnings === undefined || warnings.length === 0 ? {} : { warnings: [...warnings] }),
        ...(verification === undefined ? {} : { verification: [...verification] }),
      };
      if (approval === undefined) return [reported];
      const { question, evidenceHash } = approval;
      return [reported, { type: "approval_requested", step: stepOf(head), ...question, evidenceHash }];
    }
    case "refuse": {
      const { problems, verification, counted, maxAttempts, maxAttemptsTotal } = command;
      const attempt = head.attempts + 1;
      const refused: RoutedEvent = {
        type: "gate_refused",
        ...reportOf(head, command),
        attempt,
        ...(counted ? {} : { uncounted: true as const }),
        problems: [...problems],
        ...(verification === undefined ? {} : { verification: [...verification] }),
      };
      return [refused, ...(counted ? exhausted(head, attempt, { maxAttempts, maxAttemptsTotal }) : [])];
    }
    case "approve":
      return [{ type: "approved", ...wordOf(head, command) }];
    case "deny": {
      const { note = "", ...word } = wordOf(head, command);
      return [{ type: "denied", ...word, note }, ...exhausted(head, head.attempts + 1, command)];
    }
    case "decide": {
      const { next, contextUpdates, status, reasoning, usage, milliseconds, notes, snapshots } = command;
      return [
        {
          type: "decided",
          ...(head.step === undefined ? {} : { from: head.step }),
          next,
          contextUpdates,
          status,
          milliseconds,
          ...(reasoning === undefined ? {} : { reasoning }),
          ...(usage === undefined ? {} : { usage: { ...usage } }),
          ...(notes.length === 0 ? {} : { notes: [...notes] }),
          ...begunWith(snapshots),
        },
      ];
    }
    case "fail": {
      const { code, reason, milliseconds } = command;
      const step = head.step === undefined ? {} : { step: head.step };
      return [{ type: "failed", ...step, code, reason, ...(milliseconds === undefined ? {} : { milliseconds }) }];
    }
    case "suspend":
      return [{ type: "suspended", ...reasonOf(command) }];
    case "retry":
      return [{ type: "retried", ...begunWith(command.snapshots) }];
    case "cancel":
      return [{ type: "cancelled", ...reasonOf(command) }];
    case "delete":
      return [{ type: "deleted", ...reasonOf(command) }];
  }
}

function reportOf(head: RoutedHead, command: Extract<RoutedCommand, { type: "report" | "refuse" }>) {
  const { operation, assumedStep, report, contextUpdates } = command;
  const assumed = assumedStep === undefined ? {} : { assumedStep };
  return { operation, step: stepOf(head), ...assumed, report, contextUpdates };
}

function wordOf(head: RoutedHead, command: Extract<RoutedCommand, { type: "approve" | "deny" }>) {
  const { by, note, evidenceHash, authenticated, signature, keyId } = command;
  return {
    step: stepOf(head),
    by,
    ...(note === undefined ? {} : { note }),
    evidenceHash,
    asked: head.pending?.awaiting?.version ?? 0,
    authenticated,
    ...(signature === undefined ? {} : { signature: { ...signature } }),
    ...(keyId === undefined ? {} : { keyId }),
  };
}

/** After so many failures in a row, or in all, somebody has to look at it. */
function exhausted(
  head: RoutedHead,
  attempt: number,
  { maxAttempts, maxAttemptsTotal }: { readonly maxAttempts: number; readonly maxAttemptsTotal: number },
): RoutedEvent[] {
  if (attempt < maxAttempts && head.spent + 1 < maxAttemptsTotal) return [];
  const reason = `the gate of ${stepOf(head)} was not passed in ${attempt} attempts in a row`;
  return [{ type: "failed", step: stepOf(head), code: "ATTEMPTS_EXHAUSTED", reason }];
}

function begunWith(snapshots: readonly Snapshot[] | undefined) {
  return snapshots === undefined ? {} : { snapshots: [...snapshots] };
}

function reasonOf({ reason }: { readonly reason?: string }) {
  return reason === undefined ? {} : { reason };
}

function stepOf({ step }: RoutedHead): string {
  if (step === undefined) throw new Error("nothing is reported before there is a first step");
  return step;
}

function startedAlready({ workflow }: RoutedHead): PhasegateError<"INVALID_TRANSITION"> {
  return new PhasegateError("INVALID_TRANSITION", `a session of this id is on ${workflow} already`, {
    remedy: "Ask for its status, or start another one.",
    details: { command: "start", status: "RUNNING", allowed: ["status"] },
  });
}
