/** Texts that were valid once, and had some of their parts cut, repeated, replaced or mixed. */
import * as fc from "fast-check";

/** One change. Places and lengths are parts of the text, from 0 to 1, so that a change fits any text. */
type Change =
  | { readonly kind: "cut" | "double"; readonly at: number; readonly length: number }
  | { readonly kind: "insert"; readonly at: number; readonly token: string; readonly times: number }
  | { readonly kind: "replace"; readonly at: number; readonly length: number; readonly token: string }
  | {
      readonly kind: "splice";
      readonly at: number;
      readonly from: number;
      readonly length: number;
      readonly seed: string;
    }
  | { readonly kind: "swap"; readonly at: number; readonly from: number };

/** Pieces that have a meaning in many formats, or in none. */
const PIECES = [
  ..."\n \t-#*_`\"'[](){}<>:,.!?%&|=\\/@$~^+;0\u0000\ud800\u2028\ufeff",
  ...[
    "\r\n",
    "- ",
    "- [ ] ",
    "- [x] ",
    "## ",
    "# Phase 1: ",
    "```",
    "~~~",
    "---\n",
    "> ",
    "| a | b |",
    "|---|---|",
    "<!--",
  ],
  ...[
    "-->",
    "{{",
    "}}",
    "${",
    "[a](b.md)",
    "[a]: b",
    "![",
    "https://a.b/c?d#e",
    "&amp;",
    "&#0;",
    "*a",
    "&a ",
    "!!x ",
    "<<: ",
  ],
  ...["null", "true", "1e999", "-1", "9007199254740993", "NaN", "__proto__", "constructor", '{"a":', "[[", "]]", "'''"],
  ...["\u202e", "\u0301", "\u{1f600}", "é", "ﬀ", "１", "\u00a0", "\u0085", "a".repeat(300)],
] as const;

/** Returns an arbitrary of mutated seeds; `tokens` are the words of the format. */
export function mutated(seeds: readonly string[], tokens: readonly string[]): fc.Arbitrary<string> {
  const part = fc.double({ min: 0, max: 1, noNaN: true });
  // Most parts are short: long ones leave little of the text.
  const length = part.map((value) => value ** 4);
  const token = fc.constantFrom(...PIECES, ...tokens);
  const change: fc.Arbitrary<Change> = fc.oneof(
    fc.record({ kind: fc.constantFrom("cut" as const, "double" as const), at: part, length }),
    fc.record({ kind: fc.constant("insert" as const), at: part, token, times: fc.constantFrom(1, 1, 1, 2, 3, 100) }),
    fc.record({ kind: fc.constant("replace" as const), at: part, length, token }),
    fc.record({ kind: fc.constant("splice" as const), at: part, from: part, length, seed: fc.constantFrom(...seeds) }),
    fc.record({ kind: fc.constant("swap" as const), at: part, from: part }),
  );
  return fc
    .tuple(fc.constantFrom(...seeds), fc.array(change, { minLength: 1, maxLength: 6 }))
    .map(([seed, changes]) => changes.reduce(changed, seed));
}

function changed(text: string, change: Change): string {
  const at = Math.round(change.at * text.length);
  switch (change.kind) {
    case "cut":
      return text.slice(0, at) + text.slice(at + lengthIn(text, change.length));
    case "double":
      return text.slice(0, at + lengthIn(text, change.length)) + text.slice(at);
    case "insert":
      return text.slice(0, at) + change.token.repeat(change.times) + text.slice(at);
    case "replace":
      return text.slice(0, at) + change.token + text.slice(at + lengthIn(text, change.length));
    case "splice": {
      const from = Math.round(change.from * change.seed.length);
      return text.slice(0, at) + change.seed.slice(from, from + lengthIn(change.seed, change.length)) + text.slice(at);
    }
    case "swap": {
      const lines = text.split("\n");
      const [one, other] = [change.at, change.from].map((place) => Math.floor(place * (lines.length - 1)));
      if (one === undefined || other === undefined) return text;
      [lines[one], lines[other]] = [lines[other] ?? "", lines[one] ?? ""];
      return lines.join("\n");
    }
  }
}

function lengthIn(text: string, part: number): number {
  return Math.max(1, Math.round(part * text.length));
}
