import type { StepReport } from "../../decision/decision-request.js";
import { isJsonObject, type JsonObject } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { checkEvidenceSafety } from "../../gate/evidence-safety.js";

const DEPTH_MAX = 64;

/** Reads a report: a copy in which each value was read once. Throws `INVALID_INPUT` that names the field. */
export function checkReport(value: unknown, maxBytes: number): StepReport & JsonObject {
  const report = plain(value, maxBytes);
  const { status, details, message, error } = report;
  if (typeof status !== "string" || status.trim() === "")
    throw wrong("report.status", "a text such as success", status);
  if (details !== undefined && details !== null && !isJsonObject(details)) {
    throw wrong("report.details", "an object", details);
  }
  if (message !== undefined && message !== null && typeof message !== "string") {
    throw wrong("report.message", "a text", message);
  }
  if (error !== undefined && error !== null && typeof error !== "string") {
    throw wrong("report.error", "a text or null", error);
  }
  const { details: _, message: __, ...rest } = report;
  return {
    ...rest,
    status,
    ...(isJsonObject(details) ? { details } : {}),
    ...(typeof message === "string" ? { message } : {}),
  };
}

function plain(value: unknown, maxBytes: number): JsonObject {
  try {
    return checkEvidenceSafety(value, { maxBytes, maxDepth: DEPTH_MAX }).evidence;
  } catch (cause) {
    if (!isPhasegateError(cause, "EVIDENCE_UNSAFE") && !isPhasegateError(cause, "EVIDENCE_TOO_LARGE")) throw cause;
    throw new PhasegateError("INVALID_INPUT", cause.message.replaceAll("evidence", "report"), {
      remedy: `Give the report as plain JSON, an object of at most ${maxBytes} bytes with a status.`,
      details: { field: "report", expected: "an object" },
      cause,
    });
  }
}

function wrong(field: string, expected: string, got: unknown): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} must be ${expected}, not ${shown(got)}`, {
    remedy: 'Report as {"status": "success", "details": {…}, "message": "…", "error": null}.',
    details: { field, expected },
  });
}
