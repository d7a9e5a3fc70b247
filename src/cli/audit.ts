/** `phasegate audit`: checks a session's whole log, also against a receipt that was kept elsewhere. */
import { writeFile } from "node:fs/promises";
import * as z from "zod";
import type { CounterWarning } from "../approval/guard.js";
import { waivedText } from "../gate/waivers.js";
import type { AcceptedInMigration, ApprovedPass, AuditedChild } from "../phased/approval/ledger.js";
import type { Findings } from "../read/model.js";
import type { RoutedPass } from "../routed/types.js";
import { command, required, text } from "./command.js";
import { CommandFailure, EXIT, usage } from "./exit-codes.js";
import { type OpenedSession, openSession } from "./opened.js";
import { jsonOption, readJsonFile, sessionArgument, stateOption } from "./options.js";
import { counted, printable, printJson, printLines, styled, type Terminal, timeText } from "./terminal.js";
import { readTrust, trustOptions } from "./trust.js";

const HELP = `
Two changes are found only with more options. If the newest commits were removed together with the store's record of
the newest one (the file "head", up to a second old when a process is killed), the rest is a valid shorter log: --receipt
finds that. Anybody who can write the state can change a log and compute its hashes again, unless the hashes need a key:
see --hash-key-file. If a phase is a workflow of its own, the logs of its sessions are checked, too, against what this log
has of them. The exit code is 1 if a log was changed, or if an approval in it is not by one of the approvers.`;

const receiptSchema = z.object({ sessionId: z.string().optional(), version: z.int().positive(), hash: z.string() });

export const auditCommand = command({
  name: "audit",
  description: "Checks a session's whole log: its hash chain, its payloads, and the approvals in it.",
  arguments: [sessionArgument()],
  options: {
    state: required(stateOption()),
    receipt: text("--receipt <file>", "a receipt that was kept elsewhere; finds removed commits"),
    writeReceipt: text("--write-receipt <file>", "write a receipt; keep it elsewhere"),
    ...trustOptions(),
    json: jsonOption(),
  },
  help: HELP,
  async run(options, terminal, given) {
    const trust = await readTrust(options);
    const opened = await openSession(options.state, given, trust);
    const { sessionId } = opened;
    const report = await auditOf(opened, options.receipt).finally(() => opened.engine.close());
    const isChecked = Object.keys(trust.approvers).length > 0;
    if (options.json) printJson(terminal, { sessionId, ...report });
    else printLines(terminal, auditLines(report, isChecked, terminal));
    const children = "children" in report ? (report.children ?? []) : [];
    if (!report.intact || children.some(({ intact }) => intact === false)) return EXIT.problems;
    const { writeReceipt: file } = options;
    if (file !== undefined) {
      await writeFile(file, `${JSON.stringify({ sessionId, ...report.receipt })}\n`).catch((cause: unknown) => {
        throw new CommandFailure(`the receipt can't be written: ${file}`, EXIT.environment, "Check the path.", {
          cause,
        });
      });
    }
    return isChecked && report.approvals.some(({ distrust }) => distrust !== undefined) ? EXIT.problems : EXIT.ok;
  },
});

async function auditOf({ engine, sessionId }: OpenedSession, receiptFile: string | undefined): Promise<Findings> {
  const receipt = receiptFile === undefined ? undefined : await readReceipt(receiptFile, sessionId);
  return "session" in engine ? engine.session(sessionId).audit(receipt) : engine.audit(sessionId, receipt);
}

function auditLines(report: Findings, isChecked: boolean, { stdout }: Terminal): string[] {
  if (!report.intact) {
    const { versions, reason } = report;
    return [`${styled(stdout, "red", "changed")}: ${printable(reason)}`, `  the first ${versions} commits are intact`];
  }
  const { version, hash } = report.receipt;
  return [
    `${styled(stdout, "green", "intact")}: ${counted(version, "commit")}, the newest is ${hash}`,
    ...report.approvals.map((pass) => `  ${approvalLine(pass, isChecked)}`),
    ...("accepted" in report ? (report.accepted ?? []) : []).map((one) => `  ${acceptedLine(one)}`),
    ...("children" in report ? (report.children ?? []) : []).map((one) => `  ${childLine(one, stdout)}`),
    ...report.warnings.map((warning) => `${styled(stdout, "yellow", "warning")}: ${warningText(warning)}`),
  ];
}

function approvalLine(pass: ApprovedPass | RoutedPass, isChecked: boolean): string {
  const { version, at, by, authenticated, distrust, key } = pass;
  const where = "step" in pass ? `step ${printable(pass.step)}` : `phase ${pass.phase}`;
  const waived = "waived" in pass ? (pass.waived ?? []).map((one) => printable(waivedText(one))) : [];
  const isWaiver = "on" in pass && pass.on === "waiver";
  const approved = by === undefined ? "passed without an approval" : `approved by ${printable(by)}`;
  const whose = [...(isWaiver ? [] : [approved]), ...waived].join("; ");
  const signed = authenticated ? (key?.kind === "passkey" ? "signed with a passkey" : "signed") : "not signed";
  const trust = isChecked
    ? distrust === undefined
      ? "accepted"
      : `NOT accepted: ${distrust}`
    : "not checked: no approvers given";
  return `${where} ${whose}, ${timeText(at)}, commit ${version}: ${signed}, ${trust}`;
}

function acceptedLine({ name, is, reason, by, revision, at, version }: AcceptedInMigration): string {
  const what = `${name} is ${is}: accepted by ${by} for revision ${revision}: ${reason}`;
  return `${printable(what)}, ${timeText(at)}, commit ${version}`;
}

function childLine(
  { phase, sessionId, version, intact, reason, gone }: AuditedChild,
  stream: Terminal["stdout"],
): string {
  const is = gone
    ? styled(stream, "yellow", "gone: deleted, or not in this state")
    : intact
      ? styled(stream, "green", "intact")
      : styled(stream, "red", "changed");
  return `phase ${phase} passed with session ${sessionId}, commit ${version}: ${is}${reason === undefined ? "" : `: ${printable(reason)}`}`;
}

function warningText({ by, key, version, counter, before }: CounterWarning): string {
  const [now, then] = [`${counter} in commit ${version}`, `${before.counter} in commit ${before.version}`];
  return `the counter of a passkey of ${printable(by)} (${key}) did not go up: ${now}, ${then}. It may have been copied: ask ${printable(by)} about both approvals.`;
}

async function readReceipt(file: string, sessionId: string) {
  const parsed = receiptSchema.safeParse(await readJsonFile(file, "the receipt")).data;
  if (parsed !== undefined && (parsed.sessionId ?? sessionId) === sessionId) return parsed;
  const message = parsed === undefined ? `${file} is not a receipt` : `${file} is the receipt of another session`;
  throw usage(message, "Use a file that `phasegate audit --write-receipt` has written.");
}
