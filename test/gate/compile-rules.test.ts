import { afterEach, describe, expect, it, vi } from "vitest";
import { compileRules } from "../../src/gate/judge.js";
import type { FieldGate } from "../../src/workflow/structure.js";

const RUN_RULES = "../../src/gate/run-gate-rules.js";

describe("rules whose engine cannot be loaded", () => {
  afterEach(() => {
    vi.doUnmock(RUN_RULES);
    vi.resetModules();
  });

  it("reject for every caller, and are compiled once it can be loaded", async () => {
    const gate: FieldGate = {
      ...{ kind: "fields", strict: true, allowOverride: false, source: "gate-file" },
      fields: [{ name: "count", type: "integer", required: true }],
      rules: [{ source: "evidence.count > 41", cel: "evidence.count > 41" }],
    };
    const sound = compileRules({ ...gate, rules: [{ source: "true", cel: "true" }] });
    await sound;
    vi.doMock(RUN_RULES, () => ({ createRules: () => Promise.reject(new Error("no memory")) }));
    // The same content, cached under another key.
    const twin = { ...gate };
    const [one, other] = [compileRules(gate), compileRules(twin)];
    await expect(one).rejects.toThrow("no memory");
    await expect(other).rejects.toThrow("no memory");
    vi.doUnmock(RUN_RULES);
    expect(compileRules({ ...gate, rules: [{ source: "true", cel: "true" }] })).toBe(sound);
    for (const again of [gate, twin])
      expect((await compileRules(again))?.check({ count: 42 }, {}, new Set())).toEqual([]);
  });
});
