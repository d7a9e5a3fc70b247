import type { Writable } from "node:stream";
import type { SessionSize, SessionStatus, SessionSummary } from "../ports/storage-adapter.js";
import { counted, sizeText } from "./counted.js";
import { printable, styled } from "./terminal.js";
import { timeText } from "./time-text.js";

/** A session with what it takes, where that was asked for and is known. */
export interface SizedSession extends SessionSummary {
  readonly size?: SessionSize;
}

const HEADINGS = ["SESSION", "STATUS", "PHASE", "UPDATED", "WORKFLOW", "TARGET"] as const;
const SIZE_HEADINGS = ["COMMITS", "SIZE"] as const;
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
export function sessionTable(
  sessions: readonly SizedSession[],
  stream: Writable,
  { sizes = false }: { readonly sizes?: boolean } = {},
): string[] {
  const summary = counted(sessions.length, "session");
  if (sessions.length === 0) return [summary];
  const known = sizes && sessions.some(({ size }) => size !== undefined);
  const headings = known ? [...HEADINGS, ...SIZE_HEADINGS] : HEADINGS;
  const rows = sessions.map((session) => [...cells(session), ...(known ? sizeCells(session) : [])]);
  const widths = headings.map((heading, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), heading.length),
  );
  const padded = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  const lines = rows.map((row, index) => {
    const style = STATUS_STYLES[sessions[index]?.status ?? "active"];
    return joined(padded(row).map((cell, column) => (column === STATUS_COLUMN ? styled(stream, style, cell) : cell)));
  });
  const last = sizes
    ? `${summary}, ${known ? total(sessions) : "sizes unknown: this kind of state can't tell"}`
    : summary;
  return [styled(stream, "bold", joined(padded(headings))), ...lines, "", last];
}

function sizeCells({ size }: SizedSession): string[] {
  return size === undefined ? ["", ""] : [`${size.commits}`, sizeText(size.bytes)];
}

function total(sessions: readonly SizedSession[]): string {
  const sum = (of: (size: SessionSize) => number) =>
    sessions.reduce((all, { size }) => all + (size === undefined ? 0 : of(size)), 0);
  return `${counted(
    sum(({ commits }) => commits),
    "commit",
  )}, ${sizeText(sum(({ bytes }) => bytes))}`;
}

function joined(cells: readonly string[]): string {
  return cells.join("  ").trimEnd();
}

function cells({ sessionId, status, current, total, updatedAt, workflowType, target }: SessionSummary): string[] {
  const phase = total === undefined ? `${current}` : `${current} (${total} in all)`;
  return [sessionId, status, phase, timeText(updatedAt), workflowType, target].map((cell) => printable(cell));
}
