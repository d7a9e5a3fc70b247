/**
 * `phasegate approve` and `phasegate deny`: shows the request and the evidence that it is about, asks, signs the decision
 * and passes it to the engine.
 */
import type { Writable } from "node:stream";
import { Command } from "commander";
import { readPrivateKey } from "../approval/keys.js";
import type { ApprovalSignature } from "../approval/message.js";
import { signApproval } from "../approval/sign.js";
import { checksOf } from "../gate/check-gate.js";
import type { ApprovalRequest } from "../phased/approval/ledger.js";
import type { ApprovalResult } from "../phased/approval/requests.js";
import type { Engine } from "../phased/engine.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedView } from "../routed/types.js";
import { SINCE_VERIFIERS, sinceOf } from "../workflow/gate-definition.js";
import type { WorkflowStructure } from "../workflow/structure.js";
import { CommandFailure, EXIT, type ExitCode, type SetExitCode } from "./exit-codes.js";
import { logLevelOption, notEmpty, readSecret, stateOption } from "./options.js";
import { headLines, resultLines } from "./show.js";
import { type OpenedSession, openSession } from "./state.js";
import { ask, confirm, isInteractive, print, printable, styled, type Terminal, timeText } from "./terminal.js";
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
Shows the request and its evidence, asks for confirmation, and signs the decision with your private key. Without a
terminal it needs --yes together with --evidence-hash, the hash of the evidence that you have seen elsewhere. The
server that continues the session must know the same approvers.

Approving starts the next phase. Pass --project so that its baseline can be recorded.`;

/** Returns what creates `phasegate approve` or `phasegate deny`. */
export function decideCommand(decision: Decision): (terminal: Terminal, setExitCode: SetExitCode) => Command {
  return (terminal, setExitCode) => {
    const command = new Command(decision)
      .summary(decision === "approve" ? "approve the evidence that a session waits on" : "deny it, and say what to fix")
      .description(
        `${decision === "approve" ? "Approves" : "Denies"} the evidence that a session waits on, signed with your key.`,
      )
      .argument("<session>", "id of the session, as `phasegate sessions` lists it")
      .addOption(stateOption().makeOptionMandatory())
      .requiredOption("--key <file>", "your private key, from `phasegate keygen`", notEmpty);
    for (const option of trustOptions()) command.addOption(option);
    return command
      .option("--by <name>", "your name among the approvers; derived from your key if not given", notEmpty)
      .option(
        "--note <text>",
        decision === "deny" ? "what to fix; required" : "a note to record with the approval",
        notEmpty,
      )
      .option("--project <dir>", "the server's project folder, to record the next phase's baseline", notEmpty)
      .option("--full", "show the whole evidence, however long it is")
      .option("--yes", "do not ask for confirmation; needs --evidence-hash")
      .option(
        "--evidence-hash <hash>",
        "the hash of the evidence that is meant; the command fails if other evidence waits",
        notEmpty,
      )
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
  // Approving starts the next phase, whose checks may compare files with their state at its start.
  const verifiers = await openVerifiers({ ...(options.project === undefined ? {} : { project: options.project }) }, {});
  const opened = await openSession(options.state, sessionId, { ...trust, verifiers });
  try {
    const { request, answer } = await waitingSession(opened, sessionId, verifiers);
    requireSeen(request, options.evidenceHash);
    requirePerson(options, terminal);
    for (const line of requestLines(request, terminal.stdout, options.full === true)) print(terminal, line);
    const note = await noteFor(decision, options, terminal);
    const question = `${decision === "approve" ? "Approve" : "Deny"} this as ${printable(by)}?`;
    if (options.yes !== true && !(await confirm(terminal, question))) {
      print(terminal, "Nothing was decided.");
      return EXIT.problems;
    }
    const noted = note === undefined ? {} : { note };
    const signature = await signApproval(request, { decision, by, ...noted, privateKey });
    const signed = { decision, by, ...noted, evidenceHash: request.evidenceHash, signature };
    for (const line of await answer(signed)) print(terminal, line);
    return EXIT.ok;
  } finally {
    await opened.engine.close();
  }
}

function requireHash({ yes, evidenceHash }: DecideOptions): void {
  if (yes !== true || evidenceHash !== undefined) return;
  const hint = "Read the evidence first, and give its hash, as `phasegate show` prints it.";
  throw new CommandFailure("--yes needs --evidence-hash", EXIT.usage, hint);
}

/** Checks that a person can be asked. It is the last check: a wrong session is reported with or without a terminal. */
function requirePerson({ yes }: DecideOptions, terminal: Terminal): void {
  if (yes === true || isInteractive(terminal)) return;
  const hint = "Run it at a terminal, or give --yes and --evidence-hash.";
  throw new CommandFailure("no confirmation is possible: this is not a terminal", EXIT.usage, hint);
}

function nameOf(publicKey: string, approvers: Readonly<Record<string, string>>): string {
  const name = Object.keys(approvers).find((candidate) => approvers[candidate] === publicKey);
  if (name !== undefined) return name;
  const hint = `Give --approver NAME=${publicKey}, or --approvers FILE, with the same value as the server.`;
  throw new CommandFailure("this key is not one of the approvers' keys", EXIT.usage, hint);
}

/** Checks the hash. The message does not contain the right one: a person who gave another has not seen the evidence. */
function requireSeen({ sessionId, evidenceHash }: ShownRequest, seen: string | undefined): void {
  if (seen === undefined || seen === evidenceHash) return;
  const hint = `See which evidence waits now, and its hash: phasegate show ${sessionId}`;
  throw new CommandFailure("the session waits on other evidence than the given hash", EXIT.problems, hint);
}

async function noteFor(decision: Decision, options: DecideOptions, terminal: Terminal): Promise<string | undefined> {
  if (decision === "approve" || options.note !== undefined) return options.note;
  const note = options.yes === true ? "" : await ask(terminal, "What needs to be fixed? ");
  if (note !== "") return note;
  throw new CommandFailure("a denial needs a note", EXIT.usage, "Say with --note what to fix.");
}

/** A decision with its signature. */
interface SignedDecision {
  readonly decision: "approve" | "deny";
  readonly by: string;
  readonly note?: string;
  readonly evidenceHash: string;
  readonly signature: ApprovalSignature;
}

/** A session that waits for an approval. */
interface WaitingSession {
  readonly request: ShownRequest;
  /** Passes the decision to the engine, and returns the outcome as lines. */
  answer(signed: SignedDecision): Promise<readonly string[]>;
}

/** Returns the request that a session waits on. Throws if it waits on none. */
async function waitingSession(
  opened: OpenedSession,
  sessionId: string,
  verifiers: Readonly<Record<string, unknown>>,
): Promise<WaitingSession> {
  if (opened.kind === "recorded") throw notWaiting(sessionId, "a recorded session, which has no gates");
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
    throw notWaiting(sessionId, `${status}, in phase ${phase}`);
  }
  return {
    request,
    answer: async ({ decision, note, ...signed }) => {
      const noted = note === undefined ? {} : { note };
      const result =
        decision === "approve"
          ? await engine.approve(sessionId, { ...signed, ...noted })
          : await engine.deny(sessionId, { ...signed, note: note ?? "" });
      const { structure } = await engine.getState(sessionId);
      return [phaseOutcome(result), ...unrecorded(result, structure, verifiers)];
    },
  };
}

async function waitingInstance(engine: RoutedEngine, sessionId: string): Promise<WaitingSession> {
  const { awaiting, status, currentStep = "the start" } = await engine.status(sessionId);
  if (awaiting === undefined) throw notWaiting(sessionId, `${status}, at ${currentStep}`);
  return {
    request: awaiting,
    answer: async ({ decision, note, ...signed }) => {
      const noted = note === undefined ? {} : { note };
      const view =
        decision === "approve"
          ? await engine.approve(sessionId, { ...signed, ...noted })
          : await engine.deny(sessionId, { ...signed, note: note ?? "" });
      return [stepOutcome(decision, signed.by, awaiting.step, view)];
    },
  };
}

function notWaiting(sessionId: string, where: string): CommandFailure {
  const message = `session ${sessionId} waits for no approval: it is ${printable(where)}`;
  return new CommandFailure(message, EXIT.problems, "See `phasegate show`.");
}

function phaseOutcome(result: ApprovalResult): string {
  if (!result.passed) {
    const left = result.status === "failed" ? "the session has failed" : `${result.attemptsLeft} attempts left`;
    return `Denied by ${printable(result.by)}: phase ${result.phase} needs to be fixed, ${left}.`;
  }
  const next = result.nextPhase === null ? "the workflow is complete" : `phase ${result.nextPhase.number} is next`;
  return `Approved by ${printable(result.by)}: phase ${result.phase} has passed, ${next}.`;
}

function stepOutcome(decision: "approve" | "deny", by: string, step: string, { status }: RoutedView): string {
  if (decision === "approve") {
    return `Approved by ${printable(by)}: the gate of ${printable(step)} has passed, the next call decides on the next step.`;
  }
  const failed = status === "FAILED" ? ", and the instance has failed" : "";
  return `Denied by ${printable(by)}: ${printable(step)} needs to be fixed${failed}.`;
}

/** Warns if a phase compares files with their state now, and this state was not recorded. */
function unrecorded(
  result: ApprovalResult,
  { phases }: WorkflowStructure,
  verifiers: Readonly<Record<string, unknown>>,
): string[] {
  const next = result.passed ? result.nextPhase : null;
  if (next === null) return [];
  for (const { number, gate } of phases.filter(({ number: other }) => other >= next.number)) {
    const baselines = checksOf(gate).filter(
      ({ verifier }) => SINCE_VERIFIERS.includes(verifier) && !Object.hasOwn(verifiers, verifier),
    );
    const isOwn = number === next.number && baselines.some(({ params }) => sinceOf(params) === undefined);
    if (!isOwn && !baselines.some(({ params }) => sinceOf(params) === result.phase)) continue;
    const moment = isOwn ? "its start" : `the end of phase ${result.phase}`;
    return [
      `Phase ${number} checks files against their state at ${moment}, which was not recorded without --project. A server`,
      "with --project records the files when it next loads the session: what has changed until then is not seen.",
    ];
  }
  return [];
}

/** A request for an approval, of a phase or of a step. */
type ShownRequest = Omit<ApprovalRequest, "target" | "warnings" | "sessionId"> &
  Partial<Pick<ApprovalRequest, "target" | "warnings">> & { readonly sessionId: string; readonly step?: string };

/** Maximum number of characters of evidence that are shown without `--full`. */
const EVIDENCE_MAX = 8000;

/**
 * Returns a request as lines. Lines that an agent or an author has written begin with a bar, so that they cannot pass for
 * lines of this command.
 */
function requestLines(request: ShownRequest, stream: Writable, full: boolean): string[] {
  const { sessionId, workflowType, revision, target, phase, step, attempt, askedAt, approvers } = request;
  const { warnings = [], verification } = request;
  const place = step === undefined ? (["phase", phase] as const) : (["step", printable(step)] as const);
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [styled(stream, "bold", title), ...lines, ""];
  const head = headLines(
    sessionId,
    [
      ["workflow", `${printable(workflowType)}, revision ${printable(revision)}`],
      ["target", target === undefined ? undefined : printable(target)],
      [place[0], `${place[1]}, attempt ${attempt}`],
      ["asked", timeText(askedAt)],
      ["approvers", approvers === undefined ? "any" : approvers.map((name) => printable(name)).join(", ")],
      ["evidence", request.evidenceHash],
    ],
    stream,
  );
  const results = verification.flatMap((result) => resultLines(result, stream));
  return [
    ...head,
    "",
    ...section("Request", barred(request.prompt)),
    ...section("Evidence", evidenceLines(JSON.stringify(request.evidence, undefined, 2), full)),
    ...section(
      "Results of the checks",
      results.map((line) => `  │ ${line}`),
    ),
    ...section(
      "Warnings of the gate",
      warnings.flatMap(({ message }) => barred(message)),
    ),
  ];
}

function evidenceLines(json: string, full: boolean): string[] {
  if (full || json.length <= EVIDENCE_MAX) return barred(json);
  const left = json.length - EVIDENCE_MAX;
  return [...barred(json.slice(0, EVIDENCE_MAX)), `  … ${left} more characters: --full shows them all`];
}

function barred(text: string): string[] {
  return printable(text, { lines: true })
    .split("\n")
    .map((line) => `  │ ${line}`);
}
