import type { SessionId } from "../../definition/names.js";
import type { WorkflowStructure } from "../../definition/structure.js";
import type { PhasegateError } from "../../errors.js";
import type { Receipt } from "../../kernel/audit.js";
import { RecentMap } from "../../kernel/recent-map.js";
import { approvalOf, approvalRefused } from "../../session/approval.js";
import type { ApprovalOptions } from "../options.js";
import type { PhasedKernel, PhasedSession } from "../pinned.js";
import { type ApprovedPass, addToLedger, type Ledger } from "./ledger.js";

interface Known {
  readonly upTo: Receipt;
  readonly ledger: Ledger;
}

/** For how many sessions ledgers are kept. */
const SESSIONS_KEPT = 256;

/**
 * Lets nobody past a gate whose approval this host does not believe. The folder of a store may be written
 * by a process with other keys (`phasegate approve` takes them on its command line): what such a process
 * wrote is an approval to it, and none to this host. Only the commits since the last look are read, and
 * none where no gate asks a person.
 */
export class ApprovalGuard {
  readonly #kernel: PhasedKernel;
  readonly #options: ApprovalOptions;
  readonly #known = new RecentMap<SessionId, Known>(SESSIONS_KEPT);
  readonly #asking = new WeakMap<WorkflowStructure, boolean>();

  constructor(kernel: PhasedKernel, options: ApprovalOptions) {
    this.#kernel = kernel;
    this.#options = options;
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
    for (const pass of (await this.#ledger(session)).passes.values()) {
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

  async #ledger({ sessionId, version, hash }: PhasedSession): Promise<Ledger> {
    const known = this.#known.get(sessionId);
    if (known?.upTo.hash === hash) return known.ledger;
    const from = known !== undefined && known.upTo.version < version ? known : undefined;
    let ledger: Ledger = from?.ledger ?? { passes: new Map() };
    let upTo = from?.upTo ?? { version: 0, hash: "" };
    for await (const commit of this.#kernel.log(sessionId, from?.upTo)) {
      if (commit.version > version) break;
      ledger = await addToLedger(ledger, commit, this.#options);
      upTo = { version: commit.version, hash: commit.hash };
    }
    this.#known.set(sessionId, { upTo, ledger });
    return ledger;
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
