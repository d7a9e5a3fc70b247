import { Command } from "commander";
import type { ApprovalRequest } from "../engine/approval/awaited.js";
import type { ApprovalResult } from "../engine/approval/decide.js";
import { readPrivateKey } from "../engine/approval/ed25519.js";
import { signApproval } from "../engine/approver.js";
import type { Engine } from "../engine/engine.js";
import { checksOf } from "../gate/checks-of.js";
import { readTrust, type TrustOptions, trustOptions } from "./approval-options.js";
import { approvalLines } from "./approval-report.js";
import { ask, confirm, isInteractive } from "./confirm.js";
import { CommandFailure, EXIT, type ExitCode, type SetExitCode } from "./exit-codes.js";
import { openSessions } from "./open-sessions.js";
import { logLevelOption, notEmpty, stateOption } from "./option-values.js";
import { readSecret } from "./read-secret.js";
import { print, printable, type Terminal } from "./terminal.js";
import { openVerifiers } from "./verifier-options.js";

type Decision = "approve" | "deny";

/** The built-in verifier that looks at what a phase begins with. */
const SEES_BEGINNINGS = "changed_since_phase_start";

interface DecideOptions extends TrustOptions {
  readonly project?: string;
  readonly state: string;
  readonly key: string;
  readonly by?: string;
  readonly note?: string;
  readonly full?: true;
  readonly yes?: true;
  readonly evidenceHash?: string;
}

const HELP = `
Shows what is asked and the evidence that it is about, asks, and signs the answer with your private
key. Without a terminal to ask at it needs --yes together with --evidence-hash: the hash of the evidence
that you have seen elsewhere. The server that goes on with the session must know the same approvers.`;

/** `phasegate approve` and `phasegate deny`. */
export function decideCommand(decision: Decision): (terminal: Terminal, setExitCode: SetExitCode) => Command {
  return (terminal, setExitCode) => {
    const command = new Command(decision)
      .summary(decision === "approve" ? "say yes to what a session waits for" : "say no, and what there is to mend")
      .description(`${decision === "approve" ? "Approves" : "Denies"} what a session waits for, signed with your key.`)
      .argument("<session>", "id of the session, as `phasegate sessions` lists it")
      .addOption(stateOption().makeOptionMandatory())
      .requiredOption("--key <file>", "your private key, from `phasegate keygen`", notEmpty);
    for (const option of trustOptions()) command.addOption(option);
    return command
      .option("--by <name>", "your name among the approvers; found by your key if not given", notEmpty)
      .option(
        "--note <text>",
        decision === "deny" ? "what is to be mended" : "what is to be recorded with it",
        notEmpty,
      )
      .option("--project <dir>", "the server's project folder, for checks of what the next phase begins with", notEmpty)
      .option("--full", "show all of the evidence, however long it is")
      .option("--yes", "don't ask; only together with --evidence-hash")
      .option("--evidence-hash <hash>", "the evidence that is meant; any other is refused", notEmpty)
      .addOption(logLevelOption())
      .addHelpText("after", HELP)
      .action(async (sessionId: string, options: DecideOptions) => {
        setExitCode(await decide(decision, sessionId, options, terminal));
      });
  };
}

async function decide(
  decision: Decision,
  sessionId: string,
  options: DecideOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  checkAskable(options, terminal);
  const trust = await readTrust(options);
  const privateKey = await readSecret(options.key, "the private key");
  const by = options.by ?? nameOf((await readPrivateKey(privateKey)).publicKey, trust.approvers ?? {});
  // A yes enters the next phase: its checks may compare with what is there now.
  const verifiers = await openVerifiers({ ...(options.project === undefined ? {} : { project: options.project }) }, {});
  const engine = await openSessions(options.state, { ...trust, verifiers });
  try {
    const request = await requireWaiting(engine, sessionId, options.evidenceHash);
    for (const line of approvalLines(request, terminal.stdout, { full: options.full === true })) print(terminal, line);
    const note = await noteFor(decision, options, terminal);
    const question = `${decision === "approve" ? "Approve" : "Deny"} this as ${printable(by)}?`;
    if (options.yes !== true && !(await confirm(terminal, question))) {
      print(terminal, "Nothing was decided.");
      return EXIT.problems;
    }
    const noted = note === undefined ? {} : { note };
    const signature = await signApproval(request, { decision, by, ...noted, privateKey });
    const word = { by, ...noted, evidenceHash: request.evidenceHash, signature };
    const answer =
      decision === "approve" ? engine.approve(sessionId, word) : engine.deny(sessionId, { ...word, note: note ?? "" });
    const result = await answer;
    print(terminal, outcome(result));
    for (const line of unrecorded(result, verifiers)) print(terminal, line);
    return EXIT.ok;
  } finally {
    await engine.close();
  }
}

function checkAskable({ yes, evidenceHash }: DecideOptions, terminal: Terminal): void {
  if (yes === true && evidenceHash === undefined) {
    const hint = "Look at the evidence first, and give its hash.";
    throw new CommandFailure("--yes needs --evidence-hash", EXIT.usage, hint);
  }
  if (yes === true || isInteractive(terminal)) return;
  const hint = "Run it at a terminal, or give --yes and --evidence-hash.";
  throw new CommandFailure("there is nobody to ask: this is no terminal", EXIT.usage, hint);
}

function nameOf(publicKey: string, approvers: Readonly<Record<string, string>>): string {
  const name = Object.keys(approvers).find((candidate) => approvers[candidate] === publicKey);
  if (name !== undefined) return name;
  const hint = `Give --approver NAME=${publicKey}, or --approvers FILE, as the server has it.`;
  throw new CommandFailure("this key is none of the approvers' keys", EXIT.usage, hint);
}

async function requireWaiting(engine: Engine, sessionId: string, seen: string | undefined): Promise<ApprovalRequest> {
  const request = await engine.getApproval(sessionId);
  if (request === undefined) {
    const { status, phase } = (await engine.getState(sessionId)).head;
    const message = `session ${sessionId} waits for no approval: it is ${status}, in phase ${phase}`;
    throw new CommandFailure(message, EXIT.problems, "See `phasegate show`.");
  }
  if (seen === undefined || seen === request.evidenceHash) return request;
  const hint = `What waits now has the hash ${request.evidenceHash}: look at it before you decide.`;
  throw new CommandFailure("that is not the evidence that waits", EXIT.problems, hint);
}

async function noteFor(decision: Decision, options: DecideOptions, terminal: Terminal): Promise<string | undefined> {
  if (decision === "approve" || options.note !== undefined) return options.note;
  const note = options.yes === true ? "" : await ask(terminal, "What is to be mended? ");
  if (note !== "") return note;
  throw new CommandFailure("a no needs a note", EXIT.usage, "Say with --note what is to be mended.");
}

/** Which checks of the next phase compare with how it began, and can't: nothing here could look. */
function unrecorded(result: ApprovalResult, verifiers: Readonly<Record<string, unknown>>): string[] {
  const next = result.passed ? result.nextPhase : null;
  if (next === null || Object.hasOwn(verifiers, SEES_BEGINNINGS)) return [];
  if (checksOf(next.gate).every(({ verifier }) => verifier !== SEES_BEGINNINGS)) return [];
  return [
    `Phase ${next.number} is compared with how it began, and without --project nothing has looked at that: its gate`,
    "refuses the first try for this reason, and retry_phase then records how the phase begins.",
  ];
}

function outcome(result: ApprovalResult): string {
  if (!result.passed) {
    const left = result.status === "failed" ? "the session has failed" : `${result.attemptsLeft} attempts left`;
    return `Denied by ${printable(result.by)}: phase ${result.phase} is to be mended, ${left}.`;
  }
  const next = result.nextPhase === null ? "the workflow is complete" : `phase ${result.nextPhase.number} is next`;
  return `Approved by ${printable(result.by)}: phase ${result.phase} has passed, ${next}.`;
}
