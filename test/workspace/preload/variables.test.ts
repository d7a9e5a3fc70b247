import { describe, expect, it } from "vitest";
import { createVariables } from "../../../src/workspace/preload/mapping.js";

const ROOTS = ["bundle-root", "core-root", "project-root", "output-root"];

describe("variables of a workflow", () => {
  const own = {
    config_source: "{bundle-root}/config.yaml",
    installed_path: "{bundle-root}/workflows/x",
    folder: "{config_source}:output_folder",
    date: "system-generated",
    count: 3,
    deep: { folder: "not a top-level text" },
  };
  const config = { output_folder: "{project-root}/docs", project: { title: "Harbour" }, base: "{output_folder}/b" };

  it("are replaced by the workflow's own values and those of the configuration, nested ones too", () => {
    const { resolve, faults } = createVariables(own, config, ROOTS);
    expect(resolve("{installed_path}/a.md")).toBe("{bundle-root}/workflows/x/a.md");
    expect(resolve("{config_source}:output_folder/a")).toBe("{project-root}/docs/a");
    expect(resolve("{folder} and {count} of {config_source}:project.title")).toBe(
      "{project-root}/docs and 3 of Harbour",
    );
    expect(resolve("{base}")).toBe("{project-root}/docs/b");
    expect(resolve("{config_source}")).toBe("{bundle-root}/config.yaml");
    expect([...faults]).toEqual([]);
  });

  it("are kept if unknown, if the model fills them in, in double braces and as names of object properties", () => {
    const { resolve, faults } = createVariables(own, config, ROOTS);
    const text = "{date} {user_name} {{topic}} {{folder}} {bundle-root} {constructor} {__proto__} {toString} {}";
    expect(resolve(text)).toBe(text);
    expect([...faults]).toEqual([]);
  });

  it("are replaced literally: $& has no meaning in a value", () => {
    const { resolve } = createVariables({ a: "$& $1 $`" }, undefined, ROOTS);
    expect(resolve("<{a}>")).toBe("<$& $1 $`>");
  });

  it("are replaced in strings at any depth, and nowhere else", () => {
    const { resolveAll } = createVariables(own, config, ROOTS);
    expect(resolveAll({ a: [{ b: "{count}", c: 1, d: null, e: true }], "{count}": "{folder}" })).toEqual({
      a: [{ b: "3", c: 1, d: null, e: true }],
      "{count}": "{project-root}/docs",
    });
  });

  it("in a cycle are reported, and kept", () => {
    const { resolve, faults } = createVariables({ a: "{b}", b: "x {c}", c: "{a}", self: "{self}" }, undefined, ROOTS);
    expect(resolve("{a}")).toBe("x {a}");
    expect(resolve("{self}")).toBe("{self}");
    expect([...faults]).toEqual([
      "values refer to each other in a cycle: {a} → {b} → {c} → {a}",
      "values refer to each other in a cycle: {self} → {self}",
    ]);
  });

  it("in a cycle through the configuration are reported", () => {
    const circle = createVariables({ a: "{config_source}:b" }, { b: "{c}", c: "{b}" }, ROOTS);
    circle.resolve("{a}");
    expect([...circle.faults]).toEqual([
      "values refer to each other in a cycle: {config_source}:b → {config_source}:c → {config_source}:b",
    ]);
  });

  it("with a key that the configuration lacks are reported with the nearest key", () => {
    const { resolve, faults } = createVariables(own, config, ROOTS);
    expect(resolve("{config_source}:output_foler {config_source}:zzz")).toBe(
      "{config_source}:output_foler {config_source}:zzz",
    );
    expect([...faults]).toEqual([
      'the configuration has no "output_foler"; did you mean output_folder?',
      'the configuration has no "zzz"',
    ]);
  });

  it("of a missing configuration are not reported again", () => {
    const { resolve, faults } = createVariables(own, undefined, ROOTS);
    expect(resolve("{config_source}:a")).toBe("{config_source}:a");
    expect([...faults]).toEqual([]);
  });

  it("do not let values grow without limit", () => {
    const doubling = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`v${index}`, `{v${index + 1}}{v${index + 1}}`]),
    );
    const { resolve, faults } = createVariables({ ...doubling, v40: "0123456789" }, undefined, ROOTS);
    expect(resolve("{v0}").length).toBeLessThan(200_000);
    expect([...faults].join()).toContain("longer than 65536 characters");
  });

  it("may form a chain of references, up to 100", () => {
    const chain = (length: number) =>
      Object.fromEntries(Array.from({ length }, (_, at) => [`v${at}`, at + 1 === length ? "end" : `{v${at + 1}}`]));
    const short = createVariables(chain(100), undefined, ROOTS);
    expect(short.resolve("{v0}")).toBe("end");
    expect([...short.faults]).toEqual([]);
    const long = createVariables(chain(20_000), undefined, ROOTS);
    expect(long.resolve("{v0}")).toBe("{v100}");
    expect([...long.faults]).toEqual(["{v100} is not replaced: a chain of references is longer than 100"]);
  });

  it("with their own name as a value take the value of the configuration", () => {
    const { resolve } = createVariables({ title: "The {title}" }, { title: "Harbour" }, ROOTS);
    expect(resolve("{title}")).toBe("The Harbour");
  });

  it("have a limited total size over many texts, and a limited number of warnings", () => {
    const names = Array.from({ length: 200 }, (_, at) => `v${at}`);
    const own = Object.fromEntries(names.map((name) => [name, "{long} {config_source}:no{long}"]));
    const { resolveAll, faults } = createVariables({ ...own, long: "x".repeat(60_000) }, { a: "b" }, ROOTS);
    const all = JSON.stringify(resolveAll(names.map((name) => `{${name}}`)));
    expect(all.length).toBeLessThan(5_000_000);
    expect([...faults].join()).toContain("longer than 4194304 characters");
    const lost = createVariables({}, { a: "b" }, ROOTS);
    lost.resolve(names.map((name) => `{config_source}:${name}`).join(" "));
    expect(lost.faults.size).toBe(100);
  });
});
