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
  readonly ctx: ServerContext;
  readonly sessionId: unknown;
  /** Ends the reports of progress; missing if the client asked for none. */
  readonly end?: () => void;
}

/** Follows the calls of a server's clients. It listens to the engine once, however many calls there are. */
export class Followers {
  /** The calls under way. Whoever has added a call takes it out. */
  readonly calls = new Set<FollowedCall>();
  readonly #stops: readonly (() => void)[];

  constructor(engine: Engine) {
    const listen = <N extends keyof typeof WARNINGS>(name: N, text: (payload: EngineNotifications[N]) => string) =>
      engine.on(name, (payload) => {
        for (const call of this.calls) if (call.sessionId === payload.sessionId) warn(call, text(payload));
      });
    this.#stops = [
      listen("conflict", WARNINGS.conflict),
      listen("stepRefused", WARNINGS.stepRefused),
      listen("planTicksPending", WARNINGS.planTicksPending),
      listen("snapshotsTaken", WARNINGS.snapshotsTaken),
    ];
  }

  /** Follows a call on a session for the client that made it. */
  follow(ctx: ServerContext, sessionId: unknown): FollowedCall {
    const { signal, _meta } = ctx.mcpReq;
    const progress = _meta?.progressToken === undefined ? {} : reportProgress(ctx, _meta.progressToken);
    const call = { ctx, sessionId, signal, ...progress };
    this.calls.add(call);
    return call;
  }

  /** Listens no longer. */
  dispose(): void {
    for (const stop of this.#stops) stop();
  }
}

/** A check that runs. */
interface Running {
  readonly name: string;
  readonly since: number;
}

/**
 * Returns a listener that sends a progress notification for each check that begins or ends, and while checks run, to a
 * client that sent a token for that. `progress` counts the checks that have ended, with a fraction that
 * grows while others run: the protocol requires that each is greater than the one before.
 */
function reportProgress(ctx: ServerContext, progressToken: string | number) {
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

/** Sends a warning about a session to a client that is calling. */
function warn({ ctx, sessionId }: FollowedCall, message: string): void {
  // The client may disconnect at any time, which is not an error.
  ctx.mcpReq.log("warning", { session_id: sessionId, message }, "phasegate").catch(() => {});
}
