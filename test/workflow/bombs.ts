/** Texts that try to stop a parser: by depth, by expansion, by the number of their parts. */

/** Returns a chain of names in CEL, each bound to an expression with the previous one. */
function bindings(count: number, each: (before: string) => string): string {
  const names = Array.from({ length: count }, (_, index) => (index === 0 ? "value" : `a${index}`));
  return names.reduceRight((body, before, index) => `cel.bind(a${index + 1}, ${each(before)}, ${body})`, "true");
}

const lines = (count: number, line: (index: number) => string) => Array.from({ length: count }, (_, at) => line(at));

/** Rules, each of which was fatal once. */
export const RULE_BOMBS: Readonly<Record<string, string>> = {
  "types that double": bindings(32, (a) => `{${a}: ${a}}`),
  "values that double": bindings(32, (a) => `true ? ${a} : ${a}`),
  "a lambda that doubles": `lambda x: x${".get('a')".repeat(25)} == 1`,
  "a lambda that goes deep": `lambda x: x${"[0]".repeat(20_000)} == 1`,
  "signs without end": `${"!".repeat(15_000)}true`,
  "parentheses without end": `${"(".repeat(10_000)}true${")".repeat(10_000)}`,
  "a pattern without end": `value.matches('${"(".repeat(900)}a${")".repeat(900)}')`,
};

/** Texts of any format, by kind. */
export const TEXT_BOMBS: Readonly<Record<string, string>> = {
  "nothing at all": "",
  "a NUL": "\u0000",
  "half a character": "\ud800",
  "brackets that nobody closes": "[".repeat(20_000),
  "brackets that are closed": `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
  "objects in objects": `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
  "braces in braces": `a: ${"{a: ".repeat(20_000)}1${"}".repeat(20_000)}`,
  "lists in lists, in one line": "- ".repeat(20_000),
  "lists in lists, by indentation": lines(200, (at) => `${" ".repeat(at)}- a`).join("\n"),
  "quotes in quotes": `# Phase 1: a\n\n${">".repeat(20_000)} a`,
  "quotes in quotes, with blanks": `# Phase 1: a\n\n${"> ".repeat(20_000)}a`,
  "marks that nobody closes": `# Phase 1: a\n\n${"*a **b _c [d ![e `f <g ".repeat(2000)}`,
  "links in links": `# a\n\n${"[".repeat(20_000)}a${"](steps/a.md)".repeat(2000)}`,
  "aliases that multiply": [
    "a: &a [x, x, x, x, x, x, x, x, x, x]",
    ...lines(9, (at) => {
      const [before, name] = ["abcdefghij"[at], "abcdefghij"[at + 1]];
      return `${name}: &${name} [${`*${before}, `.repeat(9)}*${before}]`;
    }),
  ].join("\n"),
  "an alias that holds itself": "a: &a [*a]\nb: &b {c: *b}\n",
  "keys that reach a prototype": '{"__proto__": {"x": 1}, "constructor": {"prototype": {}}}',
  "keys without end": lines(1500, (at) => `k${at}: 1`).join("\n"),
  "faults without end": lines(1500, (at) => `a${at}: !t b`).join("\n"),
  "front matter that goes deep": `---\ngate: ${"{a: ".repeat(3000)}\n---\n# a\n`,
  "front matter without an end": `---\n${"a: b\n".repeat(1500)}`,
  "dotted keys that go deep": `${"a.".repeat(20_000)}a = 1\n[${"b.".repeat(20_000)}b]\n`,
  "arrays in arrays": `a = ${"[".repeat(20_000)}${"]".repeat(20_000)}\n`,
  "includes that multiply": "{{file:a.md}}".repeat(1500),
  "values that name each other": `${lines(1250, (at) => `v${at}: "{v${at + 1}}"`).join("\n")}\nv1250: end\n`,
  "values that double": `${lines(60, (at) => `v${at}: "{v${at + 1}}{v${at + 1}}"`).join("\n")}\nv60: "0123456789"\n`,
};

/** Returns a gate file with a rule as the validator of a field. */
export function ruled(rule: string): string {
  return `evidence_schema:\n  x: {type: any, validator: ${JSON.stringify(rule)}}\n`;
}
