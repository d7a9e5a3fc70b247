import type { AnyPhasegateError, ErrorCode } from "../errors.js";
import type { Notifications } from "./notifications.js";

const SECURITY_CODES: ReadonlySet<ErrorCode> = new Set(["PATH_REFUSED", "TAMPERED", "EVIDENCE_UNSAFE"]);

/** Tells the host of a refusal that touches security, also where the call goes on without what was refused. */
export function reportSecurity(
  notifications: Notifications,
  operation: string,
  { code, message }: AnyPhasegateError,
): void {
  if (SECURITY_CODES.has(code)) notifications.notify("security", { operation, code, message });
}
