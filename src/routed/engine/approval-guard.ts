import { ApprovalGuard, type ApprovalReading } from "../../engine/approval/guard.js";
import type { ApprovalOptions } from "../../engine/options.js";
import { PhasegateError } from "../../errors.js";
import type { AuditReport, Receipt } from "../../kernel/audit.js";
import type { RoutedEvent } from "../session/events.js";
import type { RoutedHead } from "../session/head.js";
import type { RoutedStructure } from "../session/structure.js";
import { NO_LEDGER, passed, type RoutedLedger, withApprovals } from "./approval-ledger.js";
import type { RoutedKernel, RoutedSession } from "./routed-session.js";
import type { RoutedPass, UnapprovedStep } from "./types.js";

/** What an audit of an instance found: whether its log holds together, and whose approvals this host believes. */
export type RoutedAudit = AuditReport & {
  /** Every step that was left, or may be, on a person's yes; empty where the log is not intact. */
  readonly approvals: readonly RoutedPass[];
};

/** The guard of routed sessions. */
export class RoutedApprovals extends ApprovalGuard<RoutedEvent, RoutedHead, RoutedStructure, RoutedLedger, RoutedPass> {
  readonly #kernel: RoutedKernel;
  readonly #options: ApprovalOptions;

  constructor(kernel: RoutedKernel, options: ApprovalOptions) {
    super(kernel, options, READING);
    this.#kernel = kernel;
    this.#options = options;
  }

  /** Checks a whole log, against a receipt kept elsewhere if there is one, and each approval in it. */
  async audit(sessionId: RoutedSession["sessionId"], receipt?: Receipt): Promise<RoutedAudit> {
    const report = await this.#kernel.audit(sessionId, receipt);
    if (!report.intact) return { ...report, approvals: [] };
    const approvals: RoutedPass[] = [];
    let ledger = NO_LEDGER;
    for await (const commit of this.#kernel.log(sessionId)) {
      const { left } = ledger;
      ledger = await withApprovals(ledger, commit, this.#options);
      if (ledger.left !== undefined && ledger.left !== left) approvals.push(ledger.left);
    }
    return { ...report, approvals: ledger.yes === undefined ? approvals : [...approvals, ledger.yes] };
  }
}

const READING: ApprovalReading<RoutedEvent, RoutedHead, RoutedStructure, RoutedLedger, RoutedPass> = {
  beginning: NO_LEDGER,
  add: withApprovals,
  asks: ({ steps }) => steps.some(({ gate }) => gate?.approval !== undefined),
  isNew: ({ answered, pending }) => answered === undefined && pending === undefined,
  passes: passesOf,
  refusal: notBelieved,
};

/** The first step that was left wrongly, and the one that a pending report would be left on. */
function passesOf(ledger: RoutedLedger, { version, at, head }: RoutedSession): readonly RoutedPass[] {
  const isPassed = head.pending !== undefined && head.pending.awaiting === undefined;
  const next = isPassed ? passed(ledger, head.step, { version, at }) : undefined;
  return [ledger.unapproved, next].filter((pass) => pass !== undefined);
}

/** The refusal to show or do anything behind a step whose approval this host does not believe. */
export function notBelieved(
  { step, by, distrust: reason }: UnapprovedStep,
  { steps }: RoutedStructure,
): PhasegateError<"APPROVAL_REFUSED"> {
  const whose = by === undefined ? "without any approval" : `on an approval by ${by}`;
  const message = `the gate of ${step} was passed ${whose} that this host does not believe (${reason})`;
  return new PhasegateError("APPROVAL_REFUSED", message, {
    remedy: `Ask the person who runs this: the host must know the approver's key. To have a person asked again, resume with the details that ${step} asks for; if the work has gone on since, start a new instance.`,
    details: { phase: steps.findIndex(({ name }) => name === step) + 1, reason },
  });
}
