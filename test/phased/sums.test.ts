import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionTally } from "../../src/phased/state/tally.js";
import { TallySums } from "../../src/phased/sums.js";
import { parseSessionId } from "../../src/workflow/names.js";
import { howOften } from "../support/how-often.js";

const STATUSES = ["active", "paused", "completed", "failed"] as const;

const phaseTally = fc.record(
  {
    phase: fc.integer({ min: 1, max: 3 }),
    spent: fc.nat({ max: 20 }),
    state: fc.constantFrom("completed" as const, "completed" as const, "skipped" as const),
    passed: fc.integer({ min: 1, max: 3 }),
    waiversGranted: fc.integer({ min: 1, max: 3 }),
    fields: fc.uniqueArray(
      fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 1, max: 2 }), fc.nat({ max: 1 })),
      { selector: ([field]) => field },
    ),
  },
  { requiredKeys: ["phase", "spent"] },
);

const tally = fc
  .record({
    workflowType: fc.constantFrom("one", "two"),
    status: fc.constantFrom(...STATUSES),
    phase: fc.integer({ min: 1, max: 3 }),
    // Structures with few different ages, some without names.
    pinnedAt: fc.integer({ min: 1, max: 3 }).map((second) => `2026-01-01T00:00:0${second}.000Z`),
    names: fc.constantFrom<[number, string][]>([], [[1, "First"]], [[1, "Other"]]),
    phases: fc.uniqueArray(phaseTally, { selector: ({ phase }) => phase }),
    isUnapproved: fc.boolean(),
  })
  .map(({ isUnapproved, ...rest }) => ({ ...rest, ...(isUnapproved ? { unapproved: true as const } : {}) }));

/** Sets a session's tally, or takes it away. */
const change = fc.record({
  session: fc.nat({ max: 5 }),
  tally: fc.option(tally, { nil: undefined }),
  looks: fc.boolean(),
});

describe("sums of tallies", () => {
  it("are those of the tallies that there are, however they came to be", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const stepwise = new TallySums();
        for (const { session, tally, looks } of changes) {
          const sessionId = parseSessionId(`session_${session}`);
          stepwise.set(sessionId, tally && ({ sessionId, version: 1, hash: "", ...tally } as SessionTally));
          if (!looks) continue;
          const atOnce = new TallySums();
          for (const [id, one] of stepwise.tallies) atOnce.set(id, one);
          for (const only of [undefined, "one", "none"]) expect(stepwise.of(only)).toEqual(atOnce.of(only));
        }
      }),
      { numRuns: howOften(300, 5000) },
    );
  });

  it("name phases as the newest structure does, once the session that it belongs to is gone", () => {
    const sums = new TallySums();
    const one = (id: string, second: number, name: string): SessionTally => ({
      ...{ sessionId: parseSessionId(id), version: 1, hash: "", workflowType: "one", status: "active", phase: 1 },
      ...{ pinnedAt: `2026-01-01T00:00:0${second}.000Z`, names: [[1, name]], phases: [] },
    });
    for (const tally of [one("a", 1, "Old"), one("b", 3, "New"), one("c", 2, "Middle")])
      sums.set(tally.sessionId, tally);
    const nameNow = () => sums.of().workflows[0]?.phases[0]?.name;
    expect(nameNow()).toBe("New");
    sums.set(parseSessionId("b"), undefined);
    // One that is older than the newest of the others does not stand in.
    sums.set(parseSessionId("a"), one("a", 1, "Old"));
    expect(nameNow()).toBe("Middle");
    sums.set(parseSessionId("d"), one("d", 4, "Newest"));
    expect(nameNow()).toBe("Newest");
  });

  it("have the median and the 90th percentile of thousands of times that come and go", () => {
    const sums = new TallySums();
    const spent = new Map<string, number>();
    const put = (id: string, milliseconds: number | undefined) => {
      const sessionId = parseSessionId(id);
      if (milliseconds === undefined) spent.delete(id);
      else spent.set(id, milliseconds);
      sums.set(
        sessionId,
        milliseconds === undefined
          ? undefined
          : {
              ...{ sessionId, version: 1, hash: "", workflowType: "one", status: "completed", phase: 1 },
              ...{ pinnedAt: "", names: [], phases: [{ phase: 1, spent: milliseconds, state: "completed" }] },
            },
      );
    };
    const check = () => {
      const sorted = [...spent.values()].sort((one, other) => one - other);
      const seconds = (share: number) => (sorted[Math.ceil(share * sorted.length) - 1] ?? 0) / 1000;
      expect(sums.of().workflows[0]?.phases[0]?.time).toEqual({
        medianSeconds: seconds(0.5),
        p90Seconds: seconds(0.9),
      });
    };
    // Numbers in an order that looks random, with some twice.
    for (let index = 0; index < 6000; index += 1) put(`s_${index}`, (index * 7919) % 4001);
    check();
    for (let index = 0; index < 6000; index += 3) put(`s_${index}`, undefined);
    check();
    for (let index = 1; index < 6000; index += 3) put(`s_${index}`, index);
    check();
    for (let index = 0; index < 5999; index += 1) put(`s_${index}`, undefined);
    check();
  });
});
