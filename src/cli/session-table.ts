import type { Writable } from "node:stream";
import type { SessionStatus, SessionSummary } from "../ports/storage-adapter.js";
import { printable, styled } from "./terminal.js";
import { timeText } from "./time-text.js";

const HEADINGS = ["SESSION", "STATUS", "PHASE", "UPDATED", "WORKFLOW", "TARGET"] as const;
const STATUS_COLUMN = HEADINGS.indexOf("STATUS");

/** Colours of statuses, where there are colours. */
export const STATUS_STYLES = {
  active: "cyan",
  paused: "yellow",
  completed: "green",
  failed: "red",
  deleted: "gray",
} as const satisfies Record<SessionStatus, string>;

/** Sessions as lines of a table, under their headings; what was counted comes last. */
export function sessionTable(sessions: readonly SessionSummary[], stream: Writable): string[] {
  const summary = sessions.length === 1 ? "1 session" : `${sessions.length} sessions`;
  if (sessions.length === 0) return [summary];
  const rows = sessions.map(cells);
  const widths = HEADINGS.map((heading, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), heading.length),
  );
  const padded = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  const lines = rows.map((row, index) => {
    const style = STATUS_STYLES[sessions[index]?.status ?? "active"];
    return joined(padded(row).map((cell, column) => (column === STATUS_COLUMN ? styled(stream, style, cell) : cell)));
  });
  return [styled(stream, "bold", joined(padded(HEADINGS))), ...lines, "", summary];
}

function joined(cells: readonly string[]): string {
  return cells.join("  ").trimEnd();
}

function cells({ sessionId, status, current, total, updatedAt, workflowType, target }: SessionSummary): string[] {
  const phase = total === undefined ? `${current}` : `${current} (${total} in all)`;
  return [sessionId, status, phase, timeText(updatedAt), workflowType, target].map((cell) => printable(cell));
}
