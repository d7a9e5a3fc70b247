import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { Command } from "commander";
import { readPrivateKey } from "../approval/keys.js";
import type { ApprovalSignature } from "../approval/message.js";
import { createApproverKeys, signApproval } from "../approval/sign.js";
import { checksOf } from "../gate/check-gate.js";
import type { ApprovalResult } from "../phased/approval/requests.js";
import type { Engine } from "../phased/engine.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedView } from "../routed/types.js";
import { CommandFailure, EXIT, type ExitCode, type SetExitCode } from "./exit-codes.js";
import { logLevelOption, notEmpty, readSecret, stateOption } from "./options.js";
import { approvalLines, type ShownRequest } from "./session-lines.js";
import { type OpenedSession, openSession } from "./state.js";
import { ask, confirm, isInteractive, print, printable, type Terminal } from "./terminal.js";
import { openVerifiers, readTrust, type TrustOptions, trustOptions } from "./trust.js";

type Decision = "approve" | "deny";

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

const APPROVE_HELP = `
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
      .addHelpText("after", APPROVE_HELP)
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
  requireHash(options);
  const trust = await readTrust(options);
  const privateKey = await readSecret(options.key, "the private key");
  const by = options.by ?? nameOf((await readPrivateKey(privateKey)).publicKey, trust.approvers ?? {});
  // A yes enters the next phase: its checks may compare with what is there now.
  const verifiers = await openVerifiers({ ...(options.project === undefined ? {} : { project: options.project }) }, {});
  const opened = await openSession(options.state, sessionId, { ...trust, verifiers });
  try {
    const { request, answer } = await waitingSession(opened, sessionId, verifiers);
    requireSeen(request, options.evidenceHash);
    requireSomebody(options, terminal);
    for (const line of approvalLines(request, terminal.stdout, { full: options.full === true })) print(terminal, line);
    const note = await noteFor(decision, options, terminal);
    const question = `${decision === "approve" ? "Approve" : "Deny"} this as ${printable(by)}?`;
    if (options.yes !== true && !(await confirm(terminal, question))) {
      print(terminal, "Nothing was decided.");
      return EXIT.problems;
    }
    const noted = note === undefined ? {} : { note };
    const signature = await signApproval(request, { decision, by, ...noted, privateKey });
    const word = { decision, by, ...noted, evidenceHash: request.evidenceHash, signature };
    for (const line of await answer(word)) print(terminal, line);
    return EXIT.ok;
  } finally {
    await opened.engine.close();
  }
}

function requireHash({ yes, evidenceHash }: DecideOptions): void {
  if (yes !== true || evidenceHash !== undefined) return;
  const hint = "Look at the evidence first, and give its hash, as `phasegate show` prints it.";
  throw new CommandFailure("--yes needs --evidence-hash", EXIT.usage, hint);
}

/** Asked last: whoever names a session that isn't there, or waits for nobody, is told that, terminal or not. */
function requireSomebody({ yes }: DecideOptions, terminal: Terminal): void {
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

/** The right hash is not said here: who was given another one has not seen the evidence that waits. */
function requireSeen({ sessionId, evidenceHash }: ShownRequest, seen: string | undefined): void {
  if (seen === undefined || seen === evidenceHash) return;
  const hint = `See what waits now, and its hash: phasegate show ${sessionId}`;
  throw new CommandFailure("that is not the evidence that waits", EXIT.problems, hint);
}

async function noteFor(decision: Decision, options: DecideOptions, terminal: Terminal): Promise<string | undefined> {
  if (decision === "approve" || options.note !== undefined) return options.note;
  const note = options.yes === true ? "" : await ask(terminal, "What is to be mended? ");
  if (note !== "") return note;
  throw new CommandFailure("a no needs a note", EXIT.usage, "Say with --note what is to be mended.");
}

/** What a person says, signed. */
interface SignedWord {
  readonly decision: "approve" | "deny";
  readonly by: string;
  readonly note?: string;
  readonly evidenceHash: string;
  readonly signature: ApprovalSignature;
}

/** A session that waits for a person. */
interface WaitingSession {
  readonly request: ShownRequest;
  /** Hands the word in; gives what came of it, as lines for a terminal. */
  answer(word: SignedWord): Promise<readonly string[]>;
}

/** The built-in verifier that looks at what a phase begins with. */
const SEES_BEGINNINGS = "changed_since_phase_start";

/** What a session waits for; a failure where it waits for nobody. `verifiers` are those that can look at the next phase. */
async function waitingSession(
  opened: OpenedSession,
  sessionId: string,
  verifiers: Readonly<Record<string, unknown>>,
): Promise<WaitingSession> {
  if (opened.kind === "recorded") throw waitsForNobody(sessionId, "a recorded session, which has no gates");
  return opened.kind === "routed"
    ? waitingInstance(opened.engine, sessionId)
    : waitingPhase(opened.engine, sessionId, verifiers);
}

async function waitingPhase(
  engine: Engine,
  sessionId: string,
  verifiers: Readonly<Record<string, unknown>>,
): Promise<WaitingSession> {
  const request = await engine.getApproval(sessionId);
  if (request === undefined) {
    const { status, phase } = (await engine.getState(sessionId)).head;
    throw waitsForNobody(sessionId, `${status}, in phase ${phase}`);
  }
  return {
    request,
    answer: async ({ decision, note, ...word }) => {
      const noted = note === undefined ? {} : { note };
      const result =
        decision === "approve"
          ? await engine.approve(sessionId, { ...word, ...noted })
          : await engine.deny(sessionId, { ...word, note: note ?? "" });
      return [phaseOutcome(result), ...unrecorded(result, verifiers)];
    },
  };
}

async function waitingInstance(engine: RoutedEngine, sessionId: string): Promise<WaitingSession> {
  const { awaiting, status, currentStep = "the start" } = await engine.status(sessionId);
  if (awaiting === undefined) throw waitsForNobody(sessionId, `${status}, at ${currentStep}`);
  return {
    request: awaiting,
    answer: async ({ decision, note, ...word }) => {
      const noted = note === undefined ? {} : { note };
      const view =
        decision === "approve"
          ? await engine.approve(sessionId, { ...word, ...noted })
          : await engine.deny(sessionId, { ...word, note: note ?? "" });
      return [stepOutcome(decision, word.by, awaiting.step, view)];
    },
  };
}

function waitsForNobody(sessionId: string, where: string): CommandFailure {
  const message = `session ${sessionId} waits for no approval: it is ${printable(where)}`;
  return new CommandFailure(message, EXIT.problems, "See `phasegate show`.");
}

function phaseOutcome(result: ApprovalResult): string {
  if (!result.passed) {
    const left = result.status === "failed" ? "the session has failed" : `${result.attemptsLeft} attempts left`;
    return `Denied by ${printable(result.by)}: phase ${result.phase} is to be mended, ${left}.`;
  }
  const next = result.nextPhase === null ? "the workflow is complete" : `phase ${result.nextPhase.number} is next`;
  return `Approved by ${printable(result.by)}: phase ${result.phase} has passed, ${next}.`;
}

function stepOutcome(decision: "approve" | "deny", by: string, step: string, { status }: RoutedView): string {
  if (decision === "approve") {
    return `Approved by ${printable(by)}: the gate of ${printable(step)} has passed, the next call asks what follows.`;
  }
  const failed = status === "FAILED" ? ", and the instance has failed" : "";
  return `Denied by ${printable(by)}: ${printable(step)} is to be mended${failed}.`;
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

const KEYGEN_HELP = `
The private key is PKCS #8 in PEM, readable by you alone; the public one is printed. A folder that isn't
there yet is made, for you alone. Keep the private key where no agent that you run can read it: another
account, another machine.

Example:
  phasegate keygen --out ~/.keys/ann.pem
  phasegate serve --workflows workflows --state .phasegate --approver ann=ed25519:…`;

/** `phasegate keygen`. */
export function keygenCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("keygen")
    .summary("make an approver's pair of keys")
    .description("Makes an approver's pair of Ed25519 keys: writes the private one, prints the public one.")
    .requiredOption("--out <file>", "where the private key is written; a file that is there is left alone", notEmpty)
    .addOption(logLevelOption())
    .addHelpText("after", KEYGEN_HELP)
    .action(async ({ out }: { readonly out: string }) => {
      const { publicKey, privateKey } = await createApproverKeys();
      await writeNew(out, privateKey);
      print(terminal, publicKey);
      setExitCode(EXIT.ok);
    });
}

/** The mode is there from the first byte on, and nothing that was there is lost. */
async function writeNew(file: string, text: string): Promise<void> {
  await makeFolder(dirname(file));
  const handle = await open(file, "wx", 0o600).catch((cause: unknown) => {
    const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    const message = exists ? `${file} is there already, and is left as it is` : `${file} can't be written`;
    const hint = exists ? "Name a file that isn't there yet." : "Name a file in a folder that you may write to.";
    throw new CommandFailure(message, EXIT.environment, hint, { cause });
  });
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** For its owner alone, as what goes into it; one that is there stays as it is. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    const hint = "Name a file in a folder that you may write to.";
    throw new CommandFailure(`the folder ${folder} can't be made`, EXIT.environment, hint, { cause });
  });
}
