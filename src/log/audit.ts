import { isPhasegateError } from "../errors.js";
import type { Recorded } from "./commit.js";
/** A commit's place in the chain, kept by somebody else: it shows a log whose tail was cut. */
export interface Receipt {
  readonly version: number;
  readonly hash: string;
}

/** What an audit found. `versions` is how many commits hold together from the first on. */
export type AuditReport =
  | { readonly intact: true; readonly versions: number; readonly receipt: Receipt }
  | { readonly intact: false; readonly versions: number; readonly reason: string };

/**
 * Reads a whole log and checks its chain, that a receipt's commit is in it, and that it reaches as far as the store
 * hints. Whoever takes the newest commits away with the hint leaves a shorter log that holds together: only a receipt
 * shows that.
 */
export async function audit(
  log: AsyncIterable<Recorded<unknown, unknown>>,
  receipt?: Receipt,
  hinted = 0,
): Promise<AuditReport> {
  let last: Receipt = { version: 0, hash: "" };
  let found = receipt === undefined;
  try {
    for await (const { version, hash } of log) {
      last = { version, hash };
      if (version === receipt?.version) found = hash === receipt.hash;
    }
  } catch (error) {
    // Only tampering is a finding; a store that can't be read, or a newer format, says nothing of the log.
    if (!isPhasegateError(error, "TAMPERED")) throw error;
    return { intact: false, versions: last.version, reason: error.message };
  }
  if (!found) return { intact: false, versions: last.version, reason: "the commit of the receipt is not in the log" };
  const reason = shortened(last.version, hinted);
  if (reason !== undefined) return { intact: false, versions: last.version, reason };
  return { intact: true, versions: last.version, receipt: last };
}

/** What is wrong with a log that ends with a version although the store hints at a later one; undefined if nothing is. */
export function shortened(newest: number, hinted: number): string | undefined {
  return hinted > newest ? `the store names commit ${hinted} as one of the session's, and it is missing` : undefined;
}
