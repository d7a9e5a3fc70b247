import type { Refusal } from "../tool/routed/refusal.js";

/** A refusal of HTTP's own: before any engine was asked. */
export function refused(
  status: number,
  code: Refusal["body"]["error_code"],
  message: string,
  details: { readonly remedy: string; readonly [key: string]: unknown },
): Refusal {
  return { status, body: { error_code: code, message, details } };
}
