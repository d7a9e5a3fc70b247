/**
 * Planted defects: mistakes that somebody could make in the sources. The simulator must find each of them. A defect is a
 * replacement in one file of src; the sources themselves are never changed (scripts/run-sources.mjs replaces what is loaded).
 */

/** A mistake in one file. */
interface Defect {
  readonly name: string;
  /** The mistake. */
  readonly what: string;
  /** The first seed that finds it: `npm run sim -- --defects`. */
  readonly seed: number;
  /** The file in src. */
  readonly file: string;
  /** What is replaced. */
  readonly from: string;
  /** How often it stands in the file. Default: once. */
  readonly places?: number;
  readonly to: string;
  /** The world that it is looked for in. Default: phased sessions in memory. */
  readonly world?: readonly string[];
}

const ON_FILES = ["--store", "files"];
const ON_SQLITE = ["--store", "sqlite"];
const ON_POSTGRES = ["--store", "postgres"];
/** Commits share a statement only where many sessions have one host. */
const IN_GROUPS = [...ON_POSTGRES, "--hosts", "1", "--writers", "24", "--sessions", "16"];
const PLANNED = ["--planned"];
const ROUTED = ["--routed"];
const RECORDED = ["--recorded"];

/** The defects that the simulator is tried on. */
export const DEFECTS: readonly Defect[] = [
  {
    name: "key-not-kept",
    what: "A commit does not keep the idempotency key that it was asked for with.",
    seed: 1,
    file: "log/log.ts",
    from: "forgetsKey ? known : addKey(known, request, version)",
    to: "true ? known : addKey(known, request, version)",
  },
  {
    name: "key-forgotten",
    what: "A session remembers one key in place of sixteen.",
    seed: 1,
    file: "log/machine.ts",
    from: "export const KEYS_MAX = 16;",
    to: "export const KEYS_MAX = 1;",
  },
  {
    name: "unknown-is-done",
    what: "An append whose outcome is unknown is acknowledged.",
    seed: 2,
    file: "log/log.ts",
    from: 'if (!isPhasegateError(error, "CONFLICT")) throw error;\n      this.#options',
    to: 'if (!isPhasegateError(error, "CONFLICT")) return true;\n      this.#options',
  },
  {
    name: "conflict-is-done",
    what: "A commit that conflicts with another one is acknowledged.",
    seed: 1,
    file: "log/log.ts",
    from: "if (tries < TRIES_MAX) return false;",
    to: "if (tries < TRIES_MAX) return true;",
  },
  {
    name: "stale-after-conflict",
    what: "After a conflict the command is decided again on the cached head.",
    seed: 4928,
    file: "log/log.ts",
    from: "const newest = tries === 0 ? seen : await this.newest(id);",
    to: "const newest = tries < 3 ? (this.#heads.get(id) ?? (await this.newest(id))) : await this.newest(id);",
  },
  {
    name: "refused-on-stale-head",
    what: "A command that is refused on a cached head is not decided again on the newest one.",
    seed: 1,
    file: "log/log.ts",
    from: "if (await isCurrent()) throw error;",
    to: "throw error;",
  },
  {
    name: "repeated-answer-from-now",
    what: "A repeated call is answered from the newest commit, not from the one that its key led to.",
    seed: 1,
    file: "log/log.ts",
    from: "const recorded = await this.at(id, version);",
    to: "const last = await this.newest(id);\n    const recorded = await this.at(id, last?.version ?? version);",
  },
  {
    name: "time-of-another-clock",
    what: "Commits carry the time of the machine, not that of the host's clock.",
    seed: 1,
    file: "log/log.ts",
    from: "const now = this.#clock.now();",
    to: "const now = Date.now();",
  },
  {
    name: "verdict-kept-too-long",
    what: "After a conflict the verdict is reused, although what it depends on has changed.",
    seed: 1655,
    file: "phased/complete-phase.ts",
    from: "if (evaluation?.dependsOn !== dependsOn) {",
    to: "if (evaluation === undefined) {",
  },
  {
    name: "approval-of-other-evidence",
    what: "A person's approval counts for evidence that was submitted after the one that the person saw.",
    seed: 76,
    file: "phased/state/decide-gate.ts",
    from: "if (awaiting.evidenceHash === evidenceHash) return undefined;",
    to: "return undefined;",
  },
  {
    name: "waiver-of-another-request",
    what: "A person's answer to one request for a waiver is taken for another one.",
    seed: 20,
    file: "phased/state/decide-gate.ts",
    from: "if (waiver.version === version) return undefined;",
    to: "return undefined;",
  },
  {
    name: "wait-lost-at-restart",
    what: "A head that is read from the store has lost the approval that it waits for.",
    seed: 1,
    file: "phased/state/head.ts",
    from: "  awaiting: z.optional(z.object({ version: z.int(), evidenceHash: z.string() })),\n",
    to: "",
  },
  {
    name: "paused-session-works",
    what: "A session takes evidence on a head that says that it is paused.",
    seed: 4,
    file: "phased/state/commands.ts",
    from: 'if (head.status !== "active") {\n    const refusal',
    to: "if (false) {\n    const refusal",
  },
  {
    name: "next-phase-shown",
    what: "The phase after the current one can be read.",
    seed: 3,
    file: "phased/state/commands.ts",
    from: "if (position > head.position) return phaseLocked(phase, head.phase);\n  const done",
    to: "if (position > head.position + 1) return phaseLocked(phase, head.phase);\n  if (position > head.position) return undefined;\n  const done",
  },
  {
    name: "watcher-skips",
    what: "A watcher that is slow misses what came before the newest commit.",
    seed: 17,
    file: "storage/memory/storage.ts",
    from: "if (unseen.has(stored.commits) || !matchesQuery(summary, query)) continue;",
    to: "if (!matchesQuery(summary, query)) continue;",
  },
  {
    name: "store-compares-versions-only",
    what: "A store lets the second of two commits of the same version replace the first.",
    seed: 1,
    file: "storage/memory/storage.ts",
    from: 'if (version !== (newest?.version ?? 0) + 1 || previousHash !== (newest?.hash ?? "")) {',
    to: "if (newest !== undefined && version === newest.version) session?.commits.pop();\n    else if (version !== (newest?.version ?? 0) + 1) {",
  },
  {
    name: "written-but-cancelled",
    what: "A call that is cancelled while its commit is written says that nothing was written.",
    seed: 1784,
    file: "phased/complete-phase.ts",
    from: '  const outcome = "answer" in executed',
    to: '  if (followed.signal?.aborted) throw cancelled("completePhase");\n  const outcome = "answer" in executed',
  },
  {
    name: "cancelled-is-failed",
    what: "A submission whose verifiers were stopped by its caller counts as a failed attempt.",
    seed: 42,
    file: "phased/complete-phase.ts",
    from: 'if (followed.signal?.aborted) throw cancelled("completePhase");',
    to: "",
    places: 2,
  },
  {
    name: "commit-not-synced",
    what: "FileStorage gives a commit its version before its text is on the disk.",
    seed: 1,
    file: "storage/files/disk.ts",
    from: "      await write(file);\n      await file.sync();\n",
    to: "      await write(file);\n",
    world: ON_FILES,
  },
  {
    name: "name-not-synced",
    what: "FileStorage acknowledges a commit before its name is on the disk.",
    seed: 7,
    file: "storage/files/append.ts",
    from: "Promise.allSettled([folder.sync(), ",
    to: "Promise.allSettled([Promise.resolve(), ",
    world: ON_FILES,
  },
  {
    name: "taken-name",
    what: "FileStorage acknowledges a commit whose version another host has taken.",
    seed: 1,
    file: "storage/files/publish.ts",
    from: 'if (errnoOf(error) === "EEXIST") return false;',
    to: 'if (errnoOf(error) === "EEXIST") return true;',
    world: ON_FILES,
  },
  {
    name: "watch-begins-late",
    what: "A watch of FileStorage misses the next commit of each session that was there when it began.",
    seed: 1,
    file: "storage/files/watch.ts",
    from: "this.#watched(id, await this.#newest(id))",
    to: "this.#watched(id, (await this.#newest(id)) + 1)",
    world: ON_FILES,
  },
  {
    name: "watch-begins-early",
    what: "A watch of FileStorage delivers the newest commit of each session again that was acknowledged before it began.",
    seed: 2,
    file: "storage/files/watch.ts",
    from: "this.#watched(id, await this.#newest(id))",
    to: "this.#watched(id, Math.max(0, (await this.#newest(id)) - 1))",
    world: ON_FILES,
  },
  {
    name: "own-not-watched",
    what: "A watch of FileStorage misses what its own host appends while it begins.",
    seed: 14,
    file: "storage/files/watch.ts",
    from: "for (const [id, version] of this.#heard) {",
    to: "for (const [id, version] of [] as [SessionId, number][]) {",
    world: ON_FILES,
  },
  {
    name: "watched-before-durable",
    what: "A watch of FileStorage delivers a commit that a loss of power undoes.",
    seed: 116,
    file: "storage/files/watch.ts",
    from: "if (!(await syncVersions(this.#store, at))) return;",
    to: "",
    world: ON_FILES,
  },
  {
    name: "failed-commit-is-done",
    what: "SqliteStorage acknowledges what a failed COMMIT has rolled back.",
    seed: 3,
    file: "storage/sqlite/connection.ts",
    from: "throw isOutcomeUnknown(error) ? outcomeUnknown(operation, error) : error;",
    to: "return result;",
    world: ON_SQLITE,
  },
  {
    name: "conflict-in-group-is-done",
    what: "SqliteStorage acknowledges all commits of a transaction, although one does not follow its session's newest.",
    seed: 1,
    file: "storage/sqlite/write.ts",
    from: "else reject(refusals[index]);",
    to: "else resolve();",
    world: ON_SQLITE,
  },
  {
    name: "lost-append-is-done",
    what: "PostgresStorage acknowledges an append whose connection was lost.",
    seed: 15,
    file: "storage/postgres/write.ts",
    from: "if (this.#retrier.mayRepeat(error) && (await backoff())) continue;",
    to: "if (this.#retrier.mayRepeat(error)) return;",
    world: ON_POSTGRES,
  },
  {
    name: "group-is-done",
    what: "PostgresStorage acknowledges all commits of a group, although one does not follow its session's newest.",
    seed: 1,
    file: "storage/postgres/write.ts",
    from: 'resolve(!written.has(sessionId) ? "left" : waited',
    to: "resolve(waited",
    world: IN_GROUPS,
  },
  {
    name: "ticks-not-made-up",
    what: "Ticks that a crashed host has not written are not written by the next one that reads the session.",
    seed: 1389,
    file: "phased/context.ts",
    from: "loaded.session.head.due === undefined ? loaded : await withDueTicks(context, session);",
    to: "loaded;",
    world: PLANNED,
  },
  {
    name: "ticks-over-an-edit",
    what: "Ticks count as written although a person has replaced the plan meanwhile.",
    seed: 71,
    file: "phased/plan/ticks.ts",
    from: "if (!replaced || source.text !== text) continue;",
    to: "",
    world: PLANNED,
  },
  {
    name: "any-signature",
    what: "An approval with anybody's signature counts.",
    seed: 18,
    file: "approval/decision.ts",
    from: "await isSignedBy(key, message, signature.value)",
    to: "(await isSignedBy(key, message, signature.value)) || true",
    world: PLANNED,
  },
  {
    name: "snapshot-of-an-earlier-visit",
    what: "Evidence is compared with the snapshot of an earlier visit to the phase.",
    seed: 37,
    file: "phased/verify/verify.ts",
    from: "request: { ...request, snapshot, earlierSnapshots",
    to: "request: { ...request, snapshot: earlier[0] ?? snapshot, earlierSnapshots",
    world: PLANNED,
  },
  {
    name: "tasks-kept",
    what: "Tasks that were done in one phase are noted as done in the next one.",
    seed: 5,
    file: "phased/state/head.ts",
    from: "    refused: undefined,\n    tasks: undefined,\n    children",
    to: "    refused: undefined,\n    children",
    world: PLANNED,
  },
  {
    name: "overtaken-is-done",
    what: "A report is acknowledged although another one was decided while it was handed in.",
    seed: 5,
    file: "routed/advance.ts",
    from: "if (answered === undefined || !(isOwn || isAsking)) throw decidedBefore(session);",
    to: "if (answered === undefined) throw decidedBefore(session);",
    world: ROUTED,
  },
  {
    name: "decided-first-is-done",
    what: "A report is acknowledged with the decision on the one before it.",
    seed: 2,
    file: "routed/advance.ts",
    from: "throw decidedBefore(decided);",
    to: "return decidedResult(context, decided, false);",
    world: ROUTED,
  },
  {
    name: "other-evidence-dropped",
    what: "While a person is asked about a report, another one is acknowledged and dropped.",
    seed: 3,
    file: "routed/advance.ts",
    from: 'return handed.operation === "advance" && pending.awaiting === undefined;',
    to: 'return handed.operation === "advance";',
    world: ROUTED,
  },
  {
    name: "one-cancels-for-all",
    what: "A caller that cancels its call ends the question that others wait for.",
    seed: 2447,
    file: "routed/asking.ts",
    from: "if (question.waiting === 0) question.wait.leave(error);",
    to: "if (question.waiting >= 0) question.wait.leave(error);",
    world: ROUTED,
  },
  {
    name: "all-steps-shown",
    what: "The answer to a report has the texts of all steps, not only that of the next one.",
    seed: 1,
    file: "routed/views.ts",
    from: "instructionsOf(await loadTexts(context, workflow), step)",
    to: "JSON.stringify(await loadTexts(context, workflow))",
    world: ROUTED,
  },
  {
    name: "joins-an-older-question",
    what: "A retry is answered with the failure before it, which an older question has found.",
    seed: 177,
    file: "routed/decide.ts",
    from: "while (decided.version < session.version) decided =",
    to: "if (session.version < 0) decided =",
    world: ROUTED,
  },
  {
    name: "second-key-not-kept",
    what: "A call with a key of its own gets the decision on a report that is recorded already, and is not remembered.",
    seed: 66,
    file: "routed/advance.ts",
    from: "const written = of === undefined ? command",
    to: "const written = of !== 0 ? command",
    world: ROUTED,
  },
  {
    name: "acts-not-awaited",
    what: "An act is acknowledged before it is recorded.",
    seed: 1,
    file: "workspace/session/machine.ts",
    from: "await this.#kernel.execute(parseSessionId(id), () => ({ command }));",
    to: "void this.#kernel.execute(parseSessionId(id), () => ({ command })).catch(() => {});",
    world: RECORDED,
  },
];

/** Returns a source with a defect in it. Throws if what is replaced is not there as often as the defect says. */
export function plant(source: string, { name, from, to, places = 1 }: Defect): string {
  const parts = source.split(from);
  if (parts.length !== places + 1) throw new Error(`the place of the defect ${name} is not there, or too often`);
  return parts.join(to);
}
