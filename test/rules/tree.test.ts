import { describe, expect, it } from "vitest";
import { loadRuleLanguage } from "../../src/rules/language.js";
import { childrenOf, literalText, memberOf, namingOf, nodesOf, typeSize } from "../../src/rules/tree.js";

async function tree(rule: string) {
  const found = (await loadRuleLanguage()).forFields([]).compile(`dyn(${rule}) == 1`, { value: "any", params: "any" });
  if (!found.ok) throw new Error(`${found.message} ${found.hint}`);
  const [call] = childrenOf(found.tree);
  const [root] = call === undefined ? [] : childrenOf(call);
  if (root === undefined) throw new Error("no tree");
  return root;
}

describe("the syntax tree of a rule", () => {
  it.each([
    ["1", 0],
    ["value", 0],
    ["value.a", 1],
    ["value[0]", 2],
    ["size(value)", 1],
    ["ratio(1, 2)", 2],
    ["value.contains(value)", 2],
    ["value.substring(1, 2)", 3],
    ["value.lowerAscii()", 1],
    ["[1, 2, 3]", 3],
    ["[]", 0],
    ["{1: 2, 3: 4}", 4],
    ["!value", 1],
    ["-value", 1],
    ["value + 1", 2],
    ["value in [1]", 2],
    ["value ? 1 : 2", 3],
  ])("has the parts of %s", async (rule, count) => {
    expect(childrenOf(await tree(rule))).toHaveLength(count);
  });

  it("has all of its nodes, the root first", async () => {
    expect(nodesOf(await tree("value.all(v, v + 1 > [2][0])")).map(({ op }) => op)).toEqual([
      ...["rcall", "id", "id", ">", "+", "id", "value", "[]", "list", "value", "value"],
    ]);
  });

  it("has texts, members, macros and names", async () => {
    expect(literalText(await tree("'a'"))).toBe("a");
    for (const rule of ["1", "value", "size(value)"]) expect(literalText(await tree(rule))).toBeUndefined();
    expect(literalText(undefined)).toBeUndefined();
    expect(memberOf(await tree("value.a"))).toEqual({ of: "value", key: "a" });
    expect(memberOf(await tree("value['a']"))).toEqual({ of: "value", key: "a" });
    expect(memberOf(await tree("value[0]"))).toEqual({ of: "value", key: undefined });
    for (const rule of ["value.a.b", "value.a['b']", "value", "value == 1", "value.lowerAscii()"])
      expect(memberOf(await tree(rule)), rule).toBeUndefined();
    const given = { all: "bool", exists: "bool", exists_one: "bool", filter: "elements" };
    const body = [{ op: "==" }];
    for (const [name, gives] of Object.entries(given))
      expect(namingOf(await tree(`value.${name}(v, v == 1)`))).toMatchObject({ gives, name: "v", body });
    expect(namingOf(await tree("value.map(v, v == 1, v == 2)"))).toMatchObject({
      ...{ gives: "results", of: { op: "id", args: "value" }, body: [{ op: "==" }, { op: "==" }] },
    });
    expect(namingOf(await tree("cel.bind(n, 1, n + 1)"))).toMatchObject({
      ...{ gives: "body", name: "n", of: { op: "value" }, body: [{ op: "+" }] },
    });
    for (const rule of ["value.contains(value)", "value.substring(value, value)", "size(value)", "value"])
      expect(namingOf(await tree(rule)), rule).toBeUndefined();
  });

  it.each([
    ["value", 20],
    ["1", 20],
    ["[value]", 27],
    ["[]", 7],
    ["[1, [2]]", 34],
    ["{'a': 1}", 47],
    ["{'a': [1], 'b': 2}", 54],
    ["{'a': 1, ['b']: 2}", 54],
    ["cel.bind(n, [1], n)", 27],
    ["cel.bind(n, [1], [n])", 34],
    ["cel.bind(n, [[1]], 1)", 34],
    ["cel.bind(n, {1: 1}, {1: {n: n}})", 128],
    ["[[1]].map(v, v)", 41],
    ["[[1]].map(v, [v])", 48],
    ["[[1]].filter(v, v == [2])", 48],
    ["[[1]].all(v, [[v]] == [])", 62],
    ["value.all(v, v == 1)", 34],
    ["value.all(v, [v] == [1])", 41],
    ["value.map(v, v == 1, [[v]])", 41],
    ["[value.filter(v, v == 1)]", 41],
  ])("of %s has type names of at most %i characters", async (rule, most) => {
    expect(typeSize(await tree(rule))).toBe(most);
  });
});
