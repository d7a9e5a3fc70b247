import * as orama from "@orama/orama";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesFilters, TextIndex } from "../../src/search/text-index.js";

/** Names that a loose comparison would confuse. */
const name = fc.constantFrom(
  "spec_v1",
  "spec_v10",
  "Spec_v1",
  "spec v1",
  "spec",
  "v1",
  "",
  "__proto__",
  "constructor",
  "1",
);
const number = fc.constantFrom(0, 1, 10, 11, 2, 100);
const filters = fc.record(
  { workflow: name, phase: number, task: number, tags: fc.array(name, { maxLength: 3 }) },
  { requiredKeys: [] },
);
const chunk = fc.record(
  { workflow: name, phase: number, task: number, tags: fc.uniqueArray(name, { maxLength: 4 }) },
  { requiredKeys: ["tags"] },
);

describe("filters", () => {
  it("select exactly the chunks that they name, even after removals and a round trip to the disk", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(chunk, { maxLength: 25 }), filters, fc.nat(24), async (chunks, asked, gone) => {
        const index = new TextIndex(orama);
        const add = (at: number) => {
          const found = chunks[at];
          if (found !== undefined) index.add({ id: `${at}`, text: "word", headings: "h", about: "a", ...found });
        };
        for (const at of chunks.keys()) add(at);
        index.remove(String(gone));
        add(gone);
        const again = new TextIndex(orama);
        again.load(JSON.parse(JSON.stringify(index.save())));
        const expected = [...chunks.entries()].filter(([, one]) => matchesFilters(one, asked)).map(([at]) => `${at}`);
        for (const one of [index, again]) {
          const found = await one.search("words", asked, 100);
          expect(found.map(([id]) => id).sort()).toEqual(expected.sort());
        }
      }),
      { numRuns: 300 },
    );
  });
});
