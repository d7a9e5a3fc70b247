/**
 * One writer at a time for a file, among those that know of this: a claim is a file of its own beside it, which
 * only one can make. It is held without a turn of the event loop, so that no process of ours waits for long, and a
 * reader never waits at all.
 *
 * A process that dies in that instant leaves its claim behind. Whoever has seen one and the same claim for as long as
 * the patience lasts takes it away: seen by its own clock, since another machine's may be wrong. To take away *this*
 * claim, and not the one that somebody made in its place, is a right that only one has, and looks once more with.
 * What is left is a process that was stopped while it held a claim, for longer than anybody's patience.
 *
 * Anybody who may write into the folder can put something else under the claim's name, or make claims without end.
 * Neither may make a caller wait for ever: what is no regular file is no claim of ours, and is refused at once.
 */
import { type BigIntStats, closeSync, fstatSync, lstatSync, openSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { claimName, sweepBeside, temporaryName } from "./beside.js";
import { claimBlocked, codeOf } from "./wall-refusals.js";

/** How long one claim may be seen before it counts as left behind, in milliseconds. */
const PATIENCE = 5000;
/** How long claims of others are waited for in all, in milliseconds. */
const LIMIT = 20_000;
/** The longest pause between two looks, in milliseconds. */
const PAUSE_MAX = 20;

/**
 * Does one step while nobody else does one for this file. `wanted` is asked between two looks at somebody else's
 * claim: where it says no, the step isn't done, and the answer is undefined. Throws `STORAGE_FAILED` where something else
 * lies under the claim's name, or others have claimed the file for longer than the limit.
 */
export async function whileClaimed<T>(
  file: string,
  step: () => T,
  wanted: () => boolean = () => true,
  patience = PATIENCE,
  limit = LIMIT,
): Promise<T | undefined> {
  const name = claimName(file);
  const begun = performance.now();
  let seen: { readonly key: string; readonly since: number } | undefined;
  for (;;) {
    const own = makeClaim(name);
    if (own !== undefined) return released(name, own, step);
    if (!wanted()) return undefined;
    const key = claimAt(name);
    if (key !== seen?.key) seen = key === undefined ? undefined : { key, since: performance.now() };
    else if (seen !== undefined && performance.now() - seen.since > patience) await takeAway(file, name, seen.key);
    if (performance.now() - begun > limit) throw claimBlocked(basename(name), "others hold it all the time");
    await delay(Math.random() * PAUSE_MAX);
  }
}

/** Makes a file that isn't there yet, and gives what it is known by; undefined if there is one. */
function makeClaim(name: string): string | undefined {
  try {
    const handle = openSync(name, "wx", 0o600);
    const key = keyOf(fstatSync(handle, { bigint: true }));
    closeSync(handle);
    return key;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return undefined;
    throw error;
  }
}

function released<T>(name: string, own: string, step: () => T): T {
  try {
    return step();
  } finally {
    if (claimAt(name) === own) rmSync(name, { force: true });
  }
}

function claimAt(name: string): string | undefined {
  const stats = lstatSync(name, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (!stats.isFile()) throw claimBlocked(basename(name), "it is not a regular file");
  return keyOf(stats);
}

/** What tells one claim from all others. */
function keyOf({ ino, mtimeNs }: BigIntStats): string {
  return `${ino.toString(16)}${mtimeNs.toString(16)}`;
}

/**
 * Takes a claim away that was left behind, if it is this one. A process that dies in here leaves a right behind, which the
 * sweep removes once it is old enough.
 */
async function takeAway(file: string, name: string, key: string): Promise<void> {
  const right = temporaryName(file, key);
  if (makeClaim(right) === undefined) {
    await sweepBeside(file);
    return;
  }
  try {
    if (claimAt(name) === key) rmSync(name, { force: true });
  } finally {
    rmSync(right, { force: true });
  }
}
