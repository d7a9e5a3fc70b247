import { describe, expect, it } from "vitest";
import { FILTERS, filterOf, isChosen, isStuck } from "../../src/read/filter.js";
import type { ListedSession } from "../../src/read/model.js";

const SESSION: ListedSession = {
  sessionId: "bug_fix_src_a_20261122_010656_k3f9abcd" as ListedSession["sessionId"],
  kind: "phased",
  workflowType: "bug_fix",
  target: "src/A.ts",
  status: "active",
  current: 2,
  total: 3,
  createdAt: "2026-11-22T01:06:56.000Z",
  activeSince: 0,
  updatedAt: "2026-11-22T02:00:00.000Z",
  owner: "amy",
  waitsFor: ["approval"],
  phaseName: "Build and test",
};

describe("the filters of a list", () => {
  it.each([
    ["kind", "phased", "routed"],
    ["status", "paused,needs_you", "paused,working"],
    ["workflow", "bug_fix", "bug"],
    ["owner", "amy", "am"],
    ["phase", "2", "1"],
    ["waiting", "approval", "waiver"],
    ["waiting", "any", "host"],
    ["text", "SRC/a", "src/b"],
    ["text", "2 Build", "3 build"],
    ["text", "AMY", "ben"],
  ])("let a session through by %s", (name, matching, other) => {
    expect(isChosen(SESSION, filterOf(new URLSearchParams([[name, matching]])))).toBe(true);
    expect(isChosen(SESSION, filterOf(new URLSearchParams([[name, other]])))).toBe(false);
  });

  it("are those of the query that have a value", () => {
    const query = new URLSearchParams([...FILTERS.map((name) => [name, ""]), ["owner", "ben"], ["cursor", "x"]]);
    expect(filterOf(query)).toEqual({});
    query.delete("owner");
    query.set("owner", "ben");
    expect(filterOf(query)).toEqual({ owner: "ben" });
  });

  it("let through a session that waits for nobody, and has no owner, unless they ask for some", () => {
    const { owner: _, waitsFor: __, ...plain } = SESSION;
    expect(isChosen(plain, {})).toBe(true);
    expect(isChosen(plain, { waiting: "any" })).toBe(false);
    expect(isChosen(plain, { owner: "amy" })).toBe(false);
  });

  it("find sessions in which something was waived", () => {
    expect(isChosen(SESSION, { waived: "yes" })).toBe(false);
    expect(isChosen({ ...SESSION, waived: true }, { waived: "yes" })).toBe(true);
  });

  it.each(["waived", "Waiver", "coverage", "by zoë", "licence, coverage waived by Zoë"])(
    "find what was waived, and by whom: %s",
    (text) => {
      const waivers = [{ fields: ["licence", "coverage"], by: "Zoë" }];
      expect(isChosen(SESSION, { text })).toBe(false);
      expect(isChosen({ ...SESSION, waived: true, waivers }, { text })).toBe(true);
    },
  );

  it("say what is stuck: what is at work, and has not changed for as long", () => {
    const now = Date.parse(SESSION.updatedAt) + 60_000;
    const { waitsFor: _, ...working } = SESSION;
    expect(isStuck(working, 59, now)).toBe(true);
    expect(isStuck(working, 60, now)).toBe(false);
    expect(isStuck(SESSION, 59, now)).toBe(false);
    expect(isStuck({ ...working, status: "paused" }, 59, now)).toBe(false);
  });
});
