import type { AttemptLimits } from "../../../src/gate/judge.js";
import type { SessionCommand } from "../../../src/phased/state/commands.js";
import type { WorkflowStructure } from "../../../src/workflow/structure.js";
/** The hash of any evidence in these tests. */
export const HASH = "ab".repeat(32);

/**
 * The simplest model of a phased session: phases are known by their numbers, and completed ones are
 * kept in sets. It uses nothing of the code that is tested with it.
 */
export class Model {
  status: "none" | "active" | "paused" | "failed" | "completed" | "deleted" = "none";
  phase = Number.NaN;
  readonly completed = new Set<number>();
  readonly skipped = new Set<number>();
  /** True while complete evidence waits for an approval. */
  waits = false;
  /** True while a request for a waiver waits for an answer. */
  asksWaiver = false;
  /** How many names are waived in the current phase. */
  waived = 0;
  /** The phases that passed with a waiver. */
  readonly withWaivers = new Set<number>();
  /** Number of failures since the phase was entered or retried. */
  inARow = 0;
  /** Failures by phase since it was last passed, or since the host reset them. */
  readonly failures = new Map<number, number>();

  structure: WorkflowStructure;
  readonly #limits: AttemptLimits;
  /** True if the evidence that was submitted last passes with waivers. */
  #uses = false;

  constructor(structure: WorkflowStructure, limits: AttemptLimits) {
    this.structure = structure;
    this.#limits = limits;
  }

  /** Executes a command if it is possible; returns true if it was. */
  ask(command: SessionCommand): boolean {
    if (command.type === "start") return this.#start();
    if (this.status === "none" || this.status === "deleted") return false;
    switch (command.type) {
      case "completePhase":
        if (this.status !== "active" || command.phase !== this.phase || this.#isUsedUp()) return false;
        this.waits = command.verdict.passed && "approval" in this.#current().gate;
        if (this.waits) this.asksWaiver = false;
        this.#uses = (command.waived ?? []).length > 0;
        if (!command.verdict.passed) this.#fail();
        else if (!this.waits) this.#pass();
        return true;
      case "approve":
      case "deny":
        if (this.status !== "active" || !this.waits || command.evidenceHash !== HASH) return false;
        this.waits = false;
        if (command.type === "approve") this.#pass();
        else this.#fail();
        return true;
      case "requestWaiver":
        if (!this.#isAtWork() || command.phase !== this.phase || this.waits) return false;
        if (this.#current().gate.kind === "open" || command.fields.length === 0 || this.waived > 0) return false;
        this.asksWaiver = true;
        return true;
      case "waive":
      case "denyWaiver":
        if (!this.asksWaiver || this.status === "completed") return false;
        this.asksWaiver = false;
        if (command.type === "waive") this.waived += 1;
        return true;
      case "completeTask":
        if (this.status !== "active" || command.phase !== this.phase) return false;
        return this.#current().tasks.some(({ number }) => number === command.task);
      case "pause":
        return this.#move("active", "paused");
      case "resume":
        return this.#move("paused", "active");
      case "retryPhase":
        return this.#retry(command.phase, command.by);
      case "rollback":
        return this.#rollback(command.to);
      case "overrideGate":
        if (!this.#isAtWork() || command.phase !== this.phase || !this.#current().gate.allowOverride) return false;
        this.#uses = false;
        this.#pass();
        return true;
      case "skipPhase":
        if (!this.#isAtWork() || command.phase !== this.phase || !this.#current().skippable) return false;
        this.skipped.add(this.phase);
        this.#goOn();
        return true;
      case "migrate":
        return this.#migrate(command.structure, command.accept ?? new Map());
      case "syncPlan":
        return false;
      case "planTicked":
      case "takeSnapshots":
      case "refuseStep":
      case "assign":
        return true;
      case "startChild":
        return this.status === "active";
      case "delete":
        this.status = "deleted";
        return true;
    }
  }

  /** Returns the phase numbers of the session, from first to last. */
  numbers(): number[] {
    return this.structure.phases.map(({ number }) => number).filter((number) => number >= this.structure.startPhase);
  }

  #start(): boolean {
    if (this.status !== "none") return false;
    this.status = "active";
    this.phase = this.structure.startPhase;
    return true;
  }

  #move(from: Model["status"], to: Model["status"]): boolean {
    if (this.status !== from) return false;
    this.status = to;
    return true;
  }

  #isAtWork(): boolean {
    return this.status === "active" || this.status === "failed";
  }

  #isUsedUp(): boolean {
    return (this.failures.get(this.phase) ?? 0) >= this.#limits.maxAttemptsTotal;
  }

  #current() {
    const phase = this.structure.phases.find(({ number }) => number === this.phase);
    if (phase === undefined) throw new Error("the model has lost its way");
    return phase;
  }

  #pass(): void {
    this.completed.add(this.phase);
    if (this.#uses) this.withWaivers.add(this.phase);
    this.failures.delete(this.phase);
    this.#goOn();
  }

  #goOn(): void {
    this.waits = false;
    this.#forgetWaivers();
    this.inARow = 0;
    const next = this.numbers().find((number) => number > this.phase);
    this.status = next === undefined ? "completed" : "active";
    this.phase = next ?? this.phase;
  }

  #forgetWaivers(): void {
    this.asksWaiver = false;
    this.waived = 0;
  }

  #fail(): void {
    this.inARow += 1;
    this.failures.set(this.phase, (this.failures.get(this.phase) ?? 0) + 1);
    if (this.inARow >= this.#limits.maxAttempts || this.#isUsedUp()) this.status = "failed";
  }

  #retry(phase: number, by: "agent" | "host"): boolean {
    if (!this.#isAtWork() || phase !== this.phase) return false;
    const stuck = this.#isUsedUp();
    if (by === "agent" && stuck) return false;
    const isTried = this.inARow > 0 || (by === "host" && (this.failures.get(phase) ?? 0) > 0);
    if (this.status === "active" && !isTried && !stuck) return false;
    this.status = "active";
    this.waits = false;
    this.inARow = 0;
    if (by === "host") this.failures.delete(phase);
    return true;
  }

  #rollback(to: number): boolean {
    if (!this.#isAtWork() || to >= this.phase || !this.numbers().includes(to)) return false;
    for (const number of this.numbers()) {
      if (number < to) continue;
      this.completed.delete(number);
      this.withWaivers.delete(number);
      this.skipped.delete(number);
    }
    this.status = "active";
    this.waits = false;
    this.#forgetWaivers();
    this.phase = to;
    this.inARow = 0;
    return true;
  }

  /** Returns the names of what a migration may have to accept: phases that are gone, and new ones before the way on. */
  differences({ phases, startPhase }: WorkflowStructure): string[] {
    const old = this.#named(this.structure);
    const now = this.#named({ phases, startPhase });
    const reached = old.filter(({ number }) => number <= this.phase).map(({ name }) => name);
    const names = now.map(({ name }) => name);
    const ahead = old.flatMap(({ number, name }) => (number >= this.phase && names.includes(name) ? [name] : []));
    const end = ahead[0] === undefined ? names.length : names.indexOf(ahead[0]);
    const gone = reached.filter((name) => !names.includes(name));
    return [...gone, ...names.slice(0, end).filter((name) => !reached.includes(name))];
  }

  #named({ phases, startPhase }: Pick<WorkflowStructure, "phases" | "startPhase">) {
    return phases.filter(({ number }) => number >= startPhase);
  }

  #migrate(structure: WorkflowStructure, accept: ReadonlyMap<string, string>): boolean {
    if (this.status === "completed" || structure.type !== this.structure.type) return false;
    const old = this.#named(this.structure);
    const now = this.#named(structure);
    const differing = this.differences(structure);
    if ([...accept.keys()].some((name) => !differing.includes(name))) return false;
    const isGone = ({ name }: { name: string }) => !now.some((other) => other.name === name);
    if (old.some((one) => one.number <= this.phase && isGone(one) && !accept.has(one.name))) return false;
    const kept = new Map<number, number>();
    const skipped: number[] = [];
    let place: number | undefined;
    for (const { name, number } of now) {
      const was = old.find((one) => one.name === name && one.number <= this.phase)?.number;
      if (was !== undefined) kept.set(was, number);
      if (was === this.phase || (was === undefined && !accept.has(name))) {
        place = number;
        break;
      }
      if (was === undefined) skipped.push(number);
    }
    if (place === undefined) return false;
    const moved = (numbers: Iterable<number>) => [...numbers].flatMap((number) => kept.get(number) ?? []);
    for (const set of [this.completed, this.skipped, this.withWaivers]) {
      const stay = moved(set);
      set.clear();
      for (const number of stay) set.add(number);
    }
    for (const number of skipped) this.skipped.add(number);
    const failures = [...this.failures];
    this.failures.clear();
    for (const [was, count] of failures) {
      const number = kept.get(was);
      if (number !== undefined) this.failures.set(number, count);
    }
    if (!kept.has(this.phase)) {
      this.inARow = 0;
      if (this.status === "failed") this.status = "active";
    }
    this.phase = place;
    this.structure = structure;
    this.waits = false;
    this.#forgetWaivers();
    return true;
  }
}
