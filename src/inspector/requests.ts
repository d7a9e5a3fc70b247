/** What requests say: path, query and body, each checked before anything else reads it. */
import * as z from "zod/mini";
import { signatureSchema } from "../approval/message.js";
import { PhasegateError } from "../errors.js";
import { readText, USED_BODY } from "../runtime/body.js";
import { ENGLISH } from "../workflow/zod-issues.js";

const BODY_MAX = 64 * 1024;

export const loginBody = z.object({ token: z.string().check(z.maxLength(16_384)) });
const name = z.string().check(z.maxLength(200));
const text = z.string().check(z.maxLength(2000));
const challenge = {
  decision: z.enum(["approve", "deny"]),
  by: name,
  note: z.optional(text),
  // The request that the person has seen.
  request: name,
};
export const challengeBody = z.object(challenge);
export const answerBody = z.object({
  ...challenge,
  what: z.enum(["approval", "waiver"]),
  evidenceHash: z.optional(name),
  // The signature of the challenge; missing for an answer that is not signed.
  signature: z.optional(signatureSchema),
});
export const invitationBody = z.object({ invitation: name, response: z.optional(z.unknown()) });
/** What the host may do with a session. */
export type HostAction = "retry" | "skip" | "override" | "pause" | "resume" | "delete";
export const HOST_ACTIONS = [
  "retry",
  "skip",
  "override",
  "pause",
  "resume",
  "delete",
] as const satisfies readonly HostAction[];
export const actionBody = z.object({
  action: z.enum(HOST_ACTIONS),
  by: name,
  note: text,
  // The phase that the person has seen.
  phase: z.optional(z.int()),
});
export type ChallengeBody = Readonly<z.infer<typeof challengeBody>>;
export type AnswerBody = Readonly<z.infer<typeof answerBody>>;
export type ActionBody = Readonly<z.infer<typeof actionBody>>;

export async function bodyOf<T>(request: Request, schema: z.ZodMiniType<T>): Promise<T> {
  const read = await readText(request, BODY_MAX);
  if (!read.ok && read.why === "used")
    throw new PhasegateError("INTERNAL", USED_BODY.message, { remedy: USED_BODY.remedy, details: {} });
  if (!read.ok && read.why === "large") throw invalid("body", `at most ${BODY_MAX} bytes`, "Write less.");
  let value: unknown;
  try {
    value = JSON.parse(read.ok ? read.text : "");
  } catch {
    throw invalid("body", "JSON", "Send the body as JSON.");
  }
  const checked = schema.safeParse(value, ENGLISH);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const field = issue?.path.join(".") || "body";
  const expected = issue?.message.replace(/^(Invalid|Too) \w+: /, "") ?? "";
  throw refused(field, expected, expected, field === "body" ? "Send an object." : "Correct this member of the body.");
}

export const LOCAL_NAMES: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];

/** Returns the name that a client gives the server, with its port and without. The URL may be the server's own idea. */
export function hostOf({ headers, url }: Request): { readonly host: string; readonly name: string } {
  const host = (headers.get("host") ?? new URL(url).host).toLowerCase();
  return { host, name: host.replace(/:\d+$/, "") };
}

/** Returns the origin of the page that a request comes from; browsers name it with every change. */
export function originOf({ headers, url }: Request): string {
  return headers.get("origin") ?? new URL(url).origin;
}

export function numberIn(query: URLSearchParams, key: string): number | undefined {
  const value = query.get(key);
  return value === null ? undefined : numberOf(key, value, "Begin at the first page.");
}

/** Returns the whole number that a text is; throws `INVALID_INPUT` for any other text. */
export function numberOf(field: string, text: string, remedy: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid(field, "a whole number", remedy);
}

export function segmentsOf(path: string): readonly string[] {
  try {
    return path.split("/").map(decodeURIComponent);
  } catch {
    throw invalid("path", "a path whose % signs are followed by two digits", "Correct the URL.");
  }
}

export function invalid(field: string, expected: string, remedy: string): PhasegateError<"INVALID_INPUT"> {
  return refused(field, `${expected} expected`, expected, remedy);
}

export function refused(field: string, why: string, expected: string, remedy: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} is not valid: ${why}`, { remedy, details: { field, expected } });
}
