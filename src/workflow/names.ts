/**
 * Checks every id, workflow type and path from outside: code behind this file may use them as file names, as keys and
 * in messages. The rules are the same on every platform, so that a session stays inside its root when it is moved. Also
 * decides which files agents never see: dot-files, keys and secrets.
 */
import { distance } from "fastest-levenshtein";
import { PhasegateError } from "../errors.js";
import { escapeHidden, HIDDEN } from "./hidden.js";
import { digest } from "./json.js";

/** A checked session id: `[a-z0-9_-]`, 1 to 128 characters, beginning with a letter or digit. */
export type SessionId = string & { readonly [sessionIdBrand]: true };

const SESSION_ID_MAX = 128;

export function isSessionId(value: unknown): value is SessionId {
  return typeof value === "string" && value.length <= SESSION_ID_MAX && /^[a-z0-9][a-z0-9_-]*$/.test(value);
}

/**
 * Returns a value as a session id.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when it is not one.
 */
export function parseSessionId(value: unknown): SessionId {
  if (isSessionId(value)) return value;
  throw new PhasegateError("INVALID_INPUT", `session_id is not valid: ${shown(value)}`, {
    remedy: "Use the session_id as start gave it.",
    details: { field: "session_id", expected: "[a-z0-9][a-z0-9_-]{0,127}" },
  });
}

const WORKFLOW_MAX = 128;

/** The rule of {@link isWorkflowType}, for hints. */
export const WORKFLOW_NAME_RULE = `Use a folder name that every file system accepts: at most ${WORKFLOW_MAX} characters, none of / \\ : * ? " < > |, no hidden ones, no dot at either end, no '..'.`;

/** Characters that a name can't have on some file systems, and blanks other than the common one. */
const NOT_IN_NAMES = /[/\\:*?"<>|\t\n]|(?! )\p{Z}/u;

/** Names of devices on Windows, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** Checks for a folder name that every file system accepts, such as `Größe`, `_private` or `Fix a bug`. */
export function isWorkflowType(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value !== "" &&
    value.length <= WORKFLOW_MAX &&
    new TextEncoder().encode(value).length <= NAME_MAX &&
    value === value.trim() &&
    !/^\.|\.\.|\.$/.test(value) &&
    !NOT_IN_NAMES.test(value) &&
    value.search(HIDDEN) === -1 &&
    !DEVICE.test(value) &&
    !RESERVED.has(value)
  );
}

/** Names that reach an object's prototype, and are refused everywhere. */
export const RESERVED: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Returns `<workflow_type>_<target>_<suffix>`. The suffix is the start time, or another text. */
export function sessionIdFor(workflowType: string, target: string, suffix: string): SessionId {
  return parseSessionId(`${sessionIdPrefix(workflowType, target)}${suffix}`);
}

/** Returns 40 bits of a random id in eight characters: nobody can guess the id of a session that ends with them. */
export function randomEnd(randomId: string): string {
  return Number.parseInt(digest(randomId).slice(0, 10), 16).toString(32).padStart(8, "0");
}

/** Maximum length of the suffix that distinguishes sessions on one target. */
const SUFFIX_MAX = 24;

/** Returns the prefix of the session ids for a workflow and a target. Similar names can share a prefix. */
export function sessionIdPrefix(workflowType: string, target: string): string {
  const maxChars = SESSION_ID_MAX - SUFFIX_MAX - 2;
  const type = slug(workflowType).slice(0, Math.floor(maxChars / 2)) || "workflow";
  const name = slug(target)
    .slice(-(maxChars - type.length))
    .replace(/^_+/, "");
  return `${type}_${name || "target"}_`;
}

/** Returns a value from outside for use in a message: one line, no hidden characters, at most 80 characters. */
export function shown(value: unknown): string {
  const line = escapeHidden(jsonOf(value));
  // Half a character at the end would be a hidden one.
  return line.length > 80 ? `${line.slice(0, 79).replace(/[\uD800-\uDBFF]$/, "")}…` : line;
}

const PATH_MAX = 1024;
/** Maximum length of a name in a path, in bytes of UTF-8, as common file systems have it. */
const NAME_MAX = 255;

/**
 * Returns a path relative to a root, with `/` as separator and without `.` segments; the root itself is `.`.
 *
 * @throws {PhasegateError} `PATH_REFUSED` for absolute paths, drives, UNC names, `..`, control characters, and paths or
 * names that are too long.
 */
export function parseRelativePath(value: unknown): string {
  if (typeof value !== "string") throw refusal(value, "it is not a string");
  if (value.trim() === "") throw refusal(value, "it is empty", true);
  if (value.length > PATH_MAX) throw refusal(value, `it is longer than ${PATH_MAX} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (/[\u0000-\u001f\u007f]/.test(value)) throw refusal(value, "it contains a control character");
  if (/^[\\/]/.test(value)) throw refusal(value, "it is absolute");
  if (/^[A-Za-z]:/.test(value)) throw refusal(value, "it names a drive");
  const segments = value.split(/[\\/]+/).filter((segment) => segment !== "" && segment !== ".");
  if (segments.includes("..")) throw refusal(value, "it leaves its root ('..')");
  const long = segments.find((segment) => new TextEncoder().encode(segment).length > NAME_MAX);
  if (long !== undefined) throw refusal(value, `a name in it is longer than ${NAME_MAX} bytes`);
  return segments.join("/") || ".";
}

/** Checks whether a path is relative to a root and written as {@link parseRelativePath} returns it. */
export function isPlainPath(path: string): boolean {
  try {
    return parseRelativePath(path) === path;
  } catch {
    return false;
  }
}

/** Maximum number of candidates that are compared with a name: input may contain a million. */
const COMPARED_MAX = 1000;
/** Maximum number of characters by which a candidate may be longer than the name. */
const LONGER_MAX = 1000;

/** Returns the candidate that a misspelt name probably means; `most` limits the letters in which they differ. */
export function nearest(
  name: string,
  candidates: Iterable<string>,
  most = Math.max(1, Math.floor(name.length / 3)),
): string | undefined {
  const wanted = normal(name);
  if (wanted === "") return undefined;
  let best: string | undefined;
  let least = most + 1;
  let left = COMPARED_MAX;
  for (const candidate of candidates) {
    left -= 1;
    if (left < 0) break;
    if (candidate.length > name.length + LONGER_MAX) continue;
    const steps = distance(wanted, normal(candidate));
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** Returns `; did you mean X?` with the candidate that is nearest to a misspelt name; empty if none is near enough. */
export function orNearest(
  name: string,
  candidates: Iterable<string>,
  write: (near: string) => string = String,
): string {
  const near = nearest(name, candidates);
  return near === undefined ? "" : `; did you mean ${write(near)}?`;
}

/** Returns `Did you mean X?` with the candidate that is nearest to a misspelt name; `otherwise` if none is near enough. */
export function meantOr(
  name: string,
  candidates: Iterable<string>,
  otherwise: string,
  write: (near: string) => string = String,
): string {
  const near = nearest(name, candidates);
  return near === undefined ? otherwise : `Did you mean ${write(near)}?`;
}

/** Returns the first texts of a list, and the number of the others: `a, b, and 3 more`. */
export function firstFew(texts: readonly string[], most: number, separator = ", "): string {
  const more = texts.length > most ? `${separator}and ${texts.length - most} more` : "";
  return `${texts.slice(0, most).join(separator)}${more}`;
}

declare const sessionIdBrand: unique symbol;

function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_|_$/g, "");
}

/** Returns JSON, or the type of a value that JSON can't express: a BigInt, a circular object. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(typeof value === "string" ? value.slice(0, 200) : value) ?? typeof value;
  } catch {
    return typeof value === "object" ? "an object" : `a ${typeof value}`;
  }
}

function refusal(value: unknown, reason: string, isMistake = false): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `the path ${shown(value)} is refused: ${reason}`, {
    remedy: "Give a path relative to the root, such as 'src/calculator.py'.",
    details: { reason, ...(isMistake ? { isMistake } : {}) },
  });
}

/** Returns a name without case and separators: `srdCreated` and `SRD_CREATED` are the same to an author. */
function normal(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}\p{M}]/gu, "");
}

/** Start of a name's telling part as a whole word: `prod.secrets.yaml`, `my_id_rsa`, but not `grid_rsa`. */
const START = "(?<![a-z0-9])";

/** End of a name's telling part: `x.pem.md` and `server.key~` are copies of keys, `x.keyboard` is not. */
const END = "(?:bak|backup|old|orig|save|swp|tmp|copy)?(?![a-z])";

/** Names of files that hold keys and secrets, in lower case. */
const SECRETS: readonly RegExp[] = [
  new RegExp(`${START}id_(?:rsa|dsa|ecdsa|ed25519)`),
  new RegExp(String.raw`\.(?:pem|key|p8|p12|pfx|pkcs12|ppk|pvk|jks|keystore|keytab|kdbx|asc|gpg|pgp)${END}`),
  new RegExp(String.raw`\.(?:env|npmrc|netrc|pgpass|pypirc|htpasswd|git-credentials|dockercfg)${END}`),
  new RegExp(String.raw`(?:^|[.#~])(?:credentials|secrets?)\.(?:json|ya?ml|toml|ini|txt|env)${END}`),
  /^_netrc/,
  /^\.(?:git|ssh|aws|azure|gnupg|docker|kube)$/,
];
/** Names that mean secrets alone, but also name folders of texts about secrets. */
const WORDS = /^(?:[#~]*|.*\.)(?:credentials|secrets?)(?:[~#]|\.(?:bak|backup|old|orig|save|swp|tmp|copy))*$/;

const SECRET = "keys and secrets are kept back";

/** Returns why a path may be neither read nor written: a dot-file, a key or secret, or a copy of one. */
export function keptBack(path: string): string | undefined {
  const names = path === "." ? [] : path.split("/");
  if (names.some((name) => name.startsWith("."))) return "names that begin with '.' are kept back";
  return names.some((name) => isSecret(name, [...SECRETS, WORDS])) ? SECRET : undefined;
}

/**
 * Returns why a path may not be read, in folders that the host has named itself: workflows, guides and plans. Only keys
 * and secrets are refused there. Names may begin with a dot, because Kubernetes links to `..data` and Kiro keeps
 * specifications in `.kiro`, and a folder or workflow may be called `secrets`.
 */
export function secretIn(path: string): string | undefined {
  return path.split("/").some((name) => isSecret(name, SECRETS)) ? SECRET : undefined;
}

function isSecret(name: string, secrets: readonly RegExp[]): boolean {
  // File systems may fold case and Unicode forms.
  const plain = name.normalize("NFKC").toLowerCase();
  return secrets.some((secret) => secret.test(plain));
}
