import * as z from "zod";
import type { Verifier } from "../ports/verifier.js";
import type { Wall } from "../sandbox/sandbox.js";
import { defineVerifier } from "./define-verifier.js";
import { checkPattern, countMatches, isOftenEnough, patternParams } from "./lines.js";
import { checkSubject, readSubject, shownPath, subjectParams } from "./subject.js";

const params = z.strictObject({ ...subjectParams, ...patternParams });
const NAME = "file_matches";

/** How many lines of a file match a pattern, in linear time. Files of up to `maxBytes` are read. */
export function fileMatches(wall: Wall, maxBytes: number): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    verbatim: ["pattern", "flags"],
    checkParams(given) {
      checkSubject(given);
      checkPattern(NAME, given);
    },
    async verify(given, { value }, signal) {
      const { path, text, digest } = await readSubject(wall, given, value, maxBytes);
      const found = await countMatches(NAME, given, text, signal);
      const { ok, wanted } = isOftenEnough(found, given);
      const what = given.scope === "file" ? "matches of the whole file" : "matching lines";
      const message = `${shownPath(path)} has ${found} ${what} for ${shownPath(given.pattern)}; wanted: ${wanted}`;
      return { ok, message, ran: shownPath(path), digest };
    },
  });
}
