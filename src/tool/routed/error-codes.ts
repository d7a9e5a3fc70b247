import type { ErrorCode } from "../../errors.js";

/** What a request itself may be wrong by. */
export const REQUEST_ERRORS = ["INVALID_FORMAT", "MISSING_FIELD", "INVALID_TYPE", "INVALID_FIELD"] as const;
/** One of them. */
export type RequestErrorCode = (typeof REQUEST_ERRORS)[number];

/** An error as HTTP counts it, and in the words of seed 003, section 6; where that has none, in ours. */
export interface WireError {
  readonly status: number;
  readonly code: string;
}

const notFound = (code: string): WireError => ({ status: 404, code });
const bad = (code: string): WireError => ({ status: 400, code });
const conflict = (code: string): WireError => ({ status: 409, code });
const failed = (code: string): WireError => ({ status: 500, code });
const PERSISTENCE = failed("PERSISTENCE_ERROR");
const DEFINITIONS = failed("DEFINITION_SERVICE_ERROR");
const INTERNAL = failed("INTERNAL_ERROR");
const DECIDER: WireError = { status: 502, code: "AI_SERVICE_ERROR" };

/** How each code is told: its keys are all codes there are. */
export const WIRE_ERRORS: Record<ErrorCode, WireError> = {
  INVALID_INPUT: bad("INVALID_FIELD"),
  CURSOR_INVALID: bad("INVALID_FIELD"),
  EVIDENCE_UNSAFE: bad("INVALID_FIELD"),
  EVIDENCE_TOO_LARGE: bad("INVALID_FIELD"),
  WORKFLOW_NOT_FOUND: notFound("DEFINITION_NOT_FOUND"),
  DEFINITION_INVALID: notFound("DEFINITION_NOT_FOUND"),
  SESSION_NOT_FOUND: notFound("INSTANCE_NOT_FOUND"),
  INVALID_TRANSITION: conflict("INVALID_TRANSITION"),
  STEP_NOT_CURRENT: conflict("STEP_NOT_CURRENT"),
  CONFLICT: conflict("CONFLICT"),
  APPROVAL_REFUSED: conflict("APPROVAL_REFUSED"),
  NOT_ALLOWED: conflict("NOT_ALLOWED"),
  IDEMPOTENCY_KEY_REUSED: { status: 422, code: "IDEMPOTENCY_KEY_REUSED" },
  BUSY: { status: 503, code: "BUSY" },
  SESSION_LIMIT: { status: 503, code: "SESSION_LIMIT" },
  DEFINITION_UNAVAILABLE: failed("DEFINITION_UNAVAILABLE"),
  DEFINITION_CHANGED: failed("DEFINITION_UNAVAILABLE"),
  CONTENT_UNAVAILABLE: DEFINITIONS,
  FILE_NOT_FOUND: DEFINITIONS,
  PATH_REFUSED: DEFINITIONS,
  DECIDER_FAILED: DECIDER,
  // The prompt: whatever else can be too large is refused where it comes in.
  TOO_LARGE: DECIDER,
  STORAGE_FAILED: PERSISTENCE,
  TAMPERED: PERSISTENCE,
  FORMAT_TOO_NEW: PERSISTENCE,
  INTERNAL,
  // None of a routed engine's: they can only come from a port that throws what isn't its own.
  UNSUPPORTED: INTERNAL,
  PHASE_LOCKED: INTERNAL,
  PHASE_ALREADY_COMPLETED: INTERNAL,
  PHASE_OUT_OF_RANGE: INTERNAL,
  TASK_NOT_FOUND: INTERNAL,
  TASK_LOCKED: INTERNAL,
  ATTEMPTS_EXHAUSTED: INTERNAL,
  PLAN_PARSE: INTERNAL,
  TEMPLATE: INTERNAL,
};
