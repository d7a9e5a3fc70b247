import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const TESTS = fileURLToPath(new URL("..", import.meta.url));
const pageOf = (name: string) => readFileSync(fileURLToPath(new URL(`../../docs/${name}.md`, import.meta.url)), "utf8");

interface Row {
  readonly attempt: string;
  readonly stop: string;
  readonly file: string;
  readonly name: string;
}

/** Returns the rows of the page's tables that name a test. A file without a folder is in `adversarial/`. */
function rowsOf(page: string): Row[] {
  return page.split("\n").flatMap((line) => {
    const [, attempt, stop, test] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const [file, name] = test?.split(" › ") ?? [];
    if (attempt === undefined || stop === undefined || file === undefined || name === undefined) return [];
    return [{ attempt, stop, file: file.includes("/") ? file : `adversarial/${file}`, name }];
  });
}

/** Returns the names of the tests in a file: the first argument of each call of `it`, `it.each(…)` and similar. */
function testsIn(file: string): string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && rootOf(node.expression) === "it") {
      const [name] = node.arguments;
      if (name !== undefined && ts.isStringLiteralLike(name)) names.push(name.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, readFileSync(join(TESTS, file), "utf8"), ts.ScriptTarget.Latest));
  return names;
}

/** Returns `it` for `it`, `it.runIf(…)` and `it.each(…)`. */
function rootOf(node: ts.Expression): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) return rootOf(node.expression);
  return undefined;
}

/** Returns the tests that rows name and that do not exist. */
function missingIn(rows: readonly Row[]): string[] {
  const found = new Map([...new Set(rows.map(({ file }) => file))].map((file) => [file, testsIn(file)]));
  return rows.filter(({ file, name }) => !found.get(file)?.includes(name)).map(({ file, name }) => `${file} › ${name}`);
}

describe("the list of attacks", () => {
  const rows = rowsOf(pageOf("attacks"));

  it("has at least forty attacks, each of them once", () => {
    expect(rows.length).toBeGreaterThanOrEqual(40);
    const tests = rows.map(({ file, name }) => `${file} › ${name}`);
    expect(tests.filter((test, index) => tests.indexOf(test) !== index)).toEqual([]);
    expect(rows.filter(({ attempt, stop }) => attempt === "" || stop === "")).toEqual([]);
  });

  it("names tests that exist", () => {
    expect(missingIn(rows)).toEqual([]);
  });

  it("names every test in test/adversarial, except those of honest agents", () => {
    const files = readdirSync(join(TESTS, "adversarial")).filter((file) => file.endsWith(".test.ts"));
    const tests = files.flatMap((file) =>
      testsIn(`adversarial/${file}`).map((name) => `adversarial/${file} › ${name}`),
    );
    const named = new Set(rows.map(({ file, name }) => `${file} › ${name}`));
    const left = tests.filter((test) => !named.has(test) && !/honest agent/.test(test));
    expect(left).toEqual([]);
  });
});

describe("the list of attacks on a workspace", () => {
  const rows = rowsOf(pageOf("security"));

  it("names tests that exist, each of them once", () => {
    expect(rows.length).toBeGreaterThanOrEqual(40);
    expect(missingIn(rows)).toEqual([]);
    const tests = rows.map(({ file, name }) => `${file} › ${name}`);
    expect(tests.filter((test, index) => tests.indexOf(test) !== index)).toEqual([]);
  });

  it("names every attack that is tried in test/workspace/attacks.test.ts", () => {
    const named = new Set(rows.filter(({ file }) => file === "workspace/attacks.test.ts").map(({ name }) => name));
    expect(testsIn("workspace/attacks.test.ts").filter((name) => !named.has(name))).toEqual([]);
  });
});
