import { afterEach, describe, expect, it, vi } from "vitest";
import { failureInWords } from "../../src/rules/compile.js";

const CEL = "@marcbachmann/cel-js";

describe("a rule engine that cannot be loaded", () => {
  afterEach(() => {
    vi.doUnmock(CEL);
    vi.resetModules();
  });

  it("is loaded again by the next caller", async () => {
    vi.resetModules();
    vi.doMock(CEL, () => {
      throw new Error("no such package");
    });
    const { loadRuleLanguage } = await import("../../src/rules/language.js");
    await expect(loadRuleLanguage()).rejects.toThrow();
    vi.doUnmock(CEL);
    const language = await loadRuleLanguage();
    expect(language.forVariables({ n: "integer" }).compile("n > 1")).toMatchObject({ ok: true });
    expect(loadRuleLanguage()).toBe(loadRuleLanguage());
  });
});

describe("the message of a failed rule", () => {
  it.each([
    ["no such overload: !double", '"not" (!) needs true or false, not a number'],
    ["no such overload: -string", "a text can't be negated"],
    ["no such overload: int in dyn<double>", '"in" can\'t search a number'],
    ["no such overload: dyn<null> >= int", "null can't be compared with a whole number (>=)"],
    ["no such overload: list<string> + string", "a list and a text can't be combined with +"],
    ["found no matching overload for 'size(double)'", "there is no size() for a number"],
    [
      "found no matching overload for 'map<string, dyn>.startsWith(string)'",
      "there is no startsWith() for an object and a text",
    ],
    ["found no matching overload for 'now()'", "there is no now() without arguments"],
    ["No such key: a b", 'there is no key "a b"'],
    ["No such key: index out of bounds, index 3 >= size 1", "the list has no element 3, counted from 0"],
    ["Ternary condition must be bool, got 'double'", "true or false is needed, not a number"],
    ["Logical operator requires bool operands, got 'list<dyn>'", "true or false is needed, not a list"],
    ["all(var, predicate) predicate must return bool, got 'string'", "true or false is needed, not a text"],
    ["Expression of type 'double' cannot be range of a comprehension", "a number is not a list"],
    ["int() type error: cannot convert to int", "it can't be converted to a whole number"],
    ["double() type error: cannot convert to double", "it can't be converted to a number"],
    ["bool() conversion error", "it can't be converted to true or false"],
    ["integer overflow: 9223372036854775812", "a whole number becomes too large"],
    ["modulo by zero", "division by zero"],
    ["string.join(separator): list must contain only strings", "only a list of texts can be joined"],
    ["string.substring(start, end): start index out of range", "the text is too short for this part of it"],
    ["no such overload: -google.protobuf.Duration", "google.protobuf.Duration can't be negated"],
    ["Something else of dyn<string>\nand More", "something else of string"],
    ["something Else", "something Else"],
    ["XML", "XML"],
    ["no such overload: dyn + uint", "a value and a whole number can't be combined with +"],
    ["no such overload: int < bool", "a whole number can't be compared with true or false (<)"],
    ["No such key: index out of bounds, index -12 >= size 1", "the list has no element -12, counted from 0"],
    [
      "found no matching overload for 'f(map<string, dyn>, list<map<string, int>>, bool)'",
      "there is no f() for an object and a list and true or false",
    ],
  ])("describes: %s", (said, words) => {
    expect(failureInWords(new Error(`${said}\n\n>    1 | value\n           ^`))).toBe(words);
  });

  it.each([
    ...["no such overload: !double", "no such overload: -string", "no such overload: int in int", "modulo by zero"],
    ...["no such overload: int == bool", "no such overload: int + bool", "found no matching overload for 'now()'"],
    ...["No such key: index out of bounds, index 3 >= size 1", "No such key: a", "integer overflow: 1", "bool() error"],
    ...["Expression of type 'int' cannot be range", "int() type error", "uint() type error", "double() type error"],
    ...["string.join(a): must contain only strings", "string.at(a): index out of range"],
  ])("is not made from what only mentions one: %s", (said) => {
    expect(failureInWords(`What is said: ${said}`)).toBe(`what is said: ${said}`);
    expect(failureInWords(`No such key: ${said} Other`)).toMatch(/^there is no key "|^the list has no element/);
  });

  it("may be made from any thrown value", () => {
    expect(failureInWords("gone")).toBe("gone");
  });
});
