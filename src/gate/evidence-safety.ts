import type { JsonObject } from "../definition/json.js";
import { PhasegateError } from "../errors.js";
import { copyObject, type EvidenceLimits, isOver, isPlainObject, kindOf, newWalk, type Walk } from "./evidence-walk.js";

/** Evidence that was looked through, with about how many characters of JSON it is. */
export interface SafeEvidence {
  /** A copy, in which each value was read once: what was looked at is what is there. */
  readonly evidence: JsonObject;
  readonly characters: number;
}

/**
 * Whether a value is plain, finite, bounded JSON: an object without keys that reach a prototype,
 * without NaN and infinities, without cycles, not too deep and not too large. Throws
 * `EVIDENCE_UNSAFE` with every problem's path, or `EVIDENCE_TOO_LARGE`. Such evidence is refused
 * before the gate and counts as no attempt.
 */
export function checkEvidenceSafety(value: unknown, limits: EvidenceLimits): SafeEvidence {
  const walk = newWalk(limits);
  if (!isPlainObject(value)) {
    throw unsafe([{ path: "evidence", reason: `it must be an object, got ${kindOf(value)}` }]);
  }
  const evidence = copyObject(walk, value);
  if (walk.problems.length > 0) throw unsafe(walk.problems);
  checkSize(evidence, walk);
  return { evidence, characters: walk.characters };
}

/** Counted exactly only where the estimate comes near: a character is at most six bytes of JSON. */
function checkSize(evidence: JsonObject, walk: Walk): void {
  const { maxBytes } = walk.limits;
  if (walk.characters * 6 <= maxBytes) return;
  const whole = !isOver(walk);
  const bytes = whole ? new TextEncoder().encode(JSON.stringify(evidence)).length : walk.characters;
  if (bytes <= maxBytes) return;
  const size = `${whole ? "" : "more than "}${bytes} bytes`;
  throw new PhasegateError("EVIDENCE_TOO_LARGE", `the evidence is ${size} of JSON; ${maxBytes} are allowed`, {
    remedy: "Save large results to files and hand in their paths and a summary.",
    details: { bytes, limit: maxBytes },
  });
}

function unsafe(problems: { path: string; reason: string }[]): PhasegateError<"EVIDENCE_UNSAFE"> {
  const list = problems.map(({ path, reason }) => `${path}: ${reason}`).join("; ");
  return new PhasegateError("EVIDENCE_UNSAFE", `the evidence is refused: ${list}`, {
    remedy: "Send evidence as plain JSON: an object of strings, finite numbers, booleans, lists and objects.",
    details: { problems },
  });
}
