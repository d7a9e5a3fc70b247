import { readableText } from "./stored-text.js";

/** What `workflow_history` says of a commit beside its place. */
export interface Report {
  readonly report: string | null;
  /** What happened first, where that can be told. */
  readonly outcome?: string;
}

/** The events of longer bodies are not copied: whoever wants them finds them in the log. A row then stays on its page. */
const COPIED_MAX = 1200;

/**
 * What a body says has happened. It is the one place that looks into one: where it is JSON that has `events`, these are
 * the report.
 */
export function reportOf(body: string, seq: number): Report {
  const type = body.length > COPIED_MAX ? firstType(body) : undefined;
  if (type !== undefined) return { report: longReport(body, seq), outcome: type };
  const events = eventsIn(body);
  if (events === undefined) return { report: null };
  const report = body.length > COPIED_MAX ? longReport(body, seq) : JSON.stringify(events);
  const first: unknown = Array.isArray(events) ? events[0] : undefined;
  if (typeof first !== "object" || first === null || !("type" in first) || typeof first.type !== "string") {
    return { report };
  }
  return { report, outcome: readableText(first.type) };
}

function longReport({ length: characters }: string, seq: number): string {
  return JSON.stringify({ commit: seq, characters });
}

const EVENTS = '"events":[';
const TYPE = '{"type":"';

/**
 * The first event's type as engines write it, without reading all of a long body, which takes longer than all that is
 * written for people; undefined where that can't be told. No text in it looks like this, as its quotes are escaped; and
 * with one brace before it, it is a member of the outermost object.
 */
function firstType(body: string): string | undefined {
  const events = body.indexOf(EVENTS);
  const type = events + EVENTS.length;
  if (body[0] !== "{" || events < 0 || body[events - 1] === "\\" || body.indexOf("{", 1) !== type) return undefined;
  if (!body.startsWith(TYPE, type)) return undefined;
  const from = type + TYPE.length;
  return /^[\w.-]+(?=")/.exec(body.slice(from, from + 100))?.[0];
}

function eventsIn(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && "events" in value ? value.events : undefined;
  } catch {
    return undefined;
  }
}
