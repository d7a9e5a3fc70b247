import type { JsonObject } from "../../definition/json.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { checkEvidenceSafety } from "../../gate/evidence-safety.js";

const DEPTH_MAX = 32;

/**
 * A context with updates merged in, key by key, and the updates as they were read. Throws `INVALID_INPUT` for what is no
 * plain, finite JSON, for keys that reach a prototype, and for a context that would be too large.
 */
export function mergeContext(
  context: JsonObject,
  updates: unknown,
  maxBytes: number,
): { readonly context: JsonObject; readonly updates: JsonObject } {
  const limits = { maxBytes, maxDepth: DEPTH_MAX };
  try {
    const read = checkEvidenceSafety(updates, limits).evidence;
    if (Object.keys(read).length === 0) return { context, updates: read };
    return { context: checkEvidenceSafety({ ...context, ...read }, limits).evidence, updates: read };
  } catch (error) {
    if (!isPhasegateError(error, "EVIDENCE_UNSAFE") && !isPhasegateError(error, "EVIDENCE_TOO_LARGE")) throw error;
    throw new PhasegateError("INVALID_INPUT", error.message.replaceAll("evidence", "context"), {
      remedy: `Give plain JSON with ordinary keys; a context may have ${maxBytes} bytes in all.`,
      details: { field: "context_updates", expected: `an object, ${maxBytes} bytes of JSON at most` },
      cause: error,
    });
  }
}
