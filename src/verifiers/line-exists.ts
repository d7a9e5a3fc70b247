/**
 * The verifier `line_exists`: the places that the evidence names are lines of files, and have the quoted text. A quotation
 * can only be given by somebody who has read the line.
 */
import * as z from "zod";
import type { Verifier } from "../ports/verifier.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import type { JsonValue } from "../workflow/json.js";
import { parseRelativePath, shown } from "../workflow/names.js";
import { countParam, defineVerifier, textParam, wrongParam } from "./define-verifier.js";
import { linesOf } from "./lines.js";
import { checkPaths, isNamedBy, plainPath, refuseFilledGlobs } from "./named-files.js";
import { readSubject, shownPath } from "./subject.js";

const NAME = "line_exists";

export const params = z.strictObject({
  quote: z.boolean().optional().describe("True if each place must quote its line. Default: false."),
  paths: z
    .array(textParam)
    .min(1)
    .max(100)
    .optional()
    .describe("Files, folders and globs: a place must be in one of them. Default: any file."),
  except: z
    .array(textParam)
    .min(1)
    .max(100)
    .optional()
    .describe("Files, folders and globs in which no place may be. Default: none."),
  min: countParam.optional().describe("Minimum number of places in a list. Default: 1."),
});

/** Maximum number of places in one field. */
const PLACES_MAX = 200;

/** A line of a file. */
interface Place {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly quote?: string | undefined;
}

/** Other keys, such as what was found there, are the author's. */
const placeSchema = z.object({ file: textParam, line: z.int().min(1), quote: textParam.optional() });

/** Checks whether lines of files exist, and have the quoted text. */
export function lineExists(sandbox: Sandbox, maxBytes: number): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    checkParams: ({ paths = [], except = [] }) => checkPaths(NAME, [...paths, ...except]),
    async verify(given, { value, session }, signal) {
      refuseFilledGlobs(NAME, [...(given.paths ?? []), ...(given.except ?? [])], session);
      const places = placesIn(value, given.min ?? 1);
      const texts = new Map<string, readonly string[]>();
      const wrong: string[] = [];
      for (const place of places) {
        signal.throwIfAborted();
        const file = parseRelativePath(place.file);
        const outside = outsideOf(file, given);
        const known = texts.get(file);
        const lines = known ?? linesOf((await readSubject(sandbox, { path: place.file }, undefined, maxBytes)).text);
        texts.set(file, lines);
        const fault = outside ?? faultOf(place, lines, given.quote === true);
        if (fault !== undefined) wrong.push(`${shownPath(place.file)}:${place.line}: ${fault}`);
      }
      const first = wrong.slice(0, SHOWN_MAX).join("; ");
      const more = wrong.length > SHOWN_MAX ? `; and ${wrong.length - SHOWN_MAX} more` : "";
      const ran = [...texts.keys()].map(shownPath).join(", ");
      return { ok: wrong.length === 0, message: wrong.length === 0 ? counted(places) : `${first}${more}`, ran };
    },
  });
}

/** Maximum number of wrong places that are named. */
const SHOWN_MAX = 5;

/** Reads `file:line`, an object with `file` and `line`, or a list of these. Throws `INVALID_INPUT`. */
function placesIn(value: JsonValue | undefined, least: number): readonly Place[] {
  const items = Array.isArray(value) ? value : [value];
  if (items.length > PLACES_MAX) throw wrongPlace(`more than ${PLACES_MAX} places are named`);
  if (items.length < least) throw wrongPlace(`${items.length} of at least ${least} places are named`);
  return items.map((item) => {
    if (typeof item === "string") return placeIn(item);
    const place = placeSchema.safeParse(item);
    if (place.success) return place.data;
    const [issue] = place.error.issues;
    throw wrongPlace(`${shown(item)} is not a place: ${issue?.path.join(".")}: ${issue?.message}`);
  });
}

function placeIn(text: string): Place {
  const [, file, line] = /^(.+):([1-9][0-9]{0,8})$/.exec(text.trim()) ?? [];
  if (file !== undefined && line !== undefined) return { file, line: Number(line) };
  throw wrongPlace(`${shown(text)} is not a place: it needs a file and a line`);
}

function wrongPlace(reason: string) {
  return wrongParam(NAME, "", `${reason}; write {"file": "src/a.js", "line": 12, "quote": "the text of that line"}`);
}

function outsideOf(file: string, { paths, except = [] }: z.infer<typeof params>): string | undefined {
  if (paths !== undefined && !paths.some((path) => isNamedBy(plainPath(path), file))) {
    return `it must be in one of ${listed(paths)}`;
  }
  const found = except.find((path) => isNamedBy(plainPath(path), file));
  return found === undefined ? undefined : `it must not be in ${shownPath(found)}`;
}

function listed(paths: readonly string[]): string {
  const first = paths.slice(0, SHOWN_MAX).map(shownPath).join(", ");
  return paths.length > SHOWN_MAX ? `${first}, … (${paths.length} in all)` : first;
}

/** The shortest part of a line that counts as a quotation, in characters; a shorter line is quoted as a whole. */
const QUOTE_MIN = 8;

function faultOf({ line, quote }: Place, lines: readonly string[], mustQuote: boolean): string | undefined {
  const text = lines[line - 1]?.trim();
  if (text === undefined) return `the file has ${lines.length} lines`;
  if (text === "") return "the line is blank";
  if (quote === undefined) return mustQuote ? "quote the text of this line" : undefined;
  const quoted = quote.trim();
  if (!text.includes(quoted)) return `the line does not contain the quoted text ${shown(quoted)}`;
  return quoted.length < Math.min(QUOTE_MIN, text.length) ? "quote more of this line" : undefined;
}

function counted(places: readonly Place[]): string {
  return places.length === 1 ? "the line is there" : `${places.length} lines are there`;
}
