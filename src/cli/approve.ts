/**
 * `phasegate approve`, `phasegate waive` and `phasegate deny`: shows what a session asks, asks for confirmation, signs the decision
 * and passes it to the engine. And `phasegate keygen`: makes an approver's keys.
 */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { Writable } from "node:stream";
import { type Approvers, personWith } from "../approval/approvers.js";
import { readPrivateKey } from "../approval/keys.js";
import { createApproverKeys, signApproval } from "../approval/message.js";
import { checksOf } from "../gate/check-gate.js";
import { UNCHECKED, uncheckedFields } from "../gate/unchecked.js";
import type { ApprovalRequest } from "../phased/approval/ledger.js";
import type { ApprovalResult, WaiverRequest } from "../phased/approval/requests.js";
import type { InspectorSources } from "../read/sources.js";
import { type Asked, answer, askedBy, type Decision } from "../read/waiting.js";
import type { RoutedQuestion, RoutedView } from "../routed/types.js";
import { aboutVerifier } from "../workflow/built-in-verifiers.js";
import { sinceOf } from "../workflow/gate-definition.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { answersFor, serverText } from "./answer-command.js";
import { barred, EVIDENCE_MAX, evidenceLines, resultLines } from "./attempts.js";
import { type CreateCommand, command, flag, required, text, type Values } from "./command.js";
import { CommandFailure, EXIT, type ExitCode, usage } from "./exit-codes.js";
import { writeToFile } from "./export.js";
import { printWrapped } from "./layout.js";
import { type OpenedSession, openSession } from "./opened.js";
import { attemptOptions, readSecret, sessionArgument, stateOption } from "./options.js";
import { packOption, withPacks } from "./packs.js";
import { SHORT_IDS_MAX, shortIdsIn } from "./session-id.js";
import { type Field, headLines } from "./show.js";
import {
  ask,
  capitalized,
  confirm,
  counted,
  isInteractive,
  isTty,
  print,
  printable,
  printLines,
  styled,
  type Terminal,
  timeText,
} from "./terminal.js";
import { openVerifiers, projectOption, readTrust, trustOptions } from "./trust.js";

/** The commands: `deny` answers a request of either kind. */
type DecideCommand = "approve" | "waive" | "deny";

const COMMANDS = {
  approve: {
    description: "Approves the evidence that a session waits on, signed with your key.",
    note: "a note to record with the approval",
    hashOption: "--evidence-hash",
    toRead: "the evidence",
    help: `
Shows the question and the evidence, asks for confirmation, and signs the decision with your private key. Without a
terminal it needs --yes together with --evidence-hash, the hash of the evidence that you have seen elsewhere. The
server that continues the session must know the same approvers.

Approving starts the next phase. If its gate compares files with their state at the start, pass --project so that this
state is recorded.`,
  },
  waive: {
    description: "Grants the waiver that a session waits on.",
    note: "a note to record with the waiver",
    hashOption: "--request",
    toRead: "the request",
    help: `
Shows what the agent cannot meet and why, and asks for confirmation. The gate then no longer requires it until the
session leaves the phase. History, show and audit name you. Sign the decision with --key if the gate or the server has
approvers; otherwise --by is enough. Without a terminal it needs --yes together with --request, the hash of the request
that you have seen elsewhere.`,
  },
  deny: {
    description: "Denies the evidence or the waiver that a session waits on, and says what to do instead.",
    note: "what to fix, or what to do instead; required",
    hashOption: "--evidence-hash or --request",
    toRead: "the evidence, or the request for a waiver,",
    help: `
Shows the evidence or the request for a waiver that the session waits on, asks for confirmation, and records your note
for the agent. Denied evidence counts as a failed attempt, a denied waiver does not. Sign the decision with --key; for a
waiver, --by is enough if neither the gate nor the server has approvers. Without a terminal it needs --yes together with
--evidence-hash or --request, the hash of what you have seen elsewhere.`,
  },
} as const;

const decideOptions = (decision: DecideCommand) => ({
  state: required(stateOption()),
  key: text("--key <file>", "your private key, from `phasegate keygen`"),
  ...trustOptions(),
  by: text("--by <name>", "your name among the approvers; derived from your key if not given"),
  note: text("--note <text>", COMMANDS[decision].note),
  project: projectOption("the server's project folder, to record its files at the start of the next phase"),
  pack: packOption(),
  full: flag("--full", "show the whole evidence, however long it is"),
  yes: flag("--yes", "do not ask for confirmation; needs the hash of what you have seen"),
  evidenceHash: text(
    "--evidence-hash <hash>",
    "the hash of the evidence that you have seen; fails for other evidence",
  ).hideHelp(decision === "waive"),
  request: text(
    "--request <hash>",
    "the hash of the waiver request that you have seen; fails for another request",
  ).hideHelp(decision === "approve"),
});
type DecideOptions = Values<ReturnType<typeof decideOptions>> & Partial<Values<ReturnType<typeof attemptOptions>>>;

export function decideCommand(decision: DecideCommand): CreateCommand {
  const { description, help } = COMMANDS[decision];
  const { state, key, approver, approvers, hashKeyFile, ...more } = decideOptions(decision);
  // A denial is a failure at the gate: by the server's limits it may be the last one.
  const limits = decision === "deny" ? attemptOptions() : {};
  return command({
    name: decision,
    description,
    arguments: [sessionArgument()],
    options: { state, key, approver, approvers, hashKeyFile, ...limits, ...more },
    help,
    run: (options, terminal, sessionId) => decide(decision, sessionId, options, terminal),
  });
}

async function decide(
  decision: DecideCommand,
  given: string,
  options: DecideOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  requireHash(decision, options);
  const trust = await readTrust(options);
  // Approving starts the next phase, whose checks may compare files with their state at its start.
  const ofPacks = await withPacks(options, async (packs) => packs.verifiers);
  const verifiers = { ...(await openVerifiers(options, {})), ...ofPacks };
  const { maxAttempts, maxAttemptsTotal } = options;
  const limits = { maxAttempts, maxAttemptsTotal };
  const opened = await openSession(options.state, given, { ...trust, verifiers, limits });
  try {
    const asked = await askedFor(opened, decision);
    requireSeen(asked, options);
    const { by, privateKey } = await signerOf(decision, options, trust.approvers, asked, opened, terminal);
    requirePerson(options, asked, terminal);
    printWrapped(
      terminal,
      asked.what === "waiver"
        ? waiverLines(asked.question, terminal.stdout)
        : requestLines(asked.question, terminal.stdout, options.full === true),
    );
    const note = await noteFor(decision, options, terminal);
    const question = `${capitalized(decision)} this as ${printable(by)}?`;
    if (options.yes !== true && !(await confirm(terminal, question))) {
      print(terminal, "Nothing was decided.");
      return EXIT.problems;
    }
    const said = { decision: decision === "deny" ? "deny" : "approve", by, note } as const;
    const signature =
      privateKey === undefined ? undefined : await signApproval(asked.question, { ...said, privateKey });
    printLines(terminal, await decided(opened, asked, { ...said, signature }, verifiers));
    if (privateKey === undefined) print(terminal, "It is not signed: a server with approvers does not accept it.");
    return EXIT.ok;
  } finally {
    await opened.engine.close();
  }
}

interface Signer {
  readonly by: string;
  /** Missing if the decision is not signed. */
  readonly privateKey?: string;
}

/** Returns who decides. Who can't is told the commands by which they can. */
async function signerOf(
  decision: DecideCommand,
  options: DecideOptions,
  approvers: Approvers,
  { what, question }: Asked,
  { storage, sessionId }: OpenedSession,
  { stderr }: Terminal,
): Promise<Signer> {
  const signer = await givenSigner(
    options,
    approvers,
    what !== "waiver" || question.approvers !== undefined,
    question.approvers,
  );
  if (!("problem" in signer)) return signer;
  const short = isTty(stderr) ? await shortIdsIn(storage, [sessionId], SHORT_IDS_MAX) : String;
  const asked = { what: what === "waiver" ? "waiver" : "approval", approvers: question.approvers } as const;
  const { answers } = await answersFor(options, approvers);
  const { first, server, yes, no } = answers(asked, short(sessionId));
  const needs = server === undefined ? "" : `${serverText(server)}. `;
  const hint = `${needs}${first.length > 0 ? "Run these commands, in this order:" : "Run this command:"}`;
  throw new CommandFailure(signer.problem, signer.exitCode ?? EXIT.usage, hint, {
    commands: [...first, decision === "deny" ? no : yes],
  });
}

/** Returns who decides by the options, or what is missing. */
async function givenSigner(
  { key, by }: DecideOptions,
  approvers: Approvers,
  mustSign: boolean,
  asked: readonly string[] | undefined,
): Promise<Signer | { readonly problem: string; readonly exitCode?: ExitCode }> {
  if (key === undefined) {
    if (mustSign) return { problem: "this decision must be signed with your private key" };
    return by === undefined ? { problem: "nobody is named" } : { by };
  }
  if (!existsSync(key)) return { problem: `there is no private key in ${key}`, exitCode: EXIT.environment };
  const privateKey = await readSecret(key, "the private key");
  if (by !== undefined) return { by, privateKey };
  const { publicKey } = await readPrivateKey(privateKey);
  const name = personWith(publicKey, approvers);
  if (name === undefined) return { problem: "this key is not one of the approvers' keys" };
  const named = personWith(publicKey, approvers, asked);
  if (named !== undefined) return { by: named, privateKey };
  const who = printable(asked?.join(" or ") ?? "");
  const message = `${printable(name)} is not an approver of this: only ${who} may decide it`;
  throw new CommandFailure(message, EXIT.problems, "One of them runs the command with their own key.");
}

function requireHash(decision: DecideCommand, { yes, evidenceHash, request }: DecideOptions): void {
  const given = { approve: evidenceHash, waive: request, deny: evidenceHash ?? request }[decision];
  if (yes !== true || given !== undefined) return;
  const { hashOption, toRead } = COMMANDS[decision];
  throw usage(`--yes needs ${hashOption}`, `Read ${toRead} first, and give its hash, as \`phasegate show\` prints it.`);
}

/** It is the last check: a wrong session is reported with or without a terminal. */
function requirePerson({ yes }: DecideOptions, { what }: Asked, terminal: Terminal): void {
  if (yes === true || isInteractive(terminal)) return;
  const hint = `Run it at a terminal, or give --yes and ${SEEN[what]}.`;
  throw usage("no confirmation is possible: this is not a terminal", hint);
}

/** The message does not contain the right hash: a person who gave another one has not seen the evidence. */
function requireSeen(asked: Asked, { evidenceHash, request, yes }: DecideOptions): void {
  const isRequest = asked.what === "waiver";
  const [given, other] = isRequest ? [request, evidenceHash] : [evidenceHash, request];
  const hash = isRequest ? asked.question.request : asked.question.evidenceHash;
  if (other === undefined && (given === hash || (given === undefined && yes !== true))) return;
  const what = isRequest ? "request" : "evidence";
  const hint = `See which ${what} waits now, and its hash for ${SEEN[asked.what]}: phasegate show ${asked.question.sessionId}`;
  const waits = isRequest ? "another request" : "other evidence";
  const awaited = isRequest ? "a request for a waiver, not on evidence" : "evidence, not on a request for a waiver";
  const why = other === undefined ? `${waits} than the given hash` : awaited;
  throw new CommandFailure(`the session waits on ${why}`, EXIT.problems, hint);
}

async function noteFor(
  decision: DecideCommand,
  options: DecideOptions,
  terminal: Terminal,
): Promise<string | undefined> {
  if (decision !== "deny" || options.note !== undefined) return options.note;
  const note = options.yes === true ? "" : ((await ask(terminal, "What is to be done instead? ")) ?? "");
  if (note !== "") return note;
  throw usage("a denial needs a note", "Say with --note what to do instead.");
}

const KEYGEN_HELP = `
The private key is PKCS #8 in PEM, readable by you only; the public key is printed. A missing folder is created, for
you only. Keep the private key where none of your agents can read it: in another account, or on another machine.

Example:
  phasegate keygen --out ~/.keys/ann.pem
  phasegate serve --workflows workflows --state .phasegate --approver ann=ed25519:…`;

export const keygenCommand = command({
  name: "keygen",
  description: "Makes an approver's pair of Ed25519 keys: writes the private key, prints the public one.",
  options: { out: required(text("--out <file>", "file for the private key; an existing file is not changed")) },
  help: KEYGEN_HELP,
  async run({ out }, terminal) {
    const { publicKey, privateKey } = await createApproverKeys();
    await mkdir(dirname(out), { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
      const hint = "Name a file in a folder that you may write to.";
      throw new CommandFailure(`the folder ${dirname(out)} can't be created`, EXIT.environment, hint, { cause });
    });
    await writeToFile([privateKey], out);
    print(terminal, publicKey);
    return EXIT.ok;
  },
});

/** The option that gives the hash of what a person must have seen. */
const SEEN = { phase: "--evidence-hash", step: "--evidence-hash", waiver: "--request" } as const;

/** Throws if the session waits on nothing that the command can answer. */
async function askedFor(opened: OpenedSession, command: DecideCommand): Promise<Asked> {
  const { sessionId } = opened;
  const wanted = command === "waive" ? "waiver" : "approval";
  if (opened.kind === "recorded") throw notWaiting(sessionId, wanted, "a recorded session, which has no gates");
  if (opened.kind === "routed") {
    if (command === "waive") throw notWaiting(sessionId, wanted, "a routed workflow, which has none");
    const asked = await askedBy(enginesOf(opened), "routed", sessionId);
    if (asked !== undefined) return asked;
    const { status, currentStep = "the start" } = await opened.engine.session(sessionId).state();
    throw notWaiting(sessionId, wanted, `${status}, at ${currentStep}`);
  }
  const asked = await askedBy(enginesOf(opened), "phased", sessionId);
  const isMeant = command === "deny" || (command === "waive") === (asked?.what === "waiver");
  if (asked !== undefined && isMeant) return asked;
  const { status, phase: number } = (await opened.engine.session(sessionId).state()).head;
  throw notWaiting(sessionId, wanted, `${status}, in phase ${number}`);
}

function enginesOf(opened: OpenedSession): InspectorSources {
  if (opened.kind === "phased") return { engine: opened.engine };
  return opened.kind === "routed" ? { routed: opened.engine } : {};
}

/** Passes a decision to the engine, and returns the outcome as lines. */
export async function decided(
  opened: OpenedSession,
  asked: Asked,
  decision: Decision,
  verifiers: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  const evidenceHash = asked.what === "waiver" ? undefined : asked.question.evidenceHash;
  const answered = await answer(asked, { ...decision, evidenceHash });
  const by = printable(decision.by);
  if (answered.what === "waiver") {
    const { granted, fields, phase } = answered.result;
    return [`${granted ? "Waived" : "No waiver"} by ${by}: ${printable(fields.join(", "))}, in phase ${phase}.`];
  }
  if (answered.what === "step") return [stepOutcome(decision, asked.question, answered.result)];
  const { result } = answered;
  if (opened.kind !== "phased" || !result.passed) return [phaseOutcome(result)];
  const { structure } = await opened.engine.session(asked.question.sessionId).state();
  return [phaseOutcome(result), ...unrecorded(result, structure, verifiers)];
}

function notWaiting(sessionId: string, wanted: "approval" | "waiver", where: string): CommandFailure {
  const message = `session ${sessionId} waits for no ${wanted}: it is ${printable(where)}`;
  return new CommandFailure(message, EXIT.problems, "See `phasegate show`.");
}

function phaseOutcome(result: ApprovalResult): string {
  if (!result.passed) {
    const left =
      result.status === "failed" ? "the session has failed" : `${counted(result.attemptsLeft, "attempt")} left`;
    return `Denied by ${printable(result.by)}: phase ${result.phase} needs to be fixed, ${left}.`;
  }
  const next = result.nextPhase === null ? "the workflow is complete" : `phase ${result.nextPhase.number} is next`;
  return `Approved by ${printable(result.by)}: phase ${result.phase} has passed, ${next}.`;
}

function stepOutcome({ decision, by }: Decision, question: Asked["question"], { status }: RoutedView): string {
  const step = "step" in question ? printable(question.step) : "";
  if (decision === "approve") {
    return `Approved by ${printable(by)}: the gate of ${step} has passed, the next call decides on the next step.`;
  }
  const failed = status === "failed" ? ", and the instance has failed" : "";
  return `Denied by ${printable(by)}: ${step} needs to be fixed${failed}.`;
}

/** Warns if a phase compares files with their state now, and this state was not recorded. */
export function unrecorded(
  left: { readonly phase: number; readonly nextPhase: PhaseDefinition | null },
  { phases }: WorkflowStructure,
  verifiers: Readonly<Record<string, unknown>>,
): string[] {
  const { phase, nextPhase: next } = left;
  if (next === null) return [];
  for (const { number, gate } of phases.filter(({ number: other }) => other >= next.number)) {
    const baselines = checksOf(gate).filter(
      ({ verifier }) => aboutVerifier(verifier)?.since === true && !Object.hasOwn(verifiers, verifier),
    );
    const isOwn = number === next.number && baselines.some(({ params }) => sinceOf(params) === undefined);
    if (!isOwn && !baselines.some(({ params }) => sinceOf(params) === phase)) continue;
    const moment = isOwn ? "its start" : `the end of phase ${phase}`;
    return [
      `Phase ${number} checks files against their state at ${moment}, which was not recorded without --project. A server`,
      "with --project records the files when it next loads the session: what has changed until then is not seen.",
    ];
  }
  return [];
}

/** Lines that an agent or an author has written begin with a bar. */
function requestLines(request: ApprovalRequest | RoutedQuestion, stream: Writable, full: boolean): string[] {
  const { phase, attempt, verification, evidence, evidenceHash, prompt } = request;
  const at: Field = "step" in request ? ["step", printable(request.step)] : ["phase", String(phase)];
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [styled(stream, "bold", title), ...lines, ""];
  const results = verification.flatMap((result) => resultLines(result, stream));
  const unchecked = uncheckedFields(evidence, verification);
  const warnings = "warnings" in request ? request.warnings : [];
  return [
    ...questionHead(request, [at[0], `${at[1]}, attempt ${attempt}`], ["evidence", evidenceHash], stream),
    "",
    ...section("Request", barred(prompt)),
    ...section("Evidence", evidenceLines(evidence, EVIDENCE_MAX, full)),
    ...section(UNCHECKED, unchecked.length === 0 ? [] : barred(unchecked.join(", "))),
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

function questionHead(question: Asked["question"], at: Field, hash: Field, stream: Writable): string[] {
  const { sessionId, workflowType, revision, askedAt, approvers } = question;
  const fields: Field[] = [
    ["workflow", `${printable(workflowType)}, revision ${printable(revision)}`],
    ["target", "target" in question ? printable(question.target) : undefined],
    at,
    ["asked", timeText(askedAt)],
    ["approvers", approvers === undefined ? "any" : approvers.map((name) => printable(name)).join(", ")],
    hash,
  ];
  return headLines(sessionId, fields, stream);
}

function waiverLines(request: WaiverRequest, stream: Writable): string[] {
  const { phase, phaseName, fields, requirements, reason } = request;
  const asked = fields.map((name, index) => [name, requirements[index] ?? ""].filter(Boolean).join(": "));
  const section = (title: string, lines: readonly string[]) => ["", styled(stream, "bold", title), ...lines];
  return [
    ...questionHead(request, ["phase", `${phase}: ${printable(phaseName)}`], ["request", request.request], stream),
    ...section("To be waived", asked.flatMap(barred)),
    ...section("Reason", barred(reason)),
    "",
  ];
}
