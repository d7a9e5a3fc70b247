import fc from "fast-check";
import { EditMap } from "micromark-util-edit-map";
import { describe, expect, it } from "vitest";
import { fromMarkdown } from "../../src/workflow/from-markdown.js";

type Events = Parameters<EditMap["consume"]>[0];

/** Returns events that only differ from each other. */
function eventsOf(names: readonly string[]): Events {
  return names.map((type) => {
    const parsed: unknown = ["enter", { type }];
    if (isEvent(parsed)) return parsed;
    throw new Error("not an event");
  });
}

function isEvent(value: unknown): value is Events[number] {
  return Array.isArray(value);
}

const namesOf = (events: Events): string[] => events.map(([, { type }]) => type);

describe("EditMap", () => {
  const edits = fc.uniqueArray(
    fc.record({
      at: fc.nat(6).map((place) => 3 * place),
      remove: fc.nat(2),
      add: fc.array(fc.string({ maxLength: 3 }), { maxLength: 2 }),
    }),
    // Overlapping edits have no meaning for the parser.
    { selector: ({ at }) => at, maxLength: 5 },
  );

  it("has the same result as edits applied one by one, from the last to the first", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 3 }), { minLength: 24, maxLength: 30 }), edits, (names, changes) => {
        const map = new EditMap();
        const expected = [...names];
        for (const { at, remove, add } of changes) map.add(at, remove, eventsOf(add));
        for (const { at, remove, add } of changes.toSorted((a, b) => b.at - a.at)) expected.splice(at, remove, ...add);
        const events = eventsOf(names);
        map.consume(events);
        expect(namesOf(events)).toEqual(expected);
        map.consume(events);
        expect(namesOf(events)).toEqual(expected);
      }),
    );
  });

  it("touches nothing before the first edit, so that a long text does not make each edit slower", () => {
    const events = eventsOf(Array.from({ length: 1000 }, (_, index) => String(index)));
    const touched: number[] = [];
    const watched = new Proxy(events, {
      get(target, key) {
        if (typeof key === "string" && /^\d+$/.test(key)) touched.push(Number(key));
        return Reflect.get(target, key);
      },
    });
    const map = new EditMap();
    map.add(995, 1, eventsOf(["new"]));
    map.consume(watched);
    expect(namesOf(events).slice(994)).toEqual(["994", "new", "996", "997", "998", "999"]);
    expect(Math.min(...touched)).toBe(995);
  });
});

describe("fromMarkdown", () => {
  it("parses a long text of underlined headings, quotations and nested lists", () => {
    const text = `${"a\n===\n".repeat(300)}\n${"> b\n\n".repeat(300)}${"- c\n  - d\n".repeat(300)}`;
    const kinds = fromMarkdown(text).children.map(({ type }) => type);
    expect(kinds.filter((type) => type === "heading")).toHaveLength(300);
    expect(kinds.filter((type) => type === "blockquote")).toHaveLength(300);
    expect(kinds.filter((type) => type === "list")).toHaveLength(1);
  });
});
