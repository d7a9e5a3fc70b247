/**
 * The file or folder that a verifier checks, and how texts from outside appear in results: on one line, bounded, and
 * without misleading characters.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { excerpt } from "../gate/excerpt.js";
import { type FileSignature, identityOf } from "../sandbox/read.js";
import { notText, pathRefused } from "../sandbox/refusals.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { escapeHidden } from "../workflow/hidden.js";
import type { JsonValue } from "../workflow/json.js";
import { firstFew, parseRelativePath, shown } from "../workflow/names.js";
import type { Asked, Outcome } from "./define-verifier.js";
import { textParam } from "./params.js";

/** Parameters of all verifiers that check a file or a folder. */
export const subjectParams = {
  path: textParam
    .optional()
    .describe("The path, relative to the root of the project. Default: the value of the evidence field."),
  allow_link: z
    .boolean()
    .optional()
    .describe("True if the file may be a link to another file in the project. Default: false."),
};

type SubjectParams = z.infer<z.ZodObject<typeof subjectParams>>;

/** Maximum number of paths in one field. */
const PATHS_MAX = 100;

/** Returns the paths to check: the parameter, or the evidence, a path or a list of paths. Throws `INVALID_INPUT`. */
export function subjectsOf({ path }: SubjectParams, value: JsonValue | undefined): readonly string[] {
  const claimed = path ?? value;
  const paths = Array.isArray(claimed) ? claimed : [claimed];
  if (paths.length === 0) throw notAPath("the list of paths is empty");
  if (paths.length > PATHS_MAX) throw notAPath(`more than ${PATHS_MAX} paths are named`);
  return paths.map((item) => {
    if (typeof item === "string") return item;
    throw notAPath("the evidence must be a path, or a list of paths");
  });
}

/** Throws `PATH_REFUSED` for a path that ends like the path of a folder. */
export function refuseFolderPath(path: string): void {
  if (!/[\\/]\.?$/.test(path)) return;
  throw pathRefused(path, "it ends like the path of a folder, and must name a file");
}

/**
 * Throws `PATH_REFUSED` for a link, unless the author allows it: otherwise another good file could be submitted under a
 * new name. Folders before it may be links that stay in the project.
 */
export async function refuseLink(sandbox: Sandbox, path: string, { allow_link }: SubjectParams): Promise<void> {
  if (allow_link === true || !(await sandbox.isLink(path))) return;
  throw pathRefused(path, "it is a symbolic link");
}

/** A file or a folder that the evidence names; without a signature if it doesn't exist. */
interface NamedSubject {
  readonly path: string;
  readonly signature?: FileSignature | undefined;
}

/**
 * Throws `INVALID_INPUT` if a list names one file or folder twice, by another spelling, a link or a hard link: an agent
 * that must show two files must not show one.
 */
export function refuseTwice(kind: "file" | "folder", subjects: readonly NamedSubject[]): void {
  const paths = new Set<string>();
  const found = new Map<string, string>();
  for (const { path, signature } of subjects) {
    const plain = parseRelativePath(path);
    if (paths.has(plain)) throw notAPath(`${shownPath(plain)} is named twice`);
    paths.add(plain);
    const identity = signature === undefined ? undefined : identityOf(signature);
    if (identity === undefined) continue;
    const other = found.get(identity);
    if (other !== undefined) throw notAPath(`${shownPath(plain)} is the same ${kind} as ${shownPath(other)}`);
    found.set(identity, plain);
  }
}

/** Reads the file to check, as UTF-8 without its byte order mark. Throws the errors of the sandbox. */
export async function readSubject(
  sandbox: Sandbox,
  params: SubjectParams,
  value: JsonValue | undefined,
  maxBytes: number,
) {
  const [path, ...others] = subjectsOf(params, value);
  if (path === undefined || others.length > 0) throw notAPath("the evidence must be one path");
  refuseFolderPath(path);
  await refuseLink(sandbox, path, params);
  const { bytes } = await sandbox.readBytes(path, { maxBytes });
  return { path, text: decoded(bytes, path), digest: sha256(bytes) };
}

/** Judges the text of the file to check; the result names the file. `shownName` is its path for a message. */
export async function judgeText(
  given: SubjectParams,
  { project, value }: Asked,
  judge: (text: string, shownName: string, path: string) => Outcome | Promise<Outcome>,
  maxBytes = project.limits.maxFileBytes,
): Promise<Outcome> {
  const { path, text, digest } = await readSubject(project.sandbox, given, value, maxBytes);
  const ran = shownPath(path);
  return { ...(await judge(text, ran, path)), ran, digest };
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Returns a path for a message: on one line, and bounded. */
export function shownPath(path: string): string {
  return shown(path).slice(1, -1);
}

export function shownPaths(paths: readonly string[], most = 10): string {
  return firstFew(paths.map(shownPath), most);
}

/** Returns a text without terminal commands, and with escapes for control and hidden characters. */
export function harmless(text: string): string {
  return escapeHidden(withoutEscapes(text));
}

/** Colours, cursor movements, titles and links of terminals. The alternatives can't overlap. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
const ESCAPES = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]/g;

/** Returns a text without terminal commands: inside a path they would keep it from being found. */
export function withoutEscapes(text: string): string {
  return text.replace(ESCAPES, "");
}

const LINES_MAX = 40;
const LINE_MAX = 200;

/** Returns the lines of an output that are kept: of a long one those that tell what failed, and the last ones. */
export function outputLines(text: string): string[] {
  const lines = text
    .trimEnd()
    .split(/\r\n|\n|\r/)
    .map((line) => line.slice(0, 4 * LINE_MAX));
  if (lines.length === 1 && lines[0] === "") return [];
  return excerpt(lines, LINES_MAX).map((line) => shortened(harmless(line), LINE_MAX));
}

const COMMAND_MAX = 300;

/** Returns a command with its arguments, as a person would type it. */
export function shownCommand(argv: readonly string[]): string {
  const words = argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word)));
  return shortened(harmless(words.join(" ").replaceAll("\n", " ")), COMMAND_MAX);
}

function notAPath(reason: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", reason, {
    remedy: "Submit a path relative to the project root, such as 'docs/report.md'.",
    details: { expected: "a path relative to the project root" },
  });
}

function decoded(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw notText(path);
  }
}

export function shortened(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}
