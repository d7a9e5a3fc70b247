/**
 * Recorded sessions of workspaces in a simulated world. An act has no key, so a caller without an answer can only record it
 * again. At the end of a round:
 *
 * - each chain holds, and each head counts what is in its log
 * - what was acknowledged is in the log, in the time of its call
 * - nothing is there more often than it was asked for, and nothing that was refused
 * - every watcher has seen each commit once, in order
 */
import { MemoryStorage } from "phasegate";
import { watchKind } from "../../src/engine/watch.js";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { parseSessionId } from "../../src/workflow/names.js";
import { Recorder, recordedMachine } from "../../src/workspace/session/machine.js";
import type { Life, Parts } from "./host.js";
import { watchedBy } from "./phased-check.js";
import { codeOf } from "./store.js";
import type { Outcome, Product, World, Writer } from "./world.js";

/** What writers ask for. `n` is the number by which it is found in the log. */
interface Op {
  readonly type: "open" | "reopen" | "save" | "complete";
  readonly n: number;
}

interface Called {
  readonly id: string;
  readonly op: Op;
  readonly from: number;
  readonly to: number;
  /** How often it was asked for. */
  readonly tries: number;
  readonly outcome: Outcome<void>;
}

interface Body {
  readonly events: readonly {
    readonly type: string;
    readonly workflow?: string;
    readonly path?: string;
    readonly summary?: string;
  }[];
  readonly head: { readonly status: string; readonly saves: number };
}

const OPS: readonly [Op["type"], ...Op["type"][]] = ["save", "save", "save", "open", "reopen", "complete"];

/** Recorded sessions, and everything that writers were told about them. */
export class RecordedProduct implements Product<Recorder> {
  readonly world: World<Recorder>;
  readonly #calls: Called[] = [];
  readonly #storages = new WeakMap<Recorder, StorageAdapter>();
  #numbers = 0;

  constructor(world: World<Recorder>) {
    this.world = world;
  }

  create({ storage, clock }: Parts): Recorder {
    const recorder = new Recorder({ storage, clock });
    this.#storages.set(recorder, storage);
    return recorder;
  }

  /** Watches as the inspector does. */
  watch(recorder: Recorder, onReady: () => void) {
    const storage = this.#storages.get(recorder);
    if (storage === undefined) throw new Error("nobody has made this recorder");
    return watchKind(storage, { kind: recordedMachine.kind }, { onReady }, (next) => next());
  }

  async act(writer: Writer<Recorder>): Promise<void> {
    const place = this.world.pick(writer, this.world.size.sessions + 1);
    if (place === 0) return;
    const id = `place${place}`;
    const { store } = this.world;
    const observed = store.observe(id);
    const type = store.versions.has(id) ? (OPS[this.world.pick(writer, OPS.length)] ?? "save") : "open";
    const op: Op = { type, n: ++this.#numbers };
    let tries = 0;
    const outcome = await writer.ask(`${type} ${op.n} in ${id}`, (recorder) => {
      tries += 1;
      return perform(recorder, id, op);
    });
    this.#calls.push({ id, op, ...observed(), tries, outcome });
  }

  async check({ engine }: Life<Recorder>): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const id of this.world.store.versions.keys()) {
      const audit = await engine.audit(id);
      if (!audit.intact) problems.push(`the chain of ${id} is broken: ${audit.reason}`);
      const bodies = (await this.world.store.commits(parseSessionId(id))).map(({ body }): Body => JSON.parse(body));
      problems.push(...miscounted(id, bodies));
      problems.push(...this.world.hosts.flatMap((host) => watchedBy(host, id, bodies.length)));
      for (const call of this.#calls.filter((one) => one.id === id)) {
        problems.push(...judge(call, bodies).map((problem) => `${problem}: ${JSON.stringify(call)}`));
      }
    }
    const gone = this.#calls.filter(
      ({ id, outcome }) => outcome.kind === "answer" && !this.world.store.versions.has(id),
    );
    return [...problems, ...gone.map(({ id }) => `${id} was acknowledged, and is gone`)];
  }
}

async function perform(recorder: Recorder, id: string, { type, n }: Op): Promise<void> {
  const act = { type: "saved", path: `out-${n}`, bytes: n, hash: "0", replaced: false } as const;
  switch (type) {
    case "open":
      return recorder.open(id, { workflow: `w-${n}`, acts: [] });
    case "reopen":
      return recorder.reopen(id, [act]);
    case "save":
      return recorder.record(id, act);
    case "complete":
      return recorder.complete(id, "completed", `s-${n}`);
  }
}

/** Returns what is wrong with the heads of a log. */
function miscounted(id: string, bodies: readonly Body[]): string[] {
  let [saves, status] = [0, "active"];
  return bodies.flatMap(({ events, head }, index) => {
    for (const { type } of events) {
      if (type === "saved") saves += 1;
      if (type === "reopened") status = "active";
      if (type === "completed") status = "completed";
    }
    if (head.saves === saves && head.status === status) return [];
    return [`${id}, commit ${index + 1}: ${saves} saves and ${status}, but ${JSON.stringify(head)}`];
  });
}

/** Returns what is wrong with what a writer was told. */
function judge({ op: { n }, from, to, tries, outcome }: Called, bodies: readonly Body[]): string[] {
  const isOwn = ({ workflow, path, summary }: Body["events"][number]) =>
    workflow === `w-${n}` || path === `out-${n}` || summary === `s-${n}`;
  const versions = bodies.flatMap(({ events }, index) => (events.some(isOwn) ? [index + 1] : []));
  if (versions.length > tries) return [`it was recorded ${versions.length} times`];
  if (outcome.kind === "answer") {
    return versions.some((version) => version > from && version <= to) ? [] : ["an acknowledged act is not in the log"];
  }
  if (outcome.kind === "lost") return [];
  const code = codeOf(outcome.error);
  if (code !== "INVALID_TRANSITION" && code !== "CONFLICT") return [`refused with ${code}`];
  // A try without an answer may have been recorded before the one that was refused.
  return versions.length < tries ? [] : ["what was refused is in the log"];
}

/** Loads all that recorders load on demand. */
export async function loadRecorded(): Promise<void> {
  const recorder = new Recorder({ storage: new MemoryStorage(), clock: { now: Date.now } });
  await recorder.open("loaded", { acts: [] });
  await recorder.audit("loaded");
}
