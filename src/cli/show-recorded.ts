import { parseSessionId } from "../definition/names.js";
import { Kernel } from "../kernel/kernel.js";
import { type RecordedEntry, recordedEntries } from "../workspace/session/recorded-entries.js";
import type { RecordedEvent } from "../workspace/session/recorded-events.js";
import type { RecordedCommand, RecordedHead } from "../workspace/session/recorded-machine.js";
import { recordedMachine } from "../workspace/session/recorded-machine.js";
import { openState } from "./open-state.js";
import { print, printable, type Terminal } from "./terminal.js";
import { timeText } from "./time-text.js";

/** What was done in a recorded session; undefined for sessions of other kinds, and where there is none. */
export async function readRecorded(state: string, sessionId: string, hashKey: Uint8Array | undefined) {
  const storage = await openState(state);
  try {
    const id = parseSessionId(sessionId);
    if ((await storage.read(id))?.summary.kind !== recordedMachine.kind) return undefined;
    const clock = { now: () => Date.now() };
    const kernel = new Kernel<RecordedCommand, RecordedEvent, RecordedHead>({
      storage,
      machine: recordedMachine,
      clock,
      ...(hashKey === undefined ? {} : { hashKey }),
    });
    const entries: RecordedEntry[] = [];
    let head: RecordedHead | undefined;
    for await (const commit of kernel.log(id)) {
      entries.push(...recordedEntries(commit));
      head = commit.head;
    }
    return { sessionId, ...head, entries };
  } finally {
    await storage.close?.();
  }
}

/** Prints it, an act a line. */
export function printRecorded(
  terminal: Terminal,
  { sessionId, status, workflow, entries }: NonNullable<Awaited<ReturnType<typeof readRecorded>>>,
): void {
  print(terminal, printable(`${sessionId}  ${status}${workflow === undefined ? "" : `  ${workflow}`}`));
  for (const entry of entries)
    print(terminal, `  ${timeText(entry.at)}  ${entry.type} ${printable(aboutOf(entry))}`.trimEnd());
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
