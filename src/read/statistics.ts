/** Figures of all phased sessions, or of those on one workflow. */
import { isPhasegateError } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import type { Statistics, StatisticsCursor, StatisticsRequest } from "../phased/statistics.js";
import { defined } from "../workflow/json.js";
import type { ListedSession, StatisticsView } from "./model.js";
import type { SessionIndex } from "./session-index.js";
import type { InspectorSources } from "./sources.js";
import { standingOf } from "./standing.js";

const LATELY_MS = 7 * 86_400_000;

/** What statistics have read so far, of the sessions of all: the next call reads only what is new. */
export interface StatisticsRead {
  cursor?: StatisticsCursor;
}

export async function statisticsOf(
  { engine }: InspectorSources,
  index: SessionIndex,
  workflowType: string | undefined,
  read: StatisticsRead,
  now: number,
): Promise<StatisticsView> {
  if (engine === undefined) return { workflows: [], unapproved: 0, broken: [], ...figuresOf([], now) };
  const { workflows, unapproved, broken = [] } = await readStatistics(engine, defined({ workflowType }), read);
  await index.read();
  const isCounted = (session: ListedSession) =>
    session.kind === "phased" && (workflowType === undefined || session.workflowType === workflowType);
  return { workflows, unapproved, broken, ...figuresOf(index.sessions.filter(isCounted), now) };
}

/** Reads the statistics of an engine: of the logs what is new since the last call. */
export async function readStatistics(
  engine: Engine,
  only: Pick<StatisticsRequest, "workflowType">,
  read: StatisticsRead,
): Promise<Statistics> {
  const { cursor } = read;
  const found = await engine.statistics(defined({ ...only, cursor })).catch((error: unknown) => {
    // There is another approver since, or the storage has an earlier state again.
    if (cursor === undefined || !isPhasegateError(error) || error.code !== "CURSOR_INVALID") throw error;
    return engine.statistics(only);
  });
  read.cursor = found.cursor;
  return found;
}

/** The figures that need no logs. */
function figuresOf(
  sessions: readonly ListedSession[],
  now: number,
): Omit<StatisticsView, "workflows" | "unapproved" | "broken"> {
  const started = new Map<string, number>();
  const completed = new Map<string, number>();
  const took: number[] = [];
  let completedLately = 0;
  for (const { createdAt, completedAt } of sessions) {
    add(started, createdAt);
    if (completedAt === undefined) continue;
    add(completed, completedAt);
    took.push((Date.parse(completedAt) - Date.parse(createdAt)) / 1000);
    if (Date.parse(completedAt) > now - LATELY_MS) completedLately += 1;
  }
  const days = [...new Set([...started.keys(), ...completed.keys()])].sort();
  return {
    counted: sessions.length,
    days: days.map((day) => ({ day, started: started.get(day) ?? 0, completed: completed.get(day) ?? 0 })),
    completedLately,
    medianSeconds: took.sort((one, other) => one - other)[Math.ceil(took.length / 2) - 1],
    needsYou: sessions.filter((session) => standingOf(session) === "needs_you").length,
  };
}

function add(counts: Map<string, number>, at: string): void {
  const day = at.slice(0, 10);
  counts.set(day, (counts.get(day) ?? 0) + 1);
}
