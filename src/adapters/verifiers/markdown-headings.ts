import * as z from "zod";
import { headingName, plainText } from "../../definition/markdown/inline-text.js";
import type { Verifier } from "../../ports/verifier.js";
import type { Wall } from "../../walls/wall.js";
import { defineVerifier } from "./define-verifier.js";
import { type HeadingsWanted, headingsBelow, headingsOf } from "./headings.js";
import { checkHowOften, howOftenParams, isOftenEnough } from "./how-often.js";
import { textParam } from "./parse-params.js";
import { shownPath } from "./shown-text.js";
import { checkSubject, readSubject, subjectParams } from "./subject.js";

const params = z.strictObject({
  ...subjectParams,
  /** The heading below which they are counted; case and marks don't count. */
  under: textParam.optional(),
  /** How deep they are: 1 to 6. Without it, below `under` those that are one level deeper than it, else all. */
  level: z.int().min(1).max(6).optional(),
  /** Headings that must be among them. */
  names: z.array(textParam).min(1).max(100).optional(),
  ...howOftenParams,
});
/** The parser takes up to eight seconds for a megabyte of headings, and nobody else gets a turn in that time. */
const MARKDOWN_MAX = 256 * 1024;
const NAME = "markdown_headings";

/** How many headings a Markdown file has, and which. Files of up to `maxBytes`, and 256 KiB, are read. */
export function markdownHeadings(wall: Wall, maxBytes: number): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    checkParams(given) {
      checkSubject(given);
      checkHowOften(NAME, given);
    },
    async verify(given, { value }) {
      const { path, text, digest } = await readSubject(wall, given, value, Math.min(maxBytes, MARKDOWN_MAX));
      const found = headingsBelow(headingsOf(text, path), given);
      const { ok, wanted } = isOftenEnough(found?.length ?? 0, given);
      const known = new Set(found?.map(({ text: name }) => headingName(name)));
      const missing = (given.names ?? []).filter((name) => !known.has(headingName(plainText(name))));
      const message = [
        found === undefined ? `there is no heading ${shownPath(given.under ?? "")}` : countText(found.length, given),
        `wanted: ${wanted}`,
        ...(missing.length === 0 ? [] : [`missing: ${missing.map(shownPath).join(", ")}`]),
      ].join("; ");
      const file = shownPath(path);
      return {
        ok: ok && found !== undefined && missing.length === 0,
        message: `${file}: ${message}`,
        ran: file,
        digest,
      };
    },
  });
}

function countText(count: number, { under, level }: HeadingsWanted): string {
  const depth = level === undefined ? "" : ` of level ${level}`;
  return `${count} headings${depth}${under === undefined ? "" : ` under ${shownPath(under)}`}`;
}
