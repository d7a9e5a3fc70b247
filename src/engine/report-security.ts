import { type AnyPhasegateError, type ErrorCode, isPhasegateError } from "../errors.js";
import type { Notifications } from "./notifications.js";

const SECURITY_CODES: ReadonlySet<ErrorCode> = new Set(["PATH_REFUSED", "TAMPERED", "EVIDENCE_UNSAFE"]);

/** Tells the host of a refusal that touches security, also where the call goes on without what was refused. */
export function reportSecurity(notifications: Notifications, operation: string, error: AnyPhasegateError): void {
  const { code, message } = error;
  const isForged = isPhasegateError(error, "APPROVAL_REFUSED") && error.details.reason !== "not_waiting";
  if (isForged || SECURITY_CODES.has(code)) notifications.notify("security", { operation, code, message });
}
