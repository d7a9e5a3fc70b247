/** A rule's text, in CEL or as a Python lambda, made into one that can be run. */
import { shown } from "../names.js";
import type { PythonScope } from "./python-calls.js";
import { parseLambda } from "./python-parser.js";
import { pythonToCel } from "./python-to-cel.js";
import { PythonFault } from "./python-tokens.js";
import type { RuleField } from "./rule-types.js";

/** What a text is in CEL, or why it is none. */
export type RuleText =
  | { readonly ok: true; readonly cel: string }
  | { readonly ok: false; readonly message: string; readonly hint: string };

/** What a rule is about: a field's value, whose type may not be known yet, or the evidence as a whole. */
export type RuleAbout = { readonly type: RuleField["type"] } | "evidence";

/** How to write what lambdas do that has no twin, by the words of the fault. */
const TWINS: readonly (readonly [RegExp, string])[] = [
  [/^re\b|^\.(?:match|search|fullmatch)/, 'value.matches("^[a-z]+$")'],
  [/^(?:sum|min|max|sorted|len|set|filter|map|abs|round)\b/, "size(value) >= 3 && value.all(item, item > 0)"],
  [/^(?:all|any)\b/, "value.all(item, item == true)"],
  [/^\.count|^\.find|^\.index/, 'value.contains("part")'],
  [/^for\b|^each/, "value.map(item, item * 2)"],
];
const USUAL = 'size(value) >= 3 && value != "todo"';

/** Reads a rule's text. `lambda x: len(x) > 2` and `size(value) > 2` are the same rule. */
export function readRuleText(text: string, about: RuleAbout, fields: readonly RuleField[]): RuleText {
  const source = text.trim();
  if (!/^lambda\b/.test(source)) return { ok: true, cel: source };
  try {
    const { parameters, body } = parseLambda(source);
    const meanings = about === "evidence" ? ["evidence", "session"] : ["value", "params", "evidence"];
    if (parameters.length > meanings.length) throw new PythonFault(0, `a lambda of ${parameters.length} parameters`);
    const names = new Map(parameters.map((name, index) => [name, meanings[index] ?? ""]));
    return { ok: true, cel: pythonToCel(body, { names, isText: isText(about, fields) }) };
  } catch (error) {
    if (!(error instanceof PythonFault)) throw error;
    const what = error.message;
    if (error.isTooMuch) {
      return {
        ok: false,
        message: `the lambda can't be read as a rule: it comes to ${what}, at its character ${error.at + 1}`,
        hint: "Make it shorter, or two rules of it; or write the rule in CEL, where cel.bind gives a value a name.",
      };
    }
    const twin = TWINS.find(([pattern]) => pattern.test(what))?.[1] ?? USUAL;
    return {
      ok: false,
      message: `the lambda can't be read as a rule: it has no twin in CEL for ${shown(what)}, at its character ${error.at + 1}`,
      hint: `Write the rule in CEL, as in ${about === "evidence" ? "evidence.passed == evidence.total" : twin}; docs/gates.md has a table of twins.`,
    };
  }
}

/** Which expressions are texts by the declared types. */
function isText(about: RuleAbout, fields: readonly RuleField[]): PythonScope["isText"] {
  const texts = new Set(fields.filter(({ type }) => type === "string").map(({ name }) => `evidence["${name}"]`));
  if (about !== "evidence" && about.type === "string") texts.add("value");
  return (cel) => texts.has(cel) || /^(?:string\(.*\)|.*\.(?:trim|lowerAscii|upperAscii)\(\)|".*")$/s.test(cel);
}
