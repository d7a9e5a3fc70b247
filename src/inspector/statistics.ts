/** Figures of phased sessions: those of the engine, continued from the last call, and how many began and ended each day. */
import type { Engine } from "../phased/engine.js";
import type { StatisticsCursor } from "../phased/statistics.js";
import type { InspectorSources } from "./sources.js";
import type { StatisticsView } from "./wire.js";

/** The sessions that the plot of days looks at: the newest. */
const PLOTTED = 5000;
const PAGE = 500;

/** What was read so far, by engine: the next call reads only what is new. */
const cursors = new WeakMap<Engine, StatisticsCursor>();

/** Returns the statistics of all phased sessions, or of those on one workflow. */
export async function statisticsOf(
  { engine }: InspectorSources,
  workflowType: string | undefined,
): Promise<StatisticsView> {
  if (engine === undefined) return { workflows: [], unapproved: 0, days: [], plotted: 0 };
  const cursor = cursors.get(engine);
  const only = workflowType === undefined ? {} : { workflowType };
  const found = await engine.statistics({ ...only, ...(cursor === undefined ? {} : { cursor }) });
  cursors.set(engine, found.cursor);
  return { workflows: found.workflows, unapproved: found.unapproved, ...(await daysOf(engine, only)) };
}

async function daysOf(
  engine: Engine,
  only: { readonly workflowType?: string },
): Promise<Pick<StatisticsView, "days" | "plotted">> {
  const started = new Map<string, number>();
  const completed = new Map<string, number>();
  let plotted = 0;
  let cursor: string | undefined;
  do {
    const page = await engine.listSessions({ ...only, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const { createdAt, completedAt } of page.items) {
      add(started, createdAt);
      if (completedAt !== undefined) add(completed, completedAt);
    }
    plotted += page.items.length;
    cursor = page.cursor;
  } while (cursor !== undefined && plotted < PLOTTED);
  const days = [...new Set([...started.keys(), ...completed.keys()])].sort();
  return {
    plotted,
    days: days.map((day) => ({ day, started: started.get(day) ?? 0, completed: completed.get(day) ?? 0 })),
  };
}

function add(counts: Map<string, number>, at: string): void {
  const day = at.slice(0, 10);
  counts.set(day, (counts.get(day) ?? 0) + 1);
}
