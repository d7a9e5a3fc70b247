/**
 * Static tokens, and the text of a tokens file. A token is `pgt_`, the id of its entry, `_`, and a secret of 32 random
 * bytes. The file has a salted SHA-256 of the whole token: so much chance can't be guessed, so no slow hash is needed. Pure.
 */
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { type Actor, isOwnerName, ROLES, type Role } from "../ports/actor.js";
import { check, checkOptions, optionally, text, texts } from "../workflow/host-options.js";
import { digest } from "../workflow/json.js";
import { shown } from "../workflow/names.js";

/** How each token begins: programs that search texts for secrets find it. */
export const TOKEN_PREFIX = "pgt_";

const TOKEN = /^pgt_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/;

/** Checks the name of a token's actor. `://` is in the names of OAuth users alone, so nobody is both by accident. */
export function isTokenName(name: string): boolean {
  return isOwnerName(name) && !name.includes("://");
}

/** What a tokens file has of one token. Times are ISO 8601 in UTC. */
export interface TokenEntry {
  /** The part of the token that is no secret: 16 hexadecimal digits. */
  readonly id: string;
  /** The actor. */
  readonly name: string;
  /** What the actor may do; at least one. */
  readonly roles: readonly Role[];
  /** The team that the actor belongs to. */
  readonly team?: string;
  /** 16 random bytes, in hexadecimal digits. */
  readonly salt: string;
  /** The SHA-256 of salt and token, in hexadecimal digits. */
  readonly hash: string;
  /** When it was made. */
  readonly created: string;
  /** When it ends. Missing: never. */
  readonly expires?: string;
  /** When it was revoked. */
  readonly revoked?: string;
}

const time = z.iso.datetime();
const entrySchema: z.ZodType<TokenEntry> = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  name: z.string().refine(isTokenName, 'expected 1 to 200 visible characters, without "://"'),
  roles: z.array(z.enum(ROLES)).min(1),
  team: z.string().refine(isOwnerName, "expected 1 to 200 visible characters").exactOptional(),
  salt: z.string().regex(/^[0-9a-f]{32}$/),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  created: time,
  expires: time.exactOptional(),
  revoked: time.exactOptional(),
});
const fileSchema = z.strictObject({ tokens: z.array(entrySchema) });

/** The entries of a tokens file by their ids. */
export type Tokens = ReadonlyMap<string, TokenEntry>;

/** What a new token is for. */
export interface TokenRequest extends Pick<Actor, "name" | "team"> {
  /** What its actor may do; at least one. */
  readonly roles: readonly Role[];
  /** When it ends, in milliseconds since 1970. Default: never. */
  readonly expires?: number;
}

/**
 * Creates a token and its entry for the tokens file. The token is nowhere else: show it once, and don't store it.
 *
 * @throws {PhasegateError} `INVALID_INPUT` for a name, a team or a role that can't be.
 */
export function createToken(
  request: TokenRequest,
  now = Date.now(),
): { readonly token: string; readonly entry: TokenEntry } {
  checkOptions("createToken", request, {
    name: text,
    team: optionally(text),
    roles: texts,
    expires: optionally(
      check(
        "milliseconds since 1970",
        (value) => typeof value === "number" && !Number.isNaN(new Date(value).getTime()),
      ),
    ),
  });
  const { name, team, roles, expires } = request;
  const [id, salt] = [hexOf(random(8)), hexOf(random(16))];
  const token = `${TOKEN_PREFIX}${id}_${base64UrlOf(random(32))}`;
  const entry = entrySchema.safeParse({
    ...{ id, name, roles: [...new Set(roles)] },
    ...(team !== undefined && { team }),
    ...{ salt, hash: hashOf(salt, token), created: timeOf(now) },
    ...(expires !== undefined && { expires: timeOf(expires) }),
  });
  if (entry.success) return { token, entry: entry.data };
  throw invalid("the token", entry.error, `Give a name, and roles of: ${ROLES.join(", ")}.`);
}

/**
 * Reads the text of a tokens file.
 *
 * @throws {PhasegateError} `INVALID_INPUT` for any other text; it says where.
 */
export function readTokens(text: string, file = "the tokens file"): Tokens {
  const remedy = "Write it with `phasegate tokens add NAME --role ROLE --tokens FILE`.";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    // The message of JSON.parse quotes the text, and with it parts of hashes.
    throw new PhasegateError("INVALID_INPUT", `${file} is not JSON`, { remedy, details: {}, cause });
  }
  const parsed = fileSchema.safeParse(value);
  if (!parsed.success) throw invalid(file, parsed.error, remedy);
  const tokens = new Map(parsed.data.tokens.map((entry) => [entry.id, entry]));
  if (tokens.size === parsed.data.tokens.length) return tokens;
  throw new PhasegateError("INVALID_INPUT", `${file} has two tokens of one id`, { remedy, details: {} });
}

/**
 * Returns the text of a tokens file.
 *
 * @throws {PhasegateError} `INVALID_INPUT` for what is no entry, such as all that {@link createToken} returns: the token
 * itself must not be in the file.
 */
export function tokensText(entries: Iterable<TokenEntry>): string {
  const parsed = fileSchema.safeParse(JSON.parse(JSON.stringify({ tokens: [...entries] })));
  if (!parsed.success) throw invalid("an entry", parsed.error, "Give the `entry` of what createToken() returns.");
  return `${JSON.stringify(parsed.data, undefined, 2)}\n`;
}

/** Returns whether a token can still be used; only `valid` ones can. */
export function tokenState(
  { expires, revoked }: Pick<TokenEntry, "expires" | "revoked">,
  now: number,
): "valid" | "expired" | "revoked" {
  if (revoked !== undefined) return "revoked";
  return expires !== undefined && Date.parse(expires) <= now ? "expired" : "valid";
}

/** Compared with if there is no such entry, so that a guess of an id takes as long as a guess of a secret. */
const NOBODY = { salt: "0".repeat(32), hash: "0".repeat(64) };

/** Returns the entry of a token, revoked and expired ones included; undefined for any other text. */
export function entryOf(tokens: Tokens, token: string, isSame = isSameText): TokenEntry | undefined {
  const [, id] = TOKEN.exec(token) ?? [];
  if (id === undefined) return undefined;
  const entry = tokens.get(id);
  const { salt, hash } = entry ?? NOBODY;
  return isSame(hashOf(salt, token), hash) ? entry : undefined;
}

/** Compares texts of one length. The time that it takes does not say where they differ. */
export function isSameText(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

function hashOf(salt: string, token: string): string {
  return digest(`${salt}${token}`);
}

function random(bytes: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(bytes));
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function base64UrlOf(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replace(/[+]/g, "-").replace(/[/]/g, "_").replaceAll("=", "");
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function invalid(what: string, { issues: [issue] }: z.ZodError, remedy: string): PhasegateError<"INVALID_INPUT"> {
  const path = (issue?.path ?? [])
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("");
  const where = path === "" ? "" : ` at ${shown(path.replace(/^[.]/, "")).slice(1, -1)}`;
  return new PhasegateError("INVALID_INPUT", `${what} is wrong${where}: ${issue?.message}`, { remedy, details: {} });
}
