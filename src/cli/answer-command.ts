/** The commands by which a person answers what a session waits for, as they are typed in the current folder. */
import process from "node:process";
import type { WaitingLine } from "../read/model.js";
import { findOwnProject } from "./options.js";
import { inShell, withoutPasswords } from "./terminal.js";
import type { TrustOptions } from "./trust.js";

/** Where the sessions are, and whom the command trusts that prints the answer: the answer gets the same options. */
export interface Place extends TrustOptions {
  readonly state: string;
}

type Question = Pick<WaitingLine, "what" | "approvers">;

/** What writes the commands about the session with an id. */
export interface AnswerCommands {
  readonly answer: (question: Question, id: string) => string;
  readonly deny: (question: Question, id: string) => string;
  readonly retry: (id: string) => string;
}

/**
 * Returns what writes commands. They have KEY.pem, approvers.json and NAME in the place of what only the person knows. What a
 * variable or the project says anyway is left out.
 */
export async function answersFor(place: Place): Promise<AnswerCommands> {
  const { PHASEGATE_STATE, PHASEGATE_APPROVERS, PHASEGATE_HASH_KEY_FILE } = process.env;
  const option = (flag: string, value: string | undefined, isKnown: boolean) =>
    value === undefined || isKnown ? [] : [flag, inShell(withoutPasswords(value))];
  const { state, approver = {}, approvers, hashKeyFile } = place;
  const usual = PHASEGATE_STATE ?? (await findOwnProject())?.state;
  const where = [
    ...option("--state", state, state === usual),
    ...option("--hash-key-file", hashKeyFile, hashKeyFile === PHASEGATE_HASH_KEY_FILE),
    ...option("--approvers", approvers, approvers === PHASEGATE_APPROVERS),
    ...Object.entries(approver).flatMap(([name, key]) => ["--approver", inShell(`${name}=${key}`)]),
  ];
  const knowsApprovers = approvers !== undefined || Object.keys(approver).length > 0;
  const line = (command: string, id: string, who: readonly string[]) =>
    ["phasegate", command, id, ...where, ...who].join(" ");
  const named = ["--by", "NAME"];
  const signer = ["--key", "KEY.pem", ...(knowsApprovers ? [] : ["--approvers", "approvers.json"])];
  const whoFor = ({ what, approvers: asked }: Question) =>
    what === "approval" || asked !== undefined || knowsApprovers ? signer : named;
  return {
    answer: (question, id) => line(question.what === "approval" ? "approve" : "waive", id, whoFor(question)),
    deny: (question, id) => line("deny", id, whoFor(question)),
    retry: (id) => line("retry", id, named),
  };
}
