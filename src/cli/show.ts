import type { Writable } from "node:stream";
import { Command } from "commander";
import type { RoutedEntry } from "../routed/state/history.js";
import type { RoutedView, UnapprovedStep } from "../routed/types.js";
import type { RecordedEntry } from "../workspace/session/recorder.js";
import { EXIT, type SetExitCode } from "./exit-codes.js";
import { jsonOption, logLevelOption, stateOption } from "./options.js";
import { resultLines, sessionReport, sessionTree } from "./session-lines.js";
import { type OpenedSession, openSession, type RecordedReport } from "./state.js";
import { print, printable, printJson, styled, type Terminal, timeText } from "./terminal.js";
import { readTrust, type TrustOptions, trustOptions } from "./trust.js";

interface ShowOptions extends TrustOptions {
  readonly state: string;
  readonly json?: true;
}

const HELP = `
Where the approvers are given, what comes after an approval by anybody else is not shown: the session is
shown as it was before, with exit code 1. Without approvers, the log is shown as it is.`;

/** `phasegate show`. */
export function showCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("show")
    .summary("show one session: its phases or steps, attempts and problems")
    .description("Shows one session: its phases as a tree, or its steps as they were gone, with times and problems.")
    .argument("<session>", "id of the session, as `phasegate sessions` lists it")
    .addOption(stateOption().makeOptionMandatory());
  for (const option of trustOptions()) command.addOption(option);
  return command
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async (sessionId: string, { state, json, ...trust }: ShowOptions) => {
      const opened = await openSession(state, sessionId, await readTrust(trust));
      try {
        const { report, lines } = await shown(opened, sessionId, terminal);
        if (json) printJson(terminal, report);
        else for (const line of lines) print(terminal, line);
        setExitCode("unapproved" in report ? EXIT.problems : EXIT.ok);
      } finally {
        await opened.engine.close();
      }
    });
}

async function shown(opened: OpenedSession, sessionId: string, { stdout }: Terminal) {
  if (opened.kind === "routed") {
    const { engine } = opened;
    const [view, history] = await Promise.all([engine.status(sessionId), engine.history(sessionId)]);
    const report = routedReport(view, history);
    return { report, lines: routedLines(report, stdout) };
  }
  if (opened.kind === "recorded") {
    const report = await opened.engine.report(sessionId);
    return { report, lines: recordedLines(report) };
  }
  const { engine } = opened;
  const [view, history] = await Promise.all([engine.getState(sessionId), engine.history(sessionId)]);
  const report = sessionReport(view, history);
  return { report, lines: sessionTree(report, stdout) };
}

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
function routedReport(view: RoutedView, history: readonly RoutedEntry[]): RoutedReport {
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
function routedLines(report: RoutedReport, stream: Writable): string[] {
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
function recordedLines({ sessionId, status, workflow, entries }: RecordedReport): string[] {
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
