/** How calls of tools are measured. */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { MeasuredCall, MeasuredOutcome, Telemetry } from "../ports/telemetry.js";
import { isJsonObject } from "../workflow/json.js";
import { isSessionId } from "../workflow/names.js";

/** The option of all tools to be watched. */
export interface WatchedTools {
  /** Watches the calls: `createTelemetry` of `phasegate/otel` makes one. Default: none. */
  readonly telemetry?: Pick<Telemetry, "measure"> | undefined;
}

/** Returns a call as it is measured. What the client chooses freely is in it only if it is one of ours. */
export function callOf(tool: string, actions: readonly string[], input: unknown, ctx: ServerContext): MeasuredCall {
  const { action, session_id: session, instance_id: instance } = isJsonObject(input) ? input : {};
  const sessionId = session ?? instance;
  const { mcpReq } = ctx;
  return {
    kind: "call",
    method: mcpReq.method,
    tool,
    action: actions.find((name) => name === action),
    sessionId: isSessionId(sessionId) ? sessionId : undefined,
    requestId: String(mcpReq.id),
    connectionId: ctx.sessionId,
    meta: mcpReq._meta,
  };
}

/** Reads the outcome of a call out of its answer. */
export function outcomeOf(answer: object, isError: boolean): MeasuredOutcome {
  const body: { readonly [name: string]: unknown } = { ...answer };
  const sessionId = body.session_id ?? body.instance_id;
  const code = body.code ?? body.error_code;
  return {
    error: isError ? (typeof code === "string" ? code : "INTERNAL") : undefined,
    sessionId: isSessionId(sessionId) ? sessionId : undefined,
  };
}
