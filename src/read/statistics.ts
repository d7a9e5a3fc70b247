/** Figures of all phased sessions, or of those on one workflow. */
import { isPhasegateError } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import type { StatisticsCursor } from "../phased/statistics.js";
import { defined } from "../workflow/json.js";
import type { StatisticsView } from "./model.js";
import type { InspectorSources } from "./sources.js";

const PLOTTED = 5000;
const PLOTTED_PAGE = 500;

/** What statistics have read so far, of the sessions of all: the next call reads only what is new. */
export interface StatisticsRead {
  cursor?: StatisticsCursor;
}

export async function statisticsOf(
  { engine }: InspectorSources,
  workflowType: string | undefined,
  read: StatisticsRead,
): Promise<StatisticsView> {
  if (engine === undefined) return { workflows: [], unapproved: 0, broken: [], days: [], plotted: 0 };
  const only = defined({ workflowType });
  const { cursor } = read;
  const found = await engine.statistics(defined({ ...only, cursor })).catch((error: unknown) => {
    // There is another approver since, or the storage has an earlier state again.
    if (cursor === undefined || !isPhasegateError(error) || error.code !== "CURSOR_INVALID") throw error;
    return engine.statistics(only);
  });
  read.cursor = found.cursor;
  const { workflows, unapproved, broken = [] } = found;
  return { workflows, unapproved, broken, ...(await daysOf(engine, only)) };
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
    const page = await engine.listSessions(defined({ ...only, limit: PLOTTED_PAGE, cursor }));
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
