/** Asks the user of an MCP client for an unsigned approval or waiver, with a form that the client shows (elicitation). */
import * as z from "zod";
import { UNCHECKED, uncheckedFields } from "../gate/unchecked.js";
import type { Problem } from "../gate/verdict.js";
import type { WaiverRequest } from "../phased/approval/requests.js";
import type { Verification } from "../phased/state/events.js";
import type { PersonsAnswer } from "../tools/person.js";
import { brief } from "../tools/wire.js";
import { isInvisible } from "../workflow/field-types.js";
import { escapeHidden, singleLine } from "../workflow/hidden.js";
import type { JsonObject } from "../workflow/json.js";
import type { AskedFirst, ClientCall, Form } from "./host.js";

/** The recorded name of the approver: a client does not say who its user is. */
const CLIENT_USER = "client user";
/** Maximum number of characters of evidence in the form. */
const EVIDENCE_MAX = 4000;
/** Maximum number of results of checks in the form, and characters of each. */
const RESULTS_MAX = 15;
const RESULT_LENGTH = 200;

/** The longest note, in characters. */
const NOTE_MAX = 2000;

const answerSchema = z.object({ decision: z.enum(["approve", "deny"]), note: z.string().max(NOTE_MAX).optional() });
const capabilitiesSchema = z.object({ elicitation: z.looseObject({}).optional() });

interface Asked {
  /** Identifies the request: the hash of its commit. */
  readonly request: string;
  readonly unsignedAllowed: boolean;
  readonly approvers?: readonly string[];
}

/** A request for an approval, by either engine. */
export interface AskedApproval extends Asked {
  readonly prompt: string;
  /** The phase or step that it is about, in a few words. */
  readonly about: string;
  readonly evidence: JsonObject;
  readonly evidenceHash: string;
  readonly verification: readonly Verification[];
  /** Problems that the gate reported as warnings only. */
  readonly warnings: readonly Problem[];
}

/** The user's answer, or the form that the client must show first. Neither, if the user is not asked or declined. */
export interface Elicited {
  readonly answer?: PersonsAnswer;
  readonly form?: AskedFirst | undefined;
}

/**
 * Asks the client's user during a call of the tool. The answer is unsigned, and the client might have invented it: so the
 * user is asked only if the host accepts unsigned approvals and the gate names no approvers. Where the client makes the call
 * twice, the second time with the answer, nothing is kept in between, because the session itself waits.
 */
export function elicitApproval(call: ClientCall, request: AskedApproval): Promise<Elicited> {
  return elicit(call, request, () => messageOf(request));
}

/** Asks the client's user in the same way to grant a waiver. */
export function elicitWaiver(call: ClientCall, request: WaiverRequest): Promise<Elicited> {
  const { sessionId, workflowType, phase, phaseName, fields, requirements, reason } = request;
  const said = fields.flatMap((name, index) => (requirements[index] ? [`${name}: ${requirements[index]}`] : []));
  return elicit(call, request, () =>
    [
      `The agent asks to go on without: ${fields.map((name) => escapeHidden(name)).join(", ")}.`,
      ...said.map((line) => brief(escapeHidden(singleLine(line)), RESULT_LENGTH)),
      singleLine(`Phase ${phase} (${phaseName}) of ${workflowType}, session ${sessionId}. The agent's reason:`),
      escapeHidden(brief(reason, EVIDENCE_MAX)),
      "If you approve, the gate does not check this, and the record says that you have waived it.",
    ].join("\n\n"),
  );
}

async function elicit(call: ClientCall, request: Asked, message: () => string): Promise<Elicited> {
  if (!request.unsignedAllowed || request.approvers !== undefined) return {};
  if (!takesForms(call.capabilities())) return {};
  // If the user declines, the request stays open, and can be approved elsewhere.
  const { content, first } = await call.ask({ key: keyOf(request), message: message(), requestedSchema: FORM });
  const given = answerSchema.safeParse(content).data;
  if (given === undefined) return { form: first };
  const { decision, note = "" } = given;
  const said = isInvisible(note) ? undefined : note;
  const by = CLIENT_USER;
  return {
    answer:
      decision === "deny" ? { decision, by, note: said ?? "denied without a note" } : { decision, by, note: said },
  };
}

const FORM: Form["requestedSchema"] = {
  type: "object",
  properties: {
    decision: { type: "string", title: "Decision", enum: ["approve", "deny"] },
    note: { type: "string", title: "Note", description: "What to do instead, if you deny", maxLength: NOTE_MAX },
  },
  required: ["decision"],
};

/** Returns a key for the request, so that an answer is never taken for the answer to another one. */
function keyOf({ request }: Asked): string {
  return `approval_${request.slice(0, 32)}`;
}

function messageOf(request: AskedApproval): string {
  const { about, prompt, evidence, evidenceHash, verification } = request;
  const unchecked = uncheckedFields(evidence, verification);
  const json = escapeHidden(JSON.stringify(evidence, undefined, 2));
  const left = json.length - EVIDENCE_MAX;
  return [
    escapeHidden(prompt),
    ...foundLines(request),
    `${singleLine(about)}. The agent's evidence (${evidenceHash.slice(0, 12)}):`,
    ...(unchecked.length === 0 ? [] : [`${UNCHECKED}: ${brief(escapeHidden(unchecked.join(", ")), RESULT_LENGTH)}`]),
    left > 0 ? `${json.slice(0, EVIDENCE_MAX)}\n… and ${left} more characters that are not shown` : json,
  ].join("\n\n");
}

/** Returns the results of checks and the warnings. They come before the evidence, which may be long. */
function foundLines({ verification, warnings }: AskedApproval): string[] {
  const found = verification.map(({ verifier, field, ok, message }) => {
    const about = field === undefined ? verifier : `${verifier} for ${field}`;
    return `${ok ? "✓" : "✗"} ${about}: ${message}`;
  });
  const warned = warnings.map(({ message }) => `! ${message}`);
  if (found.length + warned.length === 0) return [];
  const lines = [...found, ...warned]
    .slice(0, RESULTS_MAX)
    .map((line) => brief(escapeHidden(line.replace(/\s+/g, " ")), RESULT_LENGTH));
  const left = found.length + warned.length - lines.length;
  return [["Results of the checks at submission:", ...lines, ...(left > 0 ? [`… and ${left} more`] : [])].join("\n")];
}

function takesForms(capabilities: unknown): boolean {
  const elicitation = capabilitiesSchema.safeParse(capabilities).data?.elicitation;
  if (elicitation === undefined) return false;
  return "form" in elicitation || !("url" in elicitation);
}
