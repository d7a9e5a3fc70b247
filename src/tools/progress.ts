/** What is told of the progress of a call, over any interface: the checks of a gate, and the question to the decider. */
import type { CheckProgress } from "../phased/verify/verify.js";
import { systemClock } from "../ports/clock.js";
import type { FollowedReport } from "../routed/types.js";
import { shown } from "../workflow/names.js";

/** How far a call is. */
export interface Progress {
  /** The number of checks that have ended, with a fraction that grows while others run: each is greater than the one before. */
  readonly progress: number;
  /** How many checks there are. */
  readonly total: number;
  /** What has begun, has ended or is waited for, in a sentence for people. */
  readonly message: string;
}

/** The interval of notifications while checks run, in milliseconds: less than the time limits of clients. */
const EVERY_MS = 10_000;

/** After so many milliseconds, what runs longest counts as half done. */
const HALF_MS = 10_000;

/** The least by which each progress is greater than the one before. */
const STEP = 1e-6;

/**
 * Returns listeners that tell of each check that begins or ends, that the decider is asked, and every ten seconds of what is
 * waited for. The progress depends on how long that has run, so a call that waits for checks which another call has begun goes on
 * where that one was. The caller calls `end` once the call has ended.
 */
export function reportProgress(tell: (progress: Progress) => void): FollowedReport & { end(): void } {
  const running: { readonly name: string; readonly since: number }[] = [];
  // After a conflict checks may run again: `before` counts those of the times before.
  let [last, before, done, total] = [0, 0, 0, 0];
  let asked: number | undefined;
  let stop: (() => void) | undefined;
  const send = (message: string) => {
    const since = Math.min(asked ?? Number.POSITIVE_INFINITY, ...running.map((one) => one.since));
    const runs = Math.max(0, systemClock.elapsed() - since);
    // Without anything that runs, `runs` is 0.
    last = Math.max(last + STEP, before + (done === total ? total : done + (0.99 * runs) / (runs + HALF_MS)));
    tell({ progress: last, total: before + total, message });
  };
  const end = () => {
    stop?.();
    stop = undefined;
  };
  const counted = () => `${done} of ${total} checks have ended`;
  const tick = () => {
    if (asked !== undefined) return send(`the decider has not answered after ${secondsSince(asked)}`);
    const names = running.map(({ name, since }) => `${name} for ${secondsSince(since)}`);
    send(`${counted()}; running: ${names.join(", ")}`);
  };
  const wait = (): (() => void) =>
    systemClock.after(EVERY_MS, () => {
      stop = wait();
      tick();
    });
  const onCheck = ({ verifier, field, ok, elapsedMs, ...counts }: CheckProgress) => {
    if (counts.done < done) before += done;
    ({ done, total } = counts);
    const name = field === undefined ? shown(verifier) : `${shown(verifier)} on ${shown(field)}`;
    if (ok === undefined) {
      running.push({ name, since: systemClock.elapsed() - elapsedMs });
      stop ??= wait();
      return send(elapsedMs === 0 ? `${name} runs` : `${name} has run for ${seconds(elapsedMs)}: ${counted()}`);
    }
    const ended = running.findIndex((one) => one.name === name);
    if (ended >= 0) running.splice(ended, 1);
    if (running.length === 0) end();
    send(`${name} ${ok ? "passed" : "failed"} after ${seconds(elapsedMs)}: ${counted()}`);
  };
  const onAsk = () => {
    asked = systemClock.elapsed();
    // The decider counts as one more check: the call has not ended while it is asked.
    total += 1;
    stop ??= wait();
    send("the decider is asked for the next step");
  };
  return { onCheck, onAsk, end };
}

function secondsSince(begun: number): string {
  return seconds(systemClock.elapsed() - begun);
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
