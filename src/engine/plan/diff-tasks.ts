/** What is different between the tasks that a session has pinned and its plan as it is now. Pure. */
import type { PhaseDefinition, PlannedTask, TaskDefinition } from "../../definition/structure.js";
import type { PlanPhase, PlanTask } from "../../plan/plan.js";
import type { PhaseMatches } from "./match-phases.js";
import { matchTasks } from "./match-tasks.js";
import { countOf, type EitherPhase, type Say, type SayOf } from "./plan-difference.js";

/** A task that is on both sides. */
interface Kept {
  readonly was: { readonly phase: PhaseDefinition; readonly name: string; readonly plan: PlannedTask };
  readonly now: PlanTask;
  /** The phase that it is in now, as it was pinned where the session has it. */
  readonly home: EitherPhase;
  /** Whether another id only follows the number of its phase. */
  readonly renumbered: boolean;
}

/** Compares tasks by what they are now, whatever their ids. */
export function diffTasks(
  pinned: readonly PhaseDefinition[],
  live: readonly PlanPhase[],
  matches: PhaseMatches,
  say: SayOf,
): void {
  const pinnedOf = new Map([...matches].map(([phase, now]) => [now, phase]));
  const tasks = matchTasks(pinned, live, matches);
  const before = new Map<PlanTask, Kept["was"]>();
  const ids = new Map<string, string>();
  for (const [task, phase] of placed(pinned)) {
    const { name, plan } = task;
    if (plan === undefined) continue;
    const now = tasks.get(task);
    if (now === undefined) say("removed", phase, { id: plan.id, name });
    else {
      before.set(now, { phase, name, plan });
      ids.set(plan.id, now.id);
    }
  }
  const kept: Kept[] = [];
  for (const phase of live) {
    const home = pinnedOf.get(phase) ?? phase;
    for (const now of phase.tasks) {
      const was = before.get(now);
      if (was === undefined) say("added", home, { id: now.id, name: now.name });
      else kept.push({ was, now, home, renumbered: was.phase.plan?.number !== phase.number });
    }
  }
  for (const one of kept) {
    compareTask(one, ids, (kind, change) => say(kind, one.home, { id: one.now.id, ...change }, one.was.phase));
  }
  for (const { now, home, from, to } of reordered(kept, [...before.keys()])) {
    say("moved", home, { id: now.id, name: now.name, from: `place ${from}`, to: `place ${to}` });
  }
}

function placed(phases: readonly PhaseDefinition[]): (readonly [TaskDefinition, PhaseDefinition])[] {
  return phases.flatMap((phase) => phase.tasks.map((task) => [task, phase] as const));
}

function compareTask({ was, now, home, renumbered }: Kept, ids: ReadonlyMap<string, string>, say: Say): void {
  const { name } = now;
  const hasMoved = was.phase !== home;
  if (was.name !== name) say("renamed", { name, from: was.name, to: name });
  if (hasMoved) say("moved", { name, from: `phase ${was.phase.number}`, to: "here" });
  else if (was.plan.id !== now.id && !renumbered)
    say("other", { name, from: `task ${was.plan.id}`, to: `task ${now.id}` });
  const listed = (needed: readonly string[]) => needed.join(", ") || "none";
  // What it needed goes by another id now, which is no other dependency.
  const needed = was.plan.dependencies.map((id) => ids.get(id) ?? id);
  if (listed(needed) !== listed(now.dependencies)) {
    say("dependencies", { name, from: listed(was.plan.dependencies), to: listed(now.dependencies) });
  }
  const [asked, asks] = [was.plan.acceptanceCriteria, now.acceptanceCriteria.map(({ text }) => text)];
  if (asked.join("\n") !== asks.join("\n")) say("criteria", { name, ...countOf(asked, asks) });
  const facts = ({ description, estimatedTime, requirements = [], optional, parallel }: PlannedTask | PlanTask) =>
    JSON.stringify([description, estimatedTime, requirements, optional, parallel]);
  if (facts(was.plan) !== facts(now)) say("other", { name });
}

/** Tasks that stayed in their phase, and in another order among those that did. `order` is the one of before. */
function reordered(kept: readonly Kept[], order: readonly PlanTask[]) {
  const stayed = kept.filter(({ was, home }) => was.phase === home);
  const homes = new Map(stayed.map((one) => [one.now, one]));
  const places = (tasks: readonly PlanTask[]) => {
    const counts = new Map<EitherPhase, number>();
    return new Map(
      tasks.flatMap((task) => {
        const home = homes.get(task)?.home;
        if (home === undefined) return [];
        const place = (counts.get(home) ?? 0) + 1;
        counts.set(home, place);
        return [[task, place] as const];
      }),
    );
  };
  const [from, to] = [places(order), places(stayed.map(({ now }) => now))];
  return stayed.flatMap((one) => {
    const [was, now] = [from.get(one.now), to.get(one.now)];
    return was === undefined || now === undefined || was === now ? [] : [{ ...one, from: was, to: now }];
  });
}
