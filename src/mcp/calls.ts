/**
 * How a call of a tool is measured, and what its client learns during the call, over any transport: the progress of a gate's
 * checks, that the decider is asked, and warnings about the session. The client's cancellation ends the call.
 */
import type { Engine } from "../phased/engine.js";
import type { EngineNotifications } from "../phased/notifications.js";
import type { MeasuredCall, MeasuredOutcome, Telemetry } from "../ports/telemetry.js";
import type { FollowedReport } from "../routed/types.js";
import { type Progress, reportProgress } from "../tools/progress.js";
import { isJsonObject } from "../workflow/json.js";
import { isSessionId } from "../workflow/names.js";
import type { ClientCall } from "./host.js";

/** The option of all tools to be watched. */
export interface WatchedTools {
  /** Watches the calls: `createTelemetry` of `phasegate/otel` makes one. Default: none. */
  readonly telemetry?: Pick<Telemetry, "measure"> | undefined;
}

export interface ToolAnswer {
  readonly body: object;
  readonly isError: boolean;
  /** `_meta` of the result. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Returns a call as it is measured; `actions` are the values of `action` that the tool knows. A value that
 * the client chooses freely is in it only if it is one of ours.
 */
export function measured(
  tool: string,
  actions: readonly string[],
  input: unknown,
  { method, id, connectionId, meta }: ClientCall,
): MeasuredCall {
  const given = isJsonObject(input) ? input : {};
  return {
    kind: "call",
    method,
    tool,
    action: actions.find((name) => name === given.action),
    sessionId: sessionIn(given),
    requestId: String(id),
    connectionId,
    meta,
  };
}

export function outcomeOf({ body, isError }: ToolAnswer): MeasuredOutcome {
  const fields: Fields = { ...body };
  const code = fields.code ?? fields.error_code;
  return {
    error: isError ? (typeof code === "string" ? code : "INTERNAL") : undefined,
    sessionId: sessionIn(fields),
  };
}

type Fields = { readonly [name: string]: unknown };

function sessionIn({ session_id: session, instance_id: instance }: Fields): string | undefined {
  const id = session ?? instance;
  return isSessionId(id) ? id : undefined;
}

/** What a call tells its client, and how the client ends it. */
interface ClientFollows extends FollowedReport {
  end(): void;
}

/**
 * Follows a call for the client that made it, and tells it of the progress if it has sent a token for that. The caller calls
 * `end` once the call has ended.
 */
export function followCall(call: ClientCall): ClientFollows {
  const { signal } = call;
  const progressToken = call.meta?.progressToken;
  if (progressToken === undefined) return { signal, end: () => {} };
  // The client may disconnect at any time, which is not an error.
  const send = (progress: Progress) => void call.progress({ progressToken, ...progress }).catch(() => {});
  return { signal, ...reportProgress(send) };
}

/**
 * Follows the calls of a server's clients, and warns them of what happens to their session. It listens to the engine once,
 * however many calls there are. No warning has a path of the host or evidence in it.
 */
export function followCalls(engine: Engine) {
  const calls = new Set<{ readonly client: ClientCall; readonly sessionId: unknown }>();
  const listen = <N extends "conflict" | "stepRefused" | "planTicksPending" | "snapshotsTaken">(
    name: N,
    text: (payload: EngineNotifications[N]) => string,
  ) =>
    engine.on(name, (payload) => {
      for (const { client, sessionId } of calls) {
        if (sessionId !== payload.sessionId) continue;
        // The client may disconnect at any time, which is not an error.
        client.warn({ session_id: sessionId, message: text(payload) }).catch(() => {});
      }
    });
  const stops = [
    listen("conflict", () => "another call has changed the session at the same time; this one was decided again"),
    listen("stepRefused", ({ message }) => message),
    listen(
      "planTicksPending",
      ({ path }) => `the plan ${path} could not be written; the next call on the session tries again`,
    ),
    listen(
      "snapshotsTaken",
      ({ phase }) => `snapshots for phase ${phase} were taken late: what has changed since it was entered is in them`,
    ),
  ];
  return {
    follow(client: ClientCall, sessionId: unknown): ClientFollows {
      const { end, ...followed } = followCall(client);
      const call = { client, sessionId };
      calls.add(call);
      const endAll = () => {
        calls.delete(call);
        end();
      };
      return { ...followed, end: endAll };
    },
    dispose() {
      for (const stop of stops) stop();
    },
  };
}
