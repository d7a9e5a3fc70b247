/** A person who is asked during a call of a tool: what they answer, how long the call waits, and who may decide. */
import type { ApprovalSignature } from "../approval/message.js";
import { isPhasegateError } from "../errors.js";
import type { FullClock } from "../ports/clock.js";

/** A person's answer at a gate that requires an approval. */
export interface PersonsAnswer {
  readonly decision: "approve" | "deny";
  /** The name to record; of an approver, where it is signed. */
  readonly by: string;
  /** The reason, which the agent reads after a denial. */
  readonly note?: string;
  /** The approver's signature; without one, the decision counts only if the host allows that. */
  readonly signature?: ApprovalSignature;
}

/** How long a person has for an answer within a call, in milliseconds. */
export const PERSON_MS = 20_000;

/** Waits for a person's decision; undefined if it takes longer. One that comes later counts, too, but is not waited for. */
export async function decidedWithin<T>(
  clock: Pick<FullClock, "after">,
  milliseconds: number,
  deciding: Promise<T | undefined>,
): Promise<T | undefined> {
  let cancel = () => {};
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.after(milliseconds, () => resolve(undefined));
  });
  try {
    return await Promise.race([deciding, late]);
  } finally {
    cancel();
  }
}

/** A person's answer without its decision. */
type Given = Omit<PersonsAnswer, "decision" | "note">;

/** What a decision does to a session. */
interface Deciding<T> {
  approve(given: Given & { readonly note: string | undefined }): Promise<T>;
  deny(given: Given & { readonly note: string }): Promise<T>;
}

/** Takes a person's answer to the session; undefined if there is none, or the caller may not decide. */
export async function takeAnswer<T>(
  asking: Promise<PersonsAnswer | undefined>,
  { approve, deny }: Deciding<T>,
): Promise<T | undefined> {
  const answer = await asking;
  if (answer === undefined) return undefined;
  const { decision, note = "", ...given } = answer;
  return ifAllowed(decision === "deny" ? deny({ ...given, note }) : approve({ ...given, note: note || undefined }));
}

/** Resolves to undefined where the caller may not decide: the question to a person then waits for somebody who may. */
async function ifAllowed<T>(deciding: Promise<T>): Promise<T | undefined> {
  try {
    return await deciding;
  } catch (error) {
    if (isPhasegateError(error, "NOT_ALLOWED")) return undefined;
    throw error;
  }
}
