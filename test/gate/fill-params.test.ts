import { describe, expect, it } from "vitest";
import { checkPlaceholders, fillParams, hasPlaceholder } from "../../src/gate/fill-params.js";

const values = {
  spec_path: "specs/a",
  target_file: "src/a.ts",
  session_id: "release_a_1",
  evidence: { file: "b.md", count: 3, done: true, list: ["a"], none: null, inner: { key: "deep" }, "two-words": "w" },
};
const fill = (params: Parameters<typeof fillParams>[0]) => fillParams(params, values);

describe("fillParams", () => {
  it("puts values into texts, however deep", () => {
    expect(
      fill({
        path: "{spec_path}/{target_file}.md",
        argv: ["test", "{evidence.file}", "--n={evidence.count}", "{evidence.inner.key}-{evidence.done}"],
        nested: { list: [{ text: "{session_id}" }], "{target_file}": "{evidence.two-words}" },
        number: 5,
        none: null,
      }),
    ).toEqual({
      path: "specs/a/src/a.ts.md",
      argv: ["test", "b.md", "--n=3", "deep-true"],
      nested: { list: [{ text: "release_a_1" }], "{target_file}": "w" },
      number: 5,
      none: null,
    });
  });

  it("gives a param that is only a placeholder the value itself, and an element of a list a text", () => {
    expect(fill({ equals: "{evidence.count}", all: "{evidence.list}", argv: ["{evidence.count}"] })).toEqual({
      equals: 3,
      all: ["a"],
      argv: ["3"],
    });
  });

  it("never reads a value again, and never splits one", () => {
    const evidence = { a: "{session_id} $& $1 a b; c", "": "x" };
    expect(fillParams({ argv: ["x", "{evidence.a}"], t: "<{evidence.a}>" }, { ...values, evidence })).toEqual({
      argv: ["x", "{session_id} $& $1 a b; c"],
      t: "<{session_id} $& $1 a b; c>",
    });
  });

  it("leaves other braces alone, and makes one pair out of two", () => {
    const text = "a{2,3} {} {Name} {a b} {0} {{.Names}} {{json .}}";
    expect(fill({ text, two: "{{session_id}}", three: "{{{session_id}}}" })).toEqual({
      text,
      two: "{session_id}",
      three: "{{session_id}}",
    });
    expect(hasPlaceholder("{{session_id}}")).toBe(false);
    expect(hasPlaceholder("x{session_id}")).toBe(true);
  });

  it("leaves verbatim params as they are", () => {
    const params = { pattern: "{evidence.file}", output: { rule: "{nonsense}" }, path: "{target_file}" };
    expect(fillParams(params, values, { verbatim: ["pattern", "output"] })).toEqual({ ...params, path: "src/a.ts" });
    expect(checkPlaceholders(params, { verbatim: ["pattern", "output"] })).toEqual(["target_file"]);
  });

  it.each(["--upload-pack=touch pwned", "-rf", "-"])("lets the value %s make no option of an argument", (evil) => {
    const at = (argv: string[], more = {}) => fillParams({ argv, ...more }, { evidence: { evil, e: "" } });
    for (const element of ["{evidence.evil}", "{evidence.evil}:main", "{evidence.e}{evidence.evil}"]) {
      expect(() => at(["git", element])).toThrow("it would be read as an option");
    }
    expect(at(["git", "{evidence.evil}"], { allow_options: true }).argv).toEqual(["git", evil]);
    expect(at(["git", "--x={evidence.evil}", "./{evidence.evil}"]).argv).toEqual(["git", `--x=${evil}`, `./${evil}`]);
    // Not the word true, and not from evidence.
    expect(() => at(["git", "{evidence.evil}"], { allow_options: "true" })).toThrow("option");
  });

  it.each([
    ["{evidence.missing}", "nothing is known for {evidence.missing}: the evidence has no such field"],
    ["{evidence.inner.other}", "no such field"],
    ["{evidence.file.length}", "no such field"],
    ["{evidence.constructor}", "no such field"],
    ["{evidence.list.0}", "no such field"],
    ["<{evidence.list}>", "can't be put into a text"],
    ["<{evidence.inner}>", "can't be put into a text"],
    ["<{evidence.none}>", "can't be put into a text"],
    ["{nonsense}", "there is no placeholder {nonsense}"],
  ])("says what is wrong with %s", (text, message) => {
    expect(() => fill({ text })).toThrow(message);
  });

  it("refuses NUL and endless texts, and says what a session hasn't got", () => {
    expect(() => fillParams({ t: "{evidence.a}" }, { evidence: { a: "a\0b" } })).toThrow("NUL");
    expect(() => fillParams({ t: "<{evidence.a}>" }, { evidence: { a: "x".repeat(9000) } })).toThrow(
      "longer than 8192",
    );
    expect(() => fillParams({ t: "{spec_path}" }, {})).toThrow("this session has none");
    expect(() => fillParams({ t: "{evidence.a}" }, {})).toThrow("the evidence has no such field");
  });

  it("makes no prototype out of a key", () => {
    const params = JSON.parse('{"__proto__": {"path": "{target_file}"}}');
    const filled = fill(params);
    expect(Object.keys(filled)).toEqual(["__proto__"]);
    expect(filled.path).toBeUndefined();
  });
});

describe("checkPlaceholders", () => {
  it("names all of them, each once", () => {
    const params = { a: "{spec_path}{evidence.x}", b: ["{spec_path}", { c: "{evidence.y.z}" }], d: 1, e: null };
    expect(checkPlaceholders(params)).toEqual(["spec_path", "evidence.x", "evidence.y.z"]);
  });

  it.each([
    ["{sesion_id}", "did you mean {session_id}?"],
    ["{evidence}", "did you mean {evidence.FIELD}?"],
    ["{upstream}", "there is no placeholder {upstream}"],
    ["{session_id.x}", "there is no placeholder"],
  ])("refuses %s when a definition is loaded", (text, message) => {
    expect(() => checkPlaceholders({ list: [{ text }] })).toThrow(message);
  });
});
