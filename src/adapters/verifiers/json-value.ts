import * as z from "zod";
import { type JsonValue, storedValueSchema } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import type { Verifier, VerifyRequest } from "../../ports/verifier.js";
import type { Wall } from "../../walls/wall.js";
import { defineVerifier } from "./define-verifier.js";
import { isEqualJson, parsePointer, valueAt } from "./json-pointer.js";
import { textParam, wrongParam } from "./parse-params.js";
import { readJsonText } from "./read-json-text.js";
import { checkRule, type RuleEvaluator, ruleHolds } from "./rules.js";
import { harmless, shownPath } from "./shown-text.js";
import { checkSubject, readSubject, subjectParams } from "./subject.js";

const params = z.strictObject({
  ...subjectParams,
  /** A JSON pointer (RFC 6901): `/total/failed`; `""` is the whole. */
  pointer: z.string().max(1000),
  /** The value that must stand there. */
  equals: storedValueSchema.optional(),
  /** A rule that must hold, over `value` (what stands there), `claimed` (the field's value) and `evidence`. */
  rule: textParam.optional(),
});
type Params = z.infer<typeof params>;

const NAME = "json_value";
const VARIABLES = ["value", "claimed", "evidence"];

/**
 * What stands at a place of a JSON file: equal to `equals`, by a rule, or else what the evidence field
 * says. Files of up to `maxBytes` are read.
 */
export function jsonValue(wall: Wall, maxBytes: number, rules: RuleEvaluator): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    verbatim: ["pointer", "rule"],
    checkParams(given) {
      checkSubject(given);
      parsePointer(NAME, given.pointer);
      if (given.rule === undefined) return;
      if (given.equals !== undefined) throw wrongParam(NAME, "rule", "equals says what is wanted: one of the two");
      checkRule(NAME, given.rule, VARIABLES, rules);
    },
    async verify(given, request) {
      const { path, text, digest } = await readSubject(wall, given, request.value, maxBytes);
      const found = valueAt(readJsonText(path, text), parsePointer(NAME, given.pointer));
      const { ok, wanted } = await judge(found, given, request, rules);
      const place = given.pointer === "" ? "it" : harmless(given.pointer);
      const got = found === undefined ? "is not there" : `is ${shown(found)}`;
      return { ok, message: `${shownPath(path)}: ${place} ${got}; wanted: ${wanted}`, ran: shownPath(path), digest };
    },
  });
}

async function judge(found: JsonValue | undefined, given: Params, request: VerifyRequest, rules: RuleEvaluator) {
  const { value: claimed = null, evidence } = request;
  if (given.rule !== undefined) {
    const holds =
      found !== undefined && (await ruleHolds(NAME, given.rule, { value: found, claimed, evidence }, rules));
    return { ok: holds, wanted: harmless(given.rule) };
  }
  // A field that names the file can't also say what stands in it.
  const wanted = given.equals ?? (given.path === undefined ? null : claimed);
  if (given.equals === undefined && wanted === null) {
    return { ok: found !== undefined && found !== null, wanted: "any value but null" };
  }
  return { ok: isEqualJson(found, wanted), wanted: shown(wanted) };
}
