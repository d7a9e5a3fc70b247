/**
 * Routed sessions in a simulated world. A report is one commit, and the decision on it is a second one, which any host may
 * make, with a decider that is slow, fails or never answers. At the end of a round:
 *
 * - each chain holds, and each key has led to one commit at most
 * - every decision answers the report that was open when it was made: none is decided twice, and none for nothing
 * - what was answered is in the log, as it was answered: the step, the status and the version
 * - a state that was shown is one that the instance had during the call
 * - a repeated key gets the first answer, and writes nothing
 * - every watcher has seen each commit once, in order
 */
import { MemoryStorage } from "phasegate";
import type { DeciderAnswer, StepDecider } from "phasegate/ai";
import { createRoutedEngine, defineRoutedWorkflow, type RoutedEngine, routedWorkflows } from "phasegate/routed";
import { parseSessionId } from "../../src/workflow/names.js";
import type { Life, Parts } from "./host.js";
import { digestOf, watchedBy } from "./phased-check.js";
import type { Schedule } from "./schedule.js";
import { codeOf, type SharedStore } from "./store.js";
import type { Outcome, Product, World, Writer } from "./world.js";

const NAME = "SIMULATED";
const step = (name: string) => ({ name, guidance: "Go on.", instructions: name });
const workflows = routedWorkflows(
  defineRoutedWorkflow({ name: NAME, steps: [step("Dig"), step("Sow"), step("Water")] }),
);

/** What writers ask for. */
type Op = { readonly type: "advance"; readonly n: number } | { readonly type: "suspend" | "retry" | "resume" };

/** The part of an answer that is the same whenever the call is repeated. */
interface Answer {
  readonly version: number;
  readonly status: string;
  readonly step: string | undefined;
}

/** A call that has ended, with the versions between which its instance was meanwhile. */
interface Called {
  readonly id: string;
  readonly from: number;
  readonly to: number;
  readonly what: string;
  readonly op?: Op;
  readonly key?: string;
  readonly outcome: Outcome<Answer>;
}

interface Body {
  readonly keys: readonly (readonly [digest: string, version: number, print: string])[];
  readonly events: readonly { readonly type: string }[];
  readonly head: { readonly status: string; readonly step?: string; readonly pending?: { readonly version: number } };
}

/** Routed sessions, and everything that writers were told about them. */
export class RoutedProduct implements Product<RoutedEngine> {
  readonly world: World<RoutedEngine>;
  readonly #calls: Called[] = [];
  readonly #keys = new Set<string>();
  readonly #counts: number[];
  #numbers = 0;

  constructor(world: World<RoutedEngine>) {
    this.world = world;
    this.#counts = Array.from({ length: world.size.sessions }, () => 0);
  }

  create({ storage, clock, of }: Parts): RoutedEngine {
    const decider = simulatedDecider(this.world.schedule, of, this.world.store);
    const limits = { maxActiveSessions: Number.POSITIVE_INFINITY };
    return createRoutedEngine({ storage, clock, workflows, decider, limits });
  }

  async *watch(engine: RoutedEngine) {
    for await (const { sessionId, version } of engine.watch()) yield { sessionId, version };
  }

  async act(writer: Writer<RoutedEngine>): Promise<void> {
    const pick = (count: number) => this.world.pick(writer, count);
    const place = pick(this.#counts.length + 1) - 1;
    if (place < 0) return;
    const count = this.#counts[place] ?? 0;
    const key = `start ${place} ${count}`;
    this.#keys.add(key);
    const started = await writer.ask(key, (engine) => engine.start({ workflow: NAME, idempotencyKey: key }));
    if (started.kind !== "answer") throw new Error(`start was not answered: ${JSON.stringify(started)}`);
    const id = started.value.instanceId;
    const look = await this.#call(writer, id, "status", (engine) => engine.status(id).then(asAnswer));
    if (look.kind !== "answer") return;
    const { status } = look.value;
    if (status === "COMPLETED") {
      if (this.#counts[place] === count) this.#counts[place] = count + 1;
      return;
    }
    const advance: Op = { type: "advance", n: ++this.#numbers };
    const usual: Op = status === "FAILED" ? { type: "retry" } : status === "SUSPENDED" ? { type: "resume" } : advance;
    const op =
      [usual, usual, usual, advance, { type: "suspend" } as const, { type: "retry" } as const][pick(6)] ?? usual;
    const own = `${writer.name} ${++this.#numbers}`;
    this.#keys.add(own);
    await this.#call(writer, id, `${op.type} ${own}`, (engine) => perform(engine, id, op, own), { op, key: own });
  }

  async #call(
    writer: Writer<RoutedEngine>,
    id: string,
    what: string,
    work: (engine: RoutedEngine) => Promise<Answer>,
    asked: { readonly op?: Op; readonly key?: string } = {},
  ): Promise<Outcome<Answer>> {
    const observed = this.world.store.observe(id);
    const outcome = await writer.ask(`${what} of ${id}`, work);
    this.#calls.push({ id, ...observed(), what, outcome, ...asked });
    return outcome;
  }

  async check({ engine }: Life<RoutedEngine>): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const id of this.world.store.versions.keys()) problems.push(...(await this.#checkOne(engine, id)));
    return problems;
  }

  async #checkOne(engine: RoutedEngine, id: string): Promise<readonly string[]> {
    const { store, hosts } = this.world;
    const bodies = (await store.commits(parseSessionId(id))).map(({ body }): Body => JSON.parse(body));
    const problems = hosts.flatMap((host) => watchedBy(host, id, bodies.length));
    const audit = await engine.audit(id);
    if (!audit.intact) problems.push(`the chain of ${id} is broken: ${audit.reason}`);
    problems.push(...decidedTwice(id, bodies));
    const versions = (key: string) => versionsOf(key, bodies);
    for (const key of this.#keys) {
      if (versions(key).length > 1) problems.push(`${key} was carried out ${versions(key).length} times`);
    }
    const own = this.#calls.filter((call) => call.id === id);
    for (const call of own)
      problems.push(...judge(call, bodies).map((problem) => `${problem}: ${JSON.stringify(call)}`));
    if (problems.length > 0) return problems;
    // Every report that is in the log under its key is answered again, as it was answered first.
    for (const { op, key, outcome } of own.slice(-REPEATED)) {
      if (op === undefined || key === undefined || outcome.kind !== "answer" || versions(key).length === 0) continue;
      // The answer of an instance that was suspended before its report was decided is not final.
      const { events = [] } = bodies[outcome.value.version - 1] ?? {};
      if (op.type !== "advance" || !events.some(({ type }) => type === "decided")) continue;
      const said = await perform(engine, id, op, key).catch(codeOf);
      if (JSON.stringify(said) !== JSON.stringify(outcome.value)) {
        problems.push(`${key} was answered ${JSON.stringify(outcome.value)}, and then ${JSON.stringify(said)}`);
      }
    }
    if (store.versions.get(id) !== bodies.length) problems.push(`repeated calls have written commits of ${id}`);
    return problems;
  }
}

/** How many of the last calls are repeated. */
const REPEATED = 4;

async function perform(engine: RoutedEngine, id: string, op: Op, idempotencyKey: string): Promise<Answer> {
  switch (op.type) {
    case "advance":
      return asAnswer(await engine.advance(id, { report: { status: "success", n: op.n }, idempotencyKey }));
    case "resume":
      return asAnswer(await engine.resume(id, { report: { status: "success" }, assumedStep: "Dig", idempotencyKey }));
    case "suspend":
      return asAnswer(await engine.suspend(id, { idempotencyKey }));
    case "retry":
      return asAnswer(await engine.retry(id, { idempotencyKey }));
  }
}

function asAnswer({ version, status, currentStep: step }: Omit<Answer, "step"> & { readonly currentStep?: string }) {
  return { version, status, step };
}

/** Returns what is wrong with the decisions in a log: each must answer the report that is open. */
function decidedTwice(id: string, bodies: readonly Body[]): string[] {
  const problems: string[] = [];
  let isOpen = false;
  for (const [index, { events, head }] of bodies.entries()) {
    for (const { type } of events) {
      if ((type === "decided" || type === "failed") && !isOpen)
        problems.push(`${id}, ${index + 1}: ${type} for nothing`);
      if (type === "reported") isOpen = true;
      if (type === "decided") isOpen = false;
    }
    if (isOpen !== (head.pending !== undefined)) problems.push(`${id}, commit ${index + 1}: a report is lost, or new`);
  }
  return problems;
}

/** Returns what is wrong with what a writer was told. */
function judge({ from, to, op, key, outcome }: Called, bodies: readonly Body[]): string[] {
  if (outcome.kind === "lost") return [];
  const own = key === undefined ? [] : versionsOf(key, bodies);
  if (outcome.kind === "refusal") {
    const code = codeOf(outcome.error);
    // The report is kept: a failed decision is recorded, and its caller told.
    if (code === "DECIDER_FAILED") return [];
    if (code !== "INVALID_TRANSITION" && code !== "CONFLICT") return [`refused with ${code}`];
    return [];
  }
  const { version, status, step } = outcome.value;
  const { head } = bodies[version - 1] ?? {};
  if (head === undefined || version > to) return ["an answer from a commit that is not in the log"];
  if (head.status !== status || head.step !== step) return ["an answer that is not that of its commit"];
  if (op === undefined) return version >= from ? [] : ["an old state was shown"];
  if ((op.type === "suspend" || op.type === "retry") && own.length === 0)
    return ["an acknowledged commit is not in the log"];
  return [];
}

function versionsOf(key: string, bodies: readonly Body[]): number[] {
  const digest = digestOf(key);
  return bodies.flatMap(({ keys }, index) =>
    keys.some(([of, version]) => of === digest && version === index + 1) ? [index + 1] : [],
  );
}

/** A decider that takes its time. Sometimes it fails, or never answers: then the deadline does. */
function simulatedDecider(schedule: Schedule, of: string, { trouble }: SharedStore): StepDecider {
  return {
    decide: ({ allowed }, { signal }) =>
      new Promise<DeciderAnswer>((resolve, reject) => {
        const choice = `decider-of-${of}`;
        schedule.add(of, "decides", () => {
          if (signal.aborted) return;
          if (trouble.left > 0 && schedule.choices.chance(choice, 10)) {
            trouble.left -= 1;
            if (schedule.choices.pick(choice, 2) === 0) reject(new Error("the model is down"));
            return;
          }
          const nextStep = allowed[schedule.choices.pick(choice, allowed.length)] ?? "FINISH";
          resolve({ nextStep, contextUpdates: {} });
        });
      }),
  };
}

/** Loads all that engines load on demand. */
export async function loadRouted(): Promise<void> {
  const decider: StepDecider = { decide: async () => ({ nextStep: "Sow", contextUpdates: {} }) };
  const engine = createRoutedEngine({ storage: new MemoryStorage(), workflows, decider });
  const { instanceId } = await engine.start({ workflow: NAME, idempotencyKey: "start" });
  await engine.advance(instanceId, { report: { status: "success" } });
  await engine.audit(instanceId);
}
