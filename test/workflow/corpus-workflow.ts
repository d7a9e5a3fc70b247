import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const PLACE = "../shared/corpus/praxis-os/workflows";

/** Real workflows of other projects; not part of the repository. */
export const CORPUS = join(REPOSITORY, PLACE);

/**
 * Reason why tests on real workflows are skipped; empty if they run. It is part of their names and, since the
 * reporter shows no names of skipped tests, of the output.
 */
export function skipReason(...types: string[]): string {
  const missing = types.find((type) => !existsSync(join(CORPUS, type)));
  if (missing === undefined) return "";
  const reason = `skipped: ${PLACE}/${missing} is not there, which is no part of the repository`;
  console.warn(reason);
  return ` (${reason})`;
}
