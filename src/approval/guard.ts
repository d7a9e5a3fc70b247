/**
 * The guard against approvals that this host does not accept. A process with other keys may have written to
 * the store (`phasegate approve` takes keys on its command line); its approvals do not count here. Logs are
 * read only where a gate requires an approval.
 */
import { isPhasegateError, type PhasegateError } from "../errors.js";
import { type AuditReport, type Current, LogFold, type Receipt, type Recorded } from "../log/commit.js";
import type { Kernel } from "../log/log.js";
import type { SessionId } from "../workflow/names.js";
import {
  type ApprovalOptions,
  type AskedApproval,
  type Distrust,
  type GivenDecision,
  requireDecision,
} from "./decision.js";
import { fromBase64Url } from "./keys.js";
import type { ApprovalSignature } from "./message.js";

/** A gate that passed with a person's word, and whether this host accepts it. */
export interface ApprovalPass {
  /** The version of the commit with the approval; of the one that passed the gate, if the log has no approval. */
  readonly version: number;
  /** The time of that commit: ISO 8601, UTC. */
  readonly at: string;
  /** The name of the approver; missing if the log has no approval. */
  readonly by?: string;
  /** True if the log says that it was signed. */
  readonly authenticated: boolean;
  /** The key that it was signed with; missing if this host does not accept it, or accepts it unsigned. */
  readonly key?: UsedKey;
  /** The reason why this host does not accept it; missing if it does. */
  readonly distrust?: Distrust;
}

/** The key of a signature that this host has checked. */
export interface UsedKey {
  readonly kind: "ed25519" | "passkey";
  /** The first half of the SHA-256 of the public key, in hexadecimal. */
  readonly id: string;
  /** The passkey's count of its signatures; 0 if it does not count. Missing for an Ed25519 key. */
  readonly counter?: number;
}

/** A signature in a log that this host accepts. */
export interface KeyUse {
  /** The version of its commit. */
  readonly version: number;
  readonly by: string;
  readonly key: UsedKey;
}

/** A passkey whose counter has not gone up between two approvals in a log: it may have been copied. */
export interface CounterWarning {
  readonly by: string;
  /** The id of the key, as in {@link UsedKey}. */
  readonly key: string;
  /** The version of the commit whose counter is too low. */
  readonly version: number;
  readonly counter: number;
  /** The approval before it with the highest counter. */
  readonly before: { readonly version: number; readonly counter: number };
}

/** The findings of an audit about approvals. */
export interface ApprovalAudit<P extends ApprovalPass> {
  /** Every gate that passed with an approval; empty if the log is not intact. */
  readonly approvals: readonly P[];
  /** The approvals by passkeys that may have been copied. The approvals count nevertheless. */
  readonly warnings: readonly CounterWarning[];
}

/** A pass that this host does not accept: what follows it in the log does not count here. */
export type Unapproved<P extends ApprovalPass> = P & { readonly distrust: Distrust };

/** Reads the approvals of one kind of session from its log. */
export interface ApprovalReading<Event, Head, Structure, Ledger, P extends ApprovalPass> {
  /** The ledger before the first commit. */
  readonly beginning: Ledger;
  /** Returns the ledger after one more commit. */
  add(ledger: Ledger, commit: Recorded<Event, Head>, options: ApprovalOptions): Promise<Ledger>;
  /** Returns true if some gate of the structure requires an approval. */
  asks(structure: Structure): boolean;
  /** Returns true if gates may count that the structure does not show: some were waived, or an older one had them. */
  hasOthers?(head: Head): boolean;
  /** Returns true if the session has passed no gate yet. */
  isNew(head: Head): boolean;
  /** Returns the gates that have passed up to this commit; an audit collects them, by version. */
  audited(ledger: Ledger): Iterable<P>;
  /** Returns the signatures in the last commit of the ledger that this host accepts. */
  used(ledger: Ledger): Iterable<KeyUse>;
  /** Returns an approval at the end of the log whose gate was not left yet. */
  open?(ledger: Ledger): P | undefined;
  /** Returns the gates that count as passed in this state. */
  passes(ledger: Ledger, session: Current<Head>): Iterable<P>;
  /** Returns the parts of a ledger that it keeps of its session beside the passes. */
  keptIn(ledger: Ledger): readonly object[];
  /** Returns the error for continuing behind such a gate. */
  refusal(pass: Unapproved<P>, structure: Structure): PhasegateError<"APPROVAL_REFUSED">;
}

/** Finds approvals in a log that this host does not accept. */
export class ApprovalGuard<Event, Head, Structure extends object, Ledger, P extends ApprovalPass> {
  readonly #kernel: Pick<Kernel<never, Event, Head>, "log" | "logTo" | "audit">;
  readonly #options: ApprovalOptions;
  readonly #reading: ApprovalReading<Event, Head, Structure, Ledger, P>;
  /** The approvers that ledgers were read with, and the ledgers. Other approvers read a log in another way. */
  #read: { readonly options: ApprovalOptions; readonly ledgers: LogFold<Event, Head, Ledger> } | undefined;
  readonly #asking = new WeakMap<Structure, boolean>();

  constructor(
    kernel: Pick<Kernel<never, Event, Head>, "log" | "logTo" | "audit">,
    options: ApprovalOptions,
    reading: ApprovalReading<Event, Head, Structure, Ledger, P>,
  ) {
    this.#kernel = kernel;
    this.#options = options;
    this.#reading = reading;
  }

  /** True if this host has approvers' keys, without which it can't tell an approval from a forged one. */
  get knowsApprovers(): boolean {
    return this.#options.approvers.size > 0;
  }

  /**
   * Throws `APPROVAL_REFUSED` if the session passed a gate with an approval that this host does not accept;
   * with `counts`, only for the passes that it selects. Call it before work continues behind a gate.
   */
  async check(session: Current<Head>, structure: Structure, counts?: (pass: P) => boolean): Promise<void> {
    if (!this.#mayHavePassed(session, structure)) return;
    const pass = await this.#first(session, counts);
    if (pass !== undefined) throw this.#reading.refusal(pass, structure);
  }

  /**
   * Returns the first gate that the session passed with an approval that this host does not accept. Call it
   * before anything of a session is shown. A host without approvers can't tell, and shows the log as it is.
   */
  async unapproved(session: Current<Head>, structure: Structure): Promise<Unapproved<P> | undefined> {
    return this.knowsApprovers && this.#mayHavePassed(session, structure) ? this.#first(session) : undefined;
  }

  /** Checks a whole log, against a receipt if one is given, and each approval in it. */
  async audit(sessionId: SessionId, receipt?: Receipt): Promise<AuditReport & ApprovalAudit<P>> {
    const report = await this.#kernel.audit(sessionId, receipt);
    // A session of another kind has no commits here, and can't be folded.
    if (!report.intact || report.versions === 0) return { ...report, approvals: [], warnings: [] };
    const { add, beginning, audited, used, open } = this.#reading;
    const options = { ...this.#options };
    const approvals = new Map<number, P>();
    const uses: KeyUse[] = [];
    let ledger = beginning;
    for await (const commit of this.#kernel.log(sessionId)) {
      ledger = await add(ledger, commit, options);
      for (const pass of audited(ledger)) approvals.set(pass.version, pass);
      uses.push(...used(ledger));
    }
    const last = open?.(ledger);
    if (last !== undefined) approvals.set(last.version, last);
    return { ...report, approvals: [...approvals.values()], warnings: counterWarnings(uses) };
  }

  #mayHavePassed({ head }: Current<Head>, structure: Structure): boolean {
    const { hasOthers, isNew } = this.#reading;
    const asks = this.#asking.get(structure) ?? this.#reading.asks(structure);
    this.#asking.set(structure, asks);
    return (asks || hasOthers?.(head) === true) && !isNew(head);
  }

  #ledgers(): LogFold<Event, Head, Ledger> {
    const options = { ...this.#options };
    if (this.#read?.options.approvers !== options.approvers) {
      const { add, beginning, keptIn } = this.#reading;
      const ledgers = new LogFold<Event, Head, Ledger>(
        this.#kernel,
        beginning,
        (ledger, commit) => add(ledger, commit, options),
        keptIn,
      );
      this.#read = { options, ledgers };
    }
    return this.#read.ledgers;
  }

  async #first(session: Current<Head>, counts?: (pass: P) => boolean): Promise<Unapproved<P> | undefined> {
    let first: Unapproved<P> | undefined;
    for (const pass of this.#reading.passes(await this.#ledgers().at(session), session)) {
      if (!isUnapproved(pass) || counts?.(pass) === false) continue;
      if (first === undefined || pass.version < first.version) first = pass;
    }
    return first;
  }
}

/** Returns the uses of passkeys, in the order of a log, whose counters have not gone up. */
function counterWarnings(uses: readonly KeyUse[]): readonly CounterWarning[] {
  const highest = new Map<string, CounterWarning["before"]>();
  return uses.flatMap(({ version, by, key: { id, counter = 0 } }) => {
    const before = highest.get(id);
    // Ed25519 keys have no counter, and that of many passkeys is always 0.
    if (before !== undefined && counter <= before.counter && before.counter > 0) {
      return [{ by, key: id, version, counter, before }];
    }
    highest.set(id, { version, counter });
    return [];
  });
}

/** The judgement of an approval in a log. */
export interface CheckedApproval {
  /** The reason why it does not count; missing if it does. */
  readonly distrust?: Distrust;
  /** The key that it was signed with, if it counts and is signed. */
  readonly key?: UsedKey;
}

export async function checkApproval(
  options: ApprovalOptions,
  question: AskedApproval,
  { by, note, signature }: Omit<GivenDecision, "decision">,
): Promise<CheckedApproval> {
  try {
    const found = await requireDecision(options, question, { decision: "approve", by, note, signature });
    return found.authenticated ? { key: usedKey(found.keyId, found.signature) } : {};
  } catch (error) {
    if (isPhasegateError(error, "APPROVAL_REFUSED")) return { distrust: error.details.reason };
    throw error;
  }
}

/** The counter follows the 32 bytes of the relying party's hash and one of flags. */
const COUNTER_AT = 33;

/** Returns the key of a signature that was checked. */
function usedKey(id: string, { authenticatorData }: ApprovalSignature): UsedKey {
  if (authenticatorData === undefined) return { kind: "ed25519", id };
  const counter = new DataView(fromBase64Url(authenticatorData).buffer).getUint32(COUNTER_AT);
  return { kind: "passkey", id, counter };
}

/** Returns a pass with the approver of the log, if it has one. */
export function passOf(
  { version, at }: { readonly version: number; readonly at: string },
  approved: { readonly by: string; readonly authenticated: boolean } | undefined,
  checked: CheckedApproval,
): ApprovalPass {
  return { version, at, by: approved?.by, authenticated: approved?.authenticated === true, ...checked };
}

function isUnapproved<P extends ApprovalPass>(pass: P): pass is Unapproved<P> {
  return pass.distrust !== undefined;
}
