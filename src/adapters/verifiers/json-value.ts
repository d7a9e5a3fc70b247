import * as z from "zod";
import type { JsonPlace } from "../../definition/folder/scan-json.js";
import { type JsonValue, storedValueSchema } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import type { Verifier, VerifyRequest } from "../../ports/verifier.js";
import type { Wall } from "../../walls/wall.js";
import { defineVerifier } from "./define-verifier.js";
import { roundedNumber, roundedValue } from "./exact-numbers.js";
import { isEqualJson, parsePointer, placeAt, valueAt } from "./json-pointer.js";
import { textParam, wrongParam } from "./parse-params.js";
import { readJsonText } from "./read-json-text.js";
import { JSON_VARIABLES } from "./rule-params.js";
import { harmless, shownPath } from "./shown-text.js";
import { checkSubject, readSubject, subjectParams } from "./subject.js";
import type { VerifierRules } from "./verifier-rules.js";

const params = z.strictObject({
  ...subjectParams,
  /** A JSON pointer (RFC 6901): `/total/failed`; `""` is the whole. */
  pointer: z.string().max(1000),
  /** The value that must stand there. */
  equals: z.optional(storedValueSchema),
  /** A rule that must hold, over `value` (what stands there), `claimed` (the field's value) and `evidence`. */
  rule: textParam.optional(),
});
type Params = z.infer<typeof params>;

const NAME = "json_value";

/**
 * What stands at a place of a JSON file: equal to `equals`, by a rule, or else what the evidence field
 * says. Files of up to `maxBytes` are read.
 */
export function jsonValue(wall: Wall, maxBytes: number, rules: VerifierRules): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    verbatim: ["pointer", "rule"],
    checkParams(given) {
      checkSubject(given);
      parsePointer(NAME, given.pointer);
      if (given.equals !== undefined) checkEquals(given.equals, given.rule);
      if (given.rule !== undefined) rules.read(NAME, "rule", given.rule, JSON_VARIABLES);
    },
    async verify(given, request) {
      const { path, text, digest } = await readSubject(wall, given, request.value, maxBytes);
      const { value, place } = readJsonText(path, text);
      const keys = parsePointer(NAME, given.pointer);
      const found = valueAt(value, keys);
      const { ok, wanted } = judge(found, placeAt(place, keys), given, request, rules);
      const where = given.pointer === "" ? "it" : harmless(given.pointer);
      const got = found === undefined ? "is not there" : `is ${shown(found)}`;
      return { ok, message: `${shownPath(path)}: ${where} ${got}; wanted: ${wanted}`, ran: shownPath(path), digest };
    },
  });
}

/** Throws `INVALID_INPUT` for what can't be compared with, or not beside a rule. */
function checkEquals(equals: JsonValue, rule: string | undefined): void {
  if (rule !== undefined) throw wrongParam(NAME, "rule", "equals says what is wanted: one of the two");
  const rounded = roundedValue(equals);
  if (rounded === undefined) return;
  throw wrongParam(
    NAME,
    "equals",
    `${rounded} is too large to be compared exactly: write it as a text, in the file too`,
  );
}

interface Judgement {
  readonly ok: boolean;
  readonly wanted: string;
}

function judge(
  found: JsonValue | undefined,
  place: JsonPlace | undefined,
  given: Params,
  request: VerifyRequest,
  rules: VerifierRules,
): Judgement {
  // A field that names the file can't also say what stands in it.
  const claimed = given.path === undefined && given.rule === undefined ? null : (request.value ?? null);
  const wanted = given.equals ?? claimed;
  if (given.rule === undefined && given.equals === undefined && wanted === null) {
    return { ok: found !== undefined && found !== null, wanted: "any value but null" };
  }
  const rounded = (place === undefined ? undefined : roundedNumber(place)) ?? roundedValue(wanted);
  if (rounded !== undefined) {
    return { ok: false, wanted: `numbers that can be compared exactly, and ${rounded} has too many digits` };
  }
  if (given.rule === undefined) return { ok: found !== undefined && isEqualJson(found, wanted), wanted: shown(wanted) };
  return judgeRule(found, claimed, given.rule, request, rules);
}

function judgeRule(
  found: JsonValue | undefined,
  claimed: JsonValue,
  rule: string,
  { evidence }: VerifyRequest,
  rules: VerifierRules,
): Judgement {
  const wanted = harmless(rule);
  if (found === undefined) return { ok: false, wanted };
  const fault = rules.read(NAME, "rule", rule, JSON_VARIABLES).fault({ value: found, claimed, evidence });
  return {
    ok: fault === undefined,
    wanted: fault?.startsWith("doesn't") === false ? `${wanted}, which ${fault}` : wanted,
  };
}
