import {
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Problem } from "../gate/verdict.js";
import type { Verification } from "../phased/state/events.js";
import type { PersonsAnswer } from "../tools/dispatch.js";
import { brief } from "../tools/wire.js";
import { visibleText } from "../workflow/field-types.js";
import type { JsonObject } from "../workflow/json.js";
import { escapeHidden } from "../workflow/names.js";
import { singleLine } from "../workflow/report.js";

/** The name that an answer by a client's user is recorded under: nobody knows who it was. */
const CLIENT_USER = "client user";
/** As much evidence as a person reads in a dialog. */
const EVIDENCE_MAX = 4000;
/** As many results of checks, and as much of each. */
const FOUND_MAX = 15;
const FOUND_LENGTH = 200;
/** The key under which a client is handed a per-request view of itself. */
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

const answerSchema = z.object({ decision: z.enum(["approve", "deny"]), note: z.string().max(2000).optional() });
const capabilitiesSchema = z.object({ elicitation: z.looseObject({}).optional() });

/** What a person is asked, whichever engine asks it. */
export interface AskedApproval {
  /** Names the question: the hash of the commit that asked. */
  readonly request: string;
  readonly unsignedAllowed: boolean;
  readonly approvers?: readonly string[];
  readonly prompt: string;
  /** Where it is asked, in a few words. */
  readonly about: string;
  readonly evidence: JsonObject;
  readonly evidenceHash: string;
  /** What the gate's verifiers have found. */
  readonly verification: readonly Verification[];
  /** What the gate only warned of. */
  readonly warnings: readonly Problem[];
}

/**
 * Asks the person at the client, by elicitation, while a call of the tool is under way. What comes back is
 * unsigned, and the client might as well have made it up: so a person is only asked where the host takes
 * unsigned approvals, and the gate names nobody in particular. A call is made twice for that, the second
 * time with the answer; in between nothing is kept, for the session itself waits.
 */
export class ElicitedApproval {
  readonly #ctx: ServerContext;
  readonly #canAsk: boolean;
  #open: AskedApproval | undefined;

  constructor(server: McpServer, ctx: ServerContext) {
    this.#ctx = ctx;
    this.#canAsk = takesForms(capabilitiesOf(server, ctx));
  }

  /** What the person has answered; undefined as long as they haven't, or wouldn't. */
  async ask(request: AskedApproval): Promise<PersonsAnswer | undefined> {
    if (!this.#canAsk || !request.unsignedAllowed || request.approvers !== undefined) return undefined;
    const response = inputResponse(this.#ctx.mcpReq.inputResponses, keyOf(request));
    if (response.kind === "missing") this.#open = request;
    // To decline is to leave it open: the session waits, and can be approved elsewhere.
    if (response.kind !== "elicit" || response.action !== "accept") return undefined;
    const answer = answerSchema.safeParse(response.content).data;
    if (answer === undefined) return undefined;
    const { decision, note = "" } = answer;
    if (decision === "deny")
      return { decision, by: CLIENT_USER, note: visibleText(note) === "" ? "denied without a note" : note };
    return { decision, by: CLIENT_USER, ...(visibleText(note) === "" ? {} : { note }) };
  }

  /** The question for the client, where the call found one that is open. */
  question(): InputRequiredResult | undefined {
    const request = this.#open;
    if (request === undefined) return undefined;
    const elicit = inputRequired.elicit({
      message: messageOf(request),
      requestedSchema: {
        type: "object",
        properties: {
          decision: { type: "string", title: "Decision", enum: ["approve", "deny"] },
          note: { type: "string", title: "Note", description: "What is to be mended, if you deny" },
        },
        required: ["decision"],
      },
    });
    return inputRequired({ inputRequests: { [keyOf(request)]: elicit } });
  }
}

/** Names the question, so that the answer to one is never taken for the answer to another. */
function keyOf({ request }: AskedApproval): string {
  return `approval_${request.slice(0, 32)}`;
}

function messageOf(request: AskedApproval): string {
  const { about, prompt, evidence, evidenceHash } = request;
  const json = escapeHidden(JSON.stringify(evidence, undefined, 2));
  const left = json.length - EVIDENCE_MAX;
  return [
    escapeHidden(prompt),
    ...foundLines(request),
    `${singleLine(about)}. The agent's evidence (${evidenceHash.slice(0, 12)}):`,
    left > 0 ? `${json.slice(0, EVIDENCE_MAX)}\n… and ${left} more characters that are not shown` : json,
  ].join("\n\n");
}

/** What was looked up, before the evidence, which may be long: what was met, and what the gate only warned of. */
function foundLines({ verification, warnings }: AskedApproval): string[] {
  const found = verification.map(({ verifier, field, ok, message }) => {
    const about = field === undefined ? verifier : `${verifier} for ${field}`;
    return `${ok ? "✓" : "✗"} ${about}: ${message}`;
  });
  const warned = warnings.map(({ message }) => `! ${message}`);
  if (found.length + warned.length === 0) return [];
  const lines = [...found, ...warned]
    .slice(0, FOUND_MAX)
    .map((line) => brief(escapeHidden(line.replace(/\s+/g, " ")), FOUND_LENGTH));
  const left = found.length + warned.length - lines.length;
  return [
    ["Verified, when the evidence was handed in:", ...lines, ...(left > 0 ? [`… and ${left} more`] : [])].join("\n"),
  ];
}

/** From the request itself where it carries them, else from the handshake. */
function capabilitiesOf(server: McpServer, ctx: ServerContext): unknown {
  const envelope: object = ctx.mcpReq.envelope ?? {};
  const own: unknown = Reflect.get(envelope, CAPABILITIES);
  const handshake: ClientCapabilities | undefined = server.server.getClientCapabilities();
  return own ?? handshake;
}

function takesForms(capabilities: unknown): boolean {
  const elicitation = capabilitiesSchema.safeParse(capabilities).data?.elicitation;
  if (elicitation === undefined) return false;
  return "form" in elicitation || !("url" in elicitation);
}
