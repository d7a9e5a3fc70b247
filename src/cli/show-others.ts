import type { Writable } from "node:stream";
import type { RoutedEntry } from "../routed/state/history.js";
import type { RoutedView, UnapprovedStep } from "../routed/types.js";
import type { RecordedEntry } from "../workspace/session/recorder.js";
import { resultLines } from "./session-lines.js";
import type { RecordedReport } from "./state.js";
import { printable, styled, timeText } from "./terminal.js";

/** An instance of a routed workflow as `show --json` prints it. */
interface RoutedReport extends Omit<RoutedView, "instanceId" | "awaiting" | "allowed"> {
  readonly sessionId: string;
  readonly kind: "routed";
  /** Who is waited for, at a gate that asks a person. */
  readonly awaiting?: {
    readonly prompt: string;
    readonly approvers?: readonly string[];
    readonly evidenceHash: string;
  };
  readonly history: readonly RoutedEntry[];
}

const STYLES = { RUNNING: "cyan", SUSPENDED: "yellow", COMPLETED: "green", FAILED: "red" } as const;

/** Brings an instance's state and its history together. */
export function routedReport(view: RoutedView, history: readonly RoutedEntry[]): RoutedReport {
  const { instanceId, awaiting, allowed: _, ...rest } = view;
  const { prompt, approvers, evidenceHash } = awaiting ?? {};
  const waits = { ...(approvers === undefined ? {} : { approvers }) };
  return {
    sessionId: instanceId,
    kind: "routed",
    ...rest,
    ...(prompt === undefined || evidenceHash === undefined ? {} : { awaiting: { prompt, ...waits, evidenceHash } }),
    history,
  };
}

/** An instance as lines for a terminal: what it is, then what has happened, oldest first. */
export function routedLines(report: RoutedReport, stream: Writable): string[] {
  return [...headLines(report, stream), "", ...report.history.flatMap((entry) => entryLines(entry, stream))];
}

function headLines(report: RoutedReport, stream: Writable): string[] {
  const { sessionId, workflow, revision, status, currentStep, reason, pending, awaiting, unapproved } = report;
  const at = status === "COMPLETED" || currentStep === undefined ? "" : `, at ${printable(currentStep)}`;
  const whom = awaiting?.approvers?.map((name) => printable(name)).join(" or ") ?? "an approver";
  const fields: readonly (readonly [string, string])[] = [
    ["workflow", `${printable(workflow)} (routed, revision ${printable(revision)})`],
    ["status", styled(stream, STYLES[status], status) + at],
    ["created", timeText(report.createdAt)],
    ["updated", timeText(report.updatedAt)],
    ...(reason === undefined ? [] : [["reason", printable(reason)] as const]),
    ...(unapproved === undefined ? [] : [["approval", unapprovedText(unapproved)] as const]),
    ...(pending === undefined ? [] : [["pending", "a report that is not decided yet"] as const]),
    ...(awaiting === undefined ? [] : [["waits", `for ${whom}: ${printable(awaiting.prompt)}`] as const]),
    ...(awaiting === undefined ? [] : [["evidence", awaiting.evidenceHash] as const]),
  ];
  return [styled(stream, "bold", sessionId), ...fields.map(([key, value]) => `  ${key.padEnd(9)} ${value}`)];
}

function unapprovedText({ step, by, distrust }: UnapprovedStep): string {
  const whose = by === undefined ? "without any approval" : `on an approval by ${printable(by)}`;
  return `${printable(step)} was passed ${whose} that is not believed (${distrust})`;
}

function entryLines(entry: RoutedEntry, stream: Writable): string[] {
  const { timestamp, stepName, assumedStep, outcomeStatus, determinedNextStep, decision, problems = [] } = entry;
  const step = stepName === "" ? "the start" : printable(stepName);
  const assumed = assumedStep === undefined ? "" : `, thought to be at ${printable(assumedStep)}`;
  const next = determinedNextStep === undefined ? "" : ` → ${printable(determinedNextStep)}`;
  const model = decision?.usage?.model === undefined ? "" : `, ${printable(decision.usage.model)}`;
  const took = decision === undefined ? "" : `  (${decision.milliseconds} ms${model})`;
  const found = (entry.verification ?? []).flatMap((result) => resultLines(result, stream));
  return [
    `${timeText(timestamp)}  ${step}: ${printable(outcomeStatus)}${assumed}${next}${took}`,
    ...(decision?.reasoning === undefined ? [] : [`    ${printable(decision.reasoning)}`]),
    ...problems.map(({ message }) => `    · ${printable(message)}`),
    ...found.map((text) => `    ${text}`),
    ...(entry.reason === undefined ? [] : [`    ${printable(entry.reason)}`]),
  ];
}

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
