import type { RecordedEntry } from "../workspace/session/recorded-entries.js";
import type { RecordedReport } from "./recorded-reader.js";
import { printable } from "./terminal.js";
import { timeText } from "./time-text.js";

/** A recorded session as lines for a terminal: what it is, then an act a line. */
export function recordedLines({ sessionId, status, workflow, entries }: RecordedReport): string[] {
  const title = [sessionId, status, workflow].filter((word) => word !== undefined).join("  ");
  return [printable(title), ...entries.map(entryLine)];
}

function entryLine(entry: RecordedEntry): string {
  return `  ${timeText(entry.at)}  ${entry.type} ${printable(aboutOf(entry))}`.trimEnd();
}

function aboutOf(entry: RecordedEntry): string {
  switch (entry.type) {
    case "read":
    case "listed":
      return entry.path;
    case "saved":
      return `${entry.path} (${entry.bytes} bytes${entry.replaced ? ", replaced" : ""})`;
    case "preloaded":
      return `${entry.workflow} (${entry.files.length} files)`;
    case "step":
      return entry.step;
    case "opened":
      return entry.workflow ?? "";
    case "completed":
      return entry.summary ?? entry.status;
    case "reopened":
      return "";
  }
}
