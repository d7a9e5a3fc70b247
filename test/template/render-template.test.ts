import fc from "fast-check";
import { renderTemplate } from "phasegate/plan";
import { describe, expect, it } from "vitest";

/** A valid name of a placeholder, and an invalid one. */
const name = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,12}$/);
const noName = fc.stringMatching(/^[a-z0-9 .,_-][A-Za-z0-9 .,_-]{0,20}$/);
/** Values that would do harm if they were expanded again: placeholders, and patterns of `replace`. */
const hostile = fc.oneof(
  fc.string(),
  name.map((found) => `[${found}]`),
  fc.constantFrom("$&", "$1", "$$", "$`", "$'", "\\1"),
);
/** Prose that contains no placeholder, and forms none next to a value. */
const prose = fc.string().map((text) => text.replaceAll(/[[\]]/g, ""));

describe("renderTemplate", () => {
  it("inserts values literally, in one pass", () => {
    fc.assert(
      fc.property(fc.dictionary(name, hostile), fc.array(fc.tuple(prose, name)), prose, (values, parts, end) => {
        const template = [...parts.map(([text, key]) => `${text}[${key}]`), end].join("");
        const known = (key: string) => (Object.hasOwn(values, key) ? values[key] : `[${key}]`);
        const expected = [...parts.map(([text, key]) => `${text}${known(key)}`), end].join("");
        expect(renderTemplate(template, values)).toBe(expected);
      }),
    );
  });

  it("keeps placeholders without a value, and prose in brackets", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            prose,
            name.map((key) => `[${key}]`),
            noName.map((text) => `[${text}]`),
          ),
        ),
        (parts) => {
          const template = parts.join("");
          expect(renderTemplate(template, {})).toBe(template);
          const lower = Object.fromEntries(
            parts.map((part) => [part.slice(1, -1), "x"]).filter(([key]) => !/^[A-Z]/.test(key ?? "")),
          );
          expect(renderTemplate(template, lower)).toBe(template);
        },
      ),
    );
  });

  it("renders lists as checklists, each item on its own lines", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom("a", " ", "\n", "$", "[", "X", "]") }), { minLength: 1 }),
        (items) => {
          const lines = renderTemplate("[X]", { X: items }).split("\n");
          expect(lines.filter((line) => line.startsWith("- [ ] "))).toHaveLength(items.length);
          expect(lines.every((line) => line.startsWith("- [ ] ") || line.startsWith("  "))).toBe(true);
        },
      ),
    );
  });

  it("renders an empty list as None, and accepts numbers", () => {
    expect(renderTemplate("[A] [B] [C]", { A: [], B: 0, C: "" })).toBe("None 0 ");
  });
});
