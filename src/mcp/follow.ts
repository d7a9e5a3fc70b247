/**
 * What a client learns during a call of the workflow tool, over any transport: progress of a gate's checks, if it asked
 * for that, and warnings about the session as log messages. Its cancellation ends the call.
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { Engine } from "../phased/engine.js";
import type { EngineNotifications } from "../phased/notifications.js";
import type { CheckProgress, Followed } from "../phased/verify/verify.js";
import { systemClock } from "../ports/clock.js";
import { shown } from "../workflow/names.js";

/** The interval of notifications while checks run, in milliseconds: less than the time limits of clients. */
const EVERY_MS = 10_000;

/** A call that is followed for its client. */
export interface FollowedCall extends Followed {
  /** Ends what follows the call. */
  end(): void;
}

/** Follows a call on a session for the client that made it. */
export function followCall(ctx: ServerContext, engine: Engine, sessionId: unknown): FollowedCall {
  const stops = typeof sessionId === "string" ? logWarnings(ctx, engine, sessionId) : [];
  const progress = reportProgress(ctx);
  return {
    signal: ctx.mcpReq.signal,
    ...(progress && { onCheck: progress.onCheck }),
    end: () => {
      progress?.end();
      for (const stop of stops) stop();
    },
  };
}

/** A check that runs. */
interface Running {
  readonly name: string;
  readonly since: number;
}

/**
 * Returns a listener that sends a progress notification for each check that begins or ends, and while checks run;
 * undefined if the client sent no progress token. `progress` counts the checks that have ended, with a fraction that
 * grows while others run: the protocol requires that each is greater than the one before.
 */
function reportProgress(ctx: ServerContext) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  const running: Running[] = [];
  let [sent, done, total] = [0, 0, 0];
  let timer: ReturnType<typeof setInterval> | undefined;
  const send = (message: string) => {
    sent += 1;
    const progress = done === total ? total : done + (0.99 * sent) / (sent + 1);
    // The client may disconnect at any time, which is not an error.
    ctx.mcpReq
      .notify({ method: "notifications/progress", params: { progressToken, progress, total, message } })
      .catch(() => {});
  };
  const end = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const tick = () => {
    const names = running.map(({ name, since }) => `${name} for ${secondsSince(since)}`);
    send(`${done} of ${total} checks have ended; running: ${names.join(", ")}`);
  };
  const onCheck = ({ verifier, field, ok, ...counts }: CheckProgress) => {
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
  return { onCheck, end };
}

function secondsSince(begun: number): string {
  return `${((systemClock.elapsed() - begun) / 1000).toFixed(1)} s`;
}

/** The notifications that warn of something, with their texts. None of them has a path of the host or evidence in it. */
const WARNINGS = {
  conflict: () => "another call has changed the session at the same time; this one was decided again",
  stepRefused: ({ message }: EngineNotifications["stepRefused"]) => message,
  planTicksPending: ({ path }: EngineNotifications["planTicksPending"]) =>
    `the plan ${path} could not be written; the next call on the session tries again`,
  snapshotsTaken: ({ phase }: EngineNotifications["snapshotsTaken"]) =>
    `snapshots for phase ${phase} were taken late: what has changed since it was entered is in them`,
} as const;

/** Sends the engine's warnings about a session to the client. Returns functions that end it. */
function logWarnings(ctx: ServerContext, engine: Engine, sessionId: string): (() => void)[] {
  const log = (message: string) => {
    // The client may disconnect at any time, which is not an error.
    ctx.mcpReq.log("warning", { session_id: sessionId, message }, "phasegate").catch(() => {});
  };
  const listen = <N extends keyof typeof WARNINGS>(name: N, text: (payload: EngineNotifications[N]) => string) =>
    engine.on(name, (payload) => {
      if (payload.sessionId === sessionId) log(text(payload));
    });
  return [
    listen("conflict", WARNINGS.conflict),
    listen("stepRefused", WARNINGS.stepRefused),
    listen("planTicksPending", WARNINGS.planTicksPending),
    listen("snapshotsTaken", WARNINGS.snapshotsTaken),
  ];
}
