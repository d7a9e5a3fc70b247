import { describe, expect, it } from "vitest";
import { withPhaseKeys } from "../../src/rules/rename-phases.js";

const KEYS: ReadonlyMap<string, string> = new Map([
  ["1", "Test"],
  ["2", "The second phase"],
  ["3", "3"],
  ["test", "Try it"],
  ["old name", 'A "new" one'],
]);

/** Returns a rule with the new keys, and the keys that were asked for. */
async function renamed(rule: string) {
  const wanted: string[] = [];
  const text = await withPhaseKeys(rule, (key) => {
    wanted.push(key);
    return KEYS.get(key);
  });
  return { text, wanted };
}

describe("a rule whose phases get other keys", () => {
  it.each([
    ['artifacts["1"].count == 1', 'artifacts["Test"].count == 1'],
    ["artifacts['1'].count == 1", 'artifacts["Test"].count == 1'],
    ["artifacts[1].count == 1", 'artifacts["Test"].count == 1'],
    ['"1" in artifacts', '"Test" in artifacts'],
    ["1 in artifacts && evidence.x == 1", '"Test" in artifacts && evidence.x == 1'],
    ['artifacts["old name"].x', 'artifacts["A \\"new\\" one"].x'],
    ["artifacts[1]", 'artifacts["Test"]'],
    // A longer key before another one, and one in another.
    ['artifacts["2"].a == artifacts["1"].b', 'artifacts["The second phase"].a == artifacts["Test"].b'],
    ['artifacts["1"].b == artifacts["2"].a', 'artifacts["Test"].b == artifacts["The second phase"].a'],
    [
      "[1].all(n, artifacts[2].a == n) || 1 in artifacts",
      '[1].all(n, artifacts["The second phase"].a == n) || "Test" in artifacts',
    ],
    ['artifacts["1"]["1"] == "1"', 'artifacts["Test"]["1"] == "1"'],
    ['artifacts["1"][artifacts["2"].key] == 1', 'artifacts["Test"][artifacts["The second phase"].key] == 1'],
    ['evidence.x == "Größe 🎉" && artifacts[1].a', 'evidence.x == "Größe 🎉" && artifacts["Test"].a'],
    ['artifacts["""1"""].a && artifacts[r"2"].b', 'artifacts["Test"].a && artifacts["The second phase"].b'],
    ['artifacts["\\x31"].a', 'artifacts["Test"].a'],
    ["// artifacts[1]\nartifacts[1].a", '// artifacts[1]\nartifacts["Test"].a'],
    // Some have another key, and others stay.
    ['artifacts["9"].a == artifacts["1"].b', 'artifacts["9"].a == artifacts["Test"].b'],
    ['artifacts.test.a == artifacts["1"].b', 'artifacts.test.a == artifacts["Test"].b'],
    ['artifacts[evidence.key].a == artifacts["1"].b', 'artifacts[evidence.key].a == artifacts["Test"].b'],
    ['  artifacts [ "1" ] . count', '  artifacts [ "Test" ] . count'],
  ])("names the same phases: %s", async (rule, text) => {
    expect((await renamed(rule)).text).toBe(text);
  });

  it.each([
    'evidence["1"] == 1',
    '"1" in evidence',
    'evidence.artifacts["1"] == 1',
    'options["1"] == "artifacts"',
    "artifacts.test.count == 1",
    'artifacts["9"].count == 1',
    "artifacts[string(evidence.x)].count == 1",
    "size(artifacts) == 1",
    'artifacts["1" == ',
    "artifacts is not CEL [1]",
    "artifacts[1] +",
    "",
  ])("stays as it is where it names no phase that has another key: %s", async (rule) => {
    expect((await renamed(rule)).text).toBe(rule);
  });

  it("asks for the keys that stand in brackets, or before in", async () => {
    const rule =
      'artifacts["1"].a == artifacts.test.b && artifacts[options["2"]].c && "9" in artifacts && "7" in options';
    expect(new Set((await renamed(rule)).wanted)).toEqual(new Set(["1", "9"]));
  });
});
