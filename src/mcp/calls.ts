/**
 * How a call of a tool is measured, and what its client learns during the call, over any transport: the progress of a gate's
 * checks, that the decider is asked, and warnings about the session. The client's cancellation ends the call.
 */
import type { Engine } from "../phased/engine.js";
import type { EngineNotifications } from "../phased/notifications.js";
import type { CheckProgress } from "../phased/verify/verify.js";
import { systemClock } from "../ports/clock.js";
import type { MeasuredCall, MeasuredOutcome, Telemetry } from "../ports/telemetry.js";
import type { FollowedReport } from "../routed/types.js";
import { isJsonObject } from "../workflow/json.js";
import { isSessionId, shown } from "../workflow/names.js";
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

/** The interval of notifications while checks run, in milliseconds: less than the time limits of clients. */
const EVERY_MS = 10_000;

/** What a call tells its client, and how the client ends it. */
interface ClientFollows extends FollowedReport {
  end(): void;
}

/** Follows a call for the client that made it. The caller calls `end` once the call has ended. */
export function followCall(call: ClientCall): ClientFollows {
  const { signal, meta } = call;
  const progress = meta?.progressToken === undefined ? undefined : reportProgress(call, meta.progressToken);
  return { signal, end: () => {}, ...progress };
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

/**
 * Returns listeners that send a progress notification for each check that begins or ends, when the decider is asked, and while
 * checks run or the decider is waited for, to a client that sent a token for that. `progress` counts the checks that have
 * ended, with a fraction that grows while others run: the protocol requires that each is greater than the one before.
 */
function reportProgress(call: ClientCall, progressToken: string | number) {
  const running: { readonly name: string; readonly since: number }[] = [];
  // After a conflict checks may run again: `before` counts those of the times before.
  let [sent, before, done, total] = [0, 0, 0, 0];
  let asked: number | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  const send = (message: string) => {
    sent += 1;
    const progress = before + (done === total ? total : done + (0.99 * sent) / (sent + 1));
    // The client may disconnect at any time, which is not an error.
    call.progress({ progressToken, progress, total: before + total, message }).catch(() => {});
  };
  const end = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const tick = () => {
    if (asked !== undefined) return send(`the decider has not answered after ${secondsSince(asked)}`);
    const names = running.map(({ name, since }) => `${name} for ${secondsSince(since)}`);
    send(`${done} of ${total} checks have ended; running: ${names.join(", ")}`);
  };
  const onCheck = ({ verifier, field, ok, ...counts }: CheckProgress) => {
    if (counts.done < done) before += done;
    ({ done, total } = counts);
    const name = field === undefined ? shown(verifier) : `${shown(verifier)} on ${shown(field)}`;
    if (ok === undefined) {
      running.push({ name, since: systemClock.elapsed() });
      timer ??= setInterval(tick, EVERY_MS);
      send(`${name} runs`);
      return;
    }
    const [ended] = running.splice(
      running.findIndex((one) => one.name === name),
      1,
    );
    if (running.length === 0) end();
    const after = ended === undefined ? "" : ` after ${secondsSince(ended.since)}`;
    send(`${name} ${ok ? "passed" : "failed"}${after}: ${done} of ${total} checks have ended`);
  };
  const onAsk = () => {
    asked = systemClock.elapsed();
    // The decider counts as one more check: the call has not ended while it is asked.
    total += 1;
    timer ??= setInterval(tick, EVERY_MS);
    send("the decider is asked for the next step");
  };
  return { onCheck, onAsk, end };
}

function secondsSince(begun: number): string {
  return `${((systemClock.elapsed() - begun) / 1000).toFixed(1)} s`;
}
