/** The commands by which a person answers what a session waits for, as they are typed in the current folder. */
import { existsSync } from "node:fs";
import process from "node:process";
import type { Approvers } from "../approval/approvers.js";
import type { WaitingLine } from "../read/model.js";
import { CommandFailure } from "./exit-codes.js";
import { findOwnProject } from "./options.js";
import { inKeys, type KeysAndApprovers, keyFiles, signerFor, typedOf } from "./own-key.js";
import { inShell, printable, userName, withoutPasswords } from "./terminal.js";
import type { TrustOptions } from "./trust.js";

/** Where the sessions are, and whom the command trusts that prints the answer: the answer gets the same options. */
export interface Place extends TrustOptions {
  readonly state: string;
  /** The file of `--key`, if the command was given one. */
  readonly key?: string | undefined;
}

type Question = Pick<WaitingLine, "what" | "approvers">;

/** The commands that answer a question. */
export interface Answers {
  /** Who answers with these commands. */
  readonly who: string;
  /** What a person without a key runs first, once: the key is made, and added to the approvers. */
  readonly first: readonly string[];
  /** The option that the server needs then, too; missing if it has it. */
  readonly server?: string | undefined;
  readonly yes: string;
  readonly no: string;
}

/** What writes the commands about the session with an id. */
export interface AnswerCommands {
  readonly answers: (question: Question, id: string) => Answers;
  readonly retry: (id: string) => string;
}

/** The approvers' file beside the keys, if no option and no variable names one: whoever can write it can add a key. */
const APPROVERS_FILE = "approvers.json";

/**
 * Returns what writes commands, each of which works as it stands: with the person's own key and name. What a variable or the
 * project says anyway is left out. `known` are the approvers that the options name.
 */
export async function answersFor(place: Place, known: Approvers): Promise<AnswerCommands> {
  const { PHASEGATE_STATE, PHASEGATE_APPROVERS, PHASEGATE_HASH_KEY_FILE } = process.env;
  const option = (flag: string, value: string | undefined, isKnown: boolean) =>
    value === undefined || isKnown ? [] : [flag, inShell(withoutPasswords(value))];
  const { state, approver = {}, approvers, hashKeyFile } = place;
  const project = await findOwnProject();
  const where = [
    ...option("--state", state, state === (PHASEGATE_STATE ?? project?.state)),
    ...option("--hash-key-file", hashKeyFile, hashKeyFile === PHASEGATE_HASH_KEY_FILE),
  ];
  const file = inKeys(APPROVERS_FILE);
  const approversOption =
    approvers === undefined
      ? ["--approvers", typedOf(APPROVERS_FILE)]
      : option("--approvers", approvers, approvers === PHASEGATE_APPROVERS);
  const named = Object.entries(approver).flatMap(([name, key]) => ["--approver", inShell(`${name}=${key}`)]);
  const isTrusting = approvers !== undefined || named.length > 0;
  const trusted = approvers === undefined && named.length > 0 ? [] : approversOption;
  const all: KeysAndApprovers = {
    approvers: isTrusting ? known : await approversIn(file),
    approversOption,
    keys: await keyFiles(place.key),
  };
  const line = (command: string, id: string, who: readonly string[]) =>
    ["phasegate", command, id, ...where, ...who].join(" ");
  const by = ["--by", inShell(userName())];
  const hasApprovers = isTrusting || Object.keys(all.approvers).length > 0;
  // A session behind an approval is changed by those who can check it.
  const checking = hasApprovers ? [...trusted, ...named] : [];
  return {
    answers: ({ what, approvers: asked }, id) => {
      const yes = what === "approval" ? "approve" : "waive";
      if (what === "waiver" && asked === undefined && !hasApprovers) {
        return { who: userName(), first: [], yes: line(yes, id, by), no: line("deny", id, by) };
      }
      const { name: who, key, first } = signerFor(asked, all, place.key);
      const signing = [...(first.length > 0 ? approversOption : trusted), ...named, "--key", key];
      const server = first.length > 0 && approvers === undefined ? `--approvers ${inShell(file)}` : undefined;
      return { who, first, server, yes: line(yes, id, signing), no: line("deny", id, signing) };
    },
    retry: (id) => line("retry", id, [...checking, ...by]),
  };
}

/** Says whose the commands are that come first. A person's name may not be that of their account. */
export function firstText(who: string): string {
  return who === userName() ? "Once, make a key, and add it to the approvers:" : `If you are ${printable(who)}, once:`;
}

/** Says what the server needs, so that it accepts an answer. */
export function serverText(option: string): string {
  return `The server accepts the answer if it is started with the same approvers: ${option}`;
}

/** Returns the approvers in a file; none if it can't be read: the command that adds to it says why. */
async function approversIn(file: string): Promise<Approvers> {
  if (!existsSync(file)) return {};
  const { ApproversFile } = await import("./approvers.js");
  try {
    return new ApproversFile(file).list().approvers;
  } catch (error) {
    if (error instanceof CommandFailure) return {};
    throw error;
  }
}
