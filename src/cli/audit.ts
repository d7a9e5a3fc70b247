import { readFile, writeFile } from "node:fs/promises";
import { Command, Option } from "commander";
import * as z from "zod";
import type { Receipt } from "../log/commit.js";
import type { ApprovedPass, SessionAudit } from "../phased/approval/ledger.js";
import type { RoutedAudit } from "../routed/approvals.js";
import type { RoutedPass } from "../routed/types.js";
import { CommandFailure, EXIT, type ExitCode, type SetExitCode } from "./exit-codes.js";
import { jsonOption, logLevelOption, notEmpty, stateOption } from "./options.js";
import { type OpenedSession, openSession } from "./state.js";
import { print, printable, printJson, styled, type Terminal, timeText } from "./terminal.js";
import { readTrust, type TrustOptions, trustOptions } from "./trust.js";

interface AuditOptions extends TrustOptions {
  readonly state: string;
  readonly receipt?: string;
  readonly writeReceipt?: string;
  readonly json?: true;
}

type Audited = SessionAudit | RoutedAudit;

const HELP = `
Without a receipt, a log whose newest commits were taken away, with the store's note of the newest
(the file "head"), is a shorter log that holds together; and without the key that it is bound with (--hash-key-file), whoever can write the folder can make all hashes
anew. Exit code 1 says that the log was changed, or that an approval in it is none of the approvers'.`;

const receiptSchema = z.object({ sessionId: z.string().optional(), version: z.int().positive(), hash: z.string() });

/** `phasegate audit`. */
export function auditCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("audit")
    .summary("check that a session's log is what was written")
    .description("Checks a session's whole log: its hash chain, its payloads, and the approvals in it.")
    .argument("<session>", "id of the session, as `phasegate sessions` lists it")
    .addOption(stateOption().makeOptionMandatory())
    .addOption(
      new Option("--receipt <file>", "a receipt that was kept elsewhere: finds a cut tail").argParser(notEmpty),
    )
    .addOption(new Option("--write-receipt <file>", "write a receipt, to be kept elsewhere").argParser(notEmpty));
  for (const option of trustOptions()) command.addOption(option);
  return command
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async (sessionId: string, options: AuditOptions) => {
      setExitCode(await audit(sessionId, options, terminal));
    });
}

async function audit(sessionId: string, options: AuditOptions, terminal: Terminal): Promise<ExitCode> {
  const receipt = options.receipt === undefined ? undefined : await readReceipt(options.receipt, sessionId);
  const trust = await readTrust(options);
  const opened = await openSession(options.state, sessionId, trust);
  const report = await audited(opened, sessionId, receipt).finally(() => opened.engine.close());
  const isChecked = Object.keys(trust.approvers ?? {}).length > 0;
  if (options.json) printJson(terminal, { sessionId, ...report });
  else for (const line of auditLines(report, isChecked, terminal)) print(terminal, line);
  if (!report.intact) return EXIT.problems;
  if (options.writeReceipt !== undefined) await writeReceipt(options.writeReceipt, { sessionId, ...report.receipt });
  return isChecked && report.approvals.some(({ distrust }) => distrust !== undefined) ? EXIT.problems : EXIT.ok;
}

/** Phases by their numbers, steps by their names: apart from that an audit is an audit. */
async function audited(opened: OpenedSession, sessionId: string, receipt: Receipt | undefined): Promise<Audited> {
  // One call for each kind: the three differ in what they answer.
  if (opened.kind === "routed") return opened.engine.audit(sessionId, receipt);
  return opened.kind === "recorded" ? opened.engine.audit(sessionId, receipt) : opened.engine.audit(sessionId, receipt);
}

function auditLines(report: Audited, isChecked: boolean, { stdout }: Terminal): string[] {
  if (!report.intact) {
    const { versions, reason } = report;
    return [
      `${styled(stdout, "red", "changed")}: ${printable(reason)}`,
      `  the first ${versions} commits hold together`,
    ];
  }
  const { version, hash } = report.receipt;
  return [
    `${styled(stdout, "green", "intact")}: ${version} commit${version === 1 ? "" : "s"}, the newest is ${hash}`,
    ...report.approvals.map((pass) => `  ${approvalLine(pass, isChecked)}`),
  ];
}

function approvalLine(pass: ApprovedPass | RoutedPass, isChecked: boolean): string {
  const { version, at, by, authenticated, distrust } = pass;
  const where = "step" in pass ? `step ${printable(pass.step)}` : `phase ${pass.phase}`;
  const whose = by === undefined ? "passed without an approval" : `approved by ${printable(by)}`;
  const signed = authenticated ? "signed" : "not signed";
  const word = isChecked
    ? distrust === undefined
      ? "believed"
      : `NOT believed: ${distrust}`
    : "not checked: no approvers given";
  return `${where} ${whose}, ${timeText(at)}, commit ${version}: ${signed}, ${word}`;
}

async function readReceipt(file: string, sessionId: string) {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new CommandFailure(`the receipt can't be read: ${file}`, EXIT.environment, "Check the path.", { cause });
  });
  const parsed = receiptSchema.safeParse(parse(text)).data;
  if (parsed !== undefined && (parsed.sessionId ?? sessionId) === sessionId) return parsed;
  const message = parsed === undefined ? `${file} is no receipt` : `${file} is the receipt of another session`;
  throw new CommandFailure(message, EXIT.usage, "Use a file that `phasegate audit --write-receipt` has written.");
}

async function writeReceipt(file: string, receipt: object): Promise<void> {
  await writeFile(file, `${JSON.stringify(receipt)}\n`).catch((cause: unknown) => {
    throw new CommandFailure(`the receipt can't be written: ${file}`, EXIT.environment, "Check the path.", { cause });
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
