/** The command by which a person answers what a session waits for, as it is typed in the current folder. */
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

/**
 * Returns what writes the answer to a question of the session with this id. It has KEY.pem, approvers.json and NAME in the place
 * of what only the person knows. What a variable or the project says anyway is left out.
 */
export async function answersFor(place: Place): Promise<(question: Question, id: string) => string> {
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
  return ({ what, approvers: named }, id) => {
    const isSigned = what === "approval" || named !== undefined || knowsApprovers;
    const signer = ["--key", "KEY.pem", ...(knowsApprovers ? [] : ["--approvers", "approvers.json"])];
    const who = isSigned ? signer : ["--by", "NAME"];
    return ["phasegate", what === "approval" ? "approve" : "waive", id, ...where, ...who].join(" ");
  };
}
