import type { WorkflowStructure } from "../../definition/structure.js";
import type { PhasegateError } from "../../errors.js";
import { LogFold } from "../../kernel/log-fold.js";
import { approvalOf, approvalRefused } from "../../session/approval.js";
import type { SessionEvent } from "../../session/events.js";
import type { SessionHead } from "../../session/head.js";
import type { ApprovalOptions } from "../options.js";
import type { PhasedCommit, PhasedKernel, PhasedSession } from "../pinned.js";
import { type ApprovedPass, addToLedger, type Ledger } from "./ledger.js";

/**
 * Lets nobody past a gate whose approval this host does not believe. The folder of a store may be written
 * by a process with other keys (`phasegate approve` takes them on its command line): what such a process
 * wrote is an approval to it, and none to this host. Where no gate asks a person, nothing is read.
 */
export class ApprovalGuard {
  readonly #ledgers: LogFold<SessionEvent, SessionHead, Ledger>;
  readonly #asking = new WeakMap<WorkflowStructure, boolean>();

  constructor(kernel: PhasedKernel, options: ApprovalOptions) {
    const add = (ledger: Ledger, commit: PhasedCommit) => addToLedger(ledger, commit, options);
    this.#ledgers = new LogFold<SessionEvent, SessionHead, Ledger>(kernel, { passes: new Map() }, add);
  }

  /**
   * Throws `APPROVAL_REFUSED` if the session was not rightly let through a gate; of those before a place,
   * where it is about to go back to that. Undefined, with nothing to wait for, where no gate asks a person.
   */
  check(session: PhasedSession, structure: WorkflowStructure, before?: number): Promise<void> | undefined {
    if (session.head.completed.length === 0 || !this.#asksAnyone(structure)) return undefined;
    return this.#checkPasses(session, before ?? structure.phases.length);
  }

  async #checkPasses(session: PhasedSession, before: number): Promise<void> {
    for (const pass of (await this.#ledgers.at(session)).passes.values()) {
      if (pass.distrust !== undefined && pass.position < before) throw notBelieved(pass, pass.distrust);
    }
  }

  #asksAnyone(structure: WorkflowStructure): boolean {
    const known = this.#asking.get(structure);
    if (known !== undefined) return known;
    const asks = structure.phases.some(({ gate }) => approvalOf(gate) !== undefined);
    this.#asking.set(structure, asks);
    return asks;
  }
}

function notBelieved(
  { phase, by }: ApprovedPass,
  reason: NonNullable<ApprovedPass["distrust"]>,
): PhasegateError<"APPROVAL_REFUSED"> {
  const whose = by === undefined ? "without any approval" : `on an approval by ${by}`;
  return approvalRefused(
    `phase ${phase} was passed ${whose} that this host does not believe (${reason})`,
    `Ask the person who runs this: the host must know the approver's key, or phase ${phase} must be done again.`,
    { phase, reason },
  );
}
