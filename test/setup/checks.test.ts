import { applyEdits, type Edit } from "jsonc-parser";
import { expect, test } from "vitest";
import { cutAll, cutsAfter } from "../../src/setup/changes.js";
import { formOf, type Piece } from "../../src/setup/pieces.js";
import { findCheck, packageManagerOf, splitCommand, variablesFor } from "../../src/setup/wanted.js";

const PACKAGE = '{"scripts": {"test": "vitest run"}}';

test.each([
  [{ "package.json": PACKAGE }, "npm test"],
  [{ "package.json": PACKAGE, "package-lock.json": "" }, "npm test"],
  [{ "package.json": PACKAGE, "pnpm-lock.yaml": "" }, "pnpm test"],
  [{ "package.json": PACKAGE, "yarn.lock": "" }, "yarn test"],
  [{ "package.json": PACKAGE, "bun.lock": "" }, "bun run test"],
  [{ "package.json": PACKAGE, "bun.lockb": "" }, "bun run test"],
  [{ "package.json": '{"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}}', "yarn.lock": "" }, "pnpm test"],
  [{ "package.json": `\ufeff${PACKAGE}` }, "npm test"],
  [{ "pyproject.toml": "[tool.pytest.ini_options]\n" }, "python3 -m pytest"],
  [{ "pyproject.toml": '[dependency-groups]\ndev = ["pytest>=8"]\n', "uv.lock": "" }, "uv run pytest"],
  [{ "pyproject.toml": '[tool.poetry.dev-dependencies]\npytest = "8"\n', "poetry.lock": "" }, "poetry run pytest"],
  [{ "Cargo.toml": "" }, "cargo test"],
  [{ "go.mod": "module a\n" }, "go test ./..."],
  [{ Makefile: "all: a\n\ntest: all\n\tprove\n" }, "make test"],
  [{ Makefile: "check :\n\tprove\n" }, "make check"],
  // The project's own tool comes before a Makefile around it.
  [{ "Cargo.toml": "", Makefile: "test:\n" }, "cargo test"],
])("%j is checked by %s", (facts, command) => {
  expect(findCheck(facts)).toBe(command);
});

test.each([
  [{}],
  [{ "package.json": "{}" }],
  [{ "package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}' }],
  [{ "package.json": '{"scripts": {"test": " "}}' }],
  [{ "package.json": "{ broken" }],
  [{ "package.json": "[]" }],
  [{ "pyproject.toml": '[project]\nname = "a"\n' }],
  [{ "pyproject.toml": "pytest = broken" }],
  [{ Makefile: "test := 1\n.test: a\n\ttest: b\n# test:\n" }],
])("in %j no command is found", (facts) => {
  expect(findCheck(facts)).toBeUndefined();
});

test("the file of the packages counts before those of other tools", () => {
  expect(findCheck({ "package.json": PACKAGE, "go.mod": "", Makefile: "test:\n" })).toBe("npm test");
  expect(findCheck({ "package.json": "{}", "go.mod": "", Makefile: "test:\n" })).toBe("go test ./...");
});

test("what a program needs of the environment is known by its name", () => {
  expect(variablesFor("npm test")).toEqual([]);
  expect(variablesFor("go test")).toContain("GOPATH");
  expect(variablesFor("constructor")).toEqual([]);
  expect(packageManagerOf({ "package.json": '{"packageManager": "other@1"}' })).toBe("npm");
});

test.each([
  ["npm test", ["npm", "test"]],
  ['  python -c "a b"  x ', ["python", "-c", "a b", "x"]],
  ["make 'check all' ''", ["make", "check all", ""]],
  ['a"b c"d', ["ab cd"]],
  ['a "b', undefined],
  ["npm test && rm x", undefined],
  ["echo $HOME", undefined],
  ["a | b", undefined],
  ["ls *", undefined],
  ["", undefined],
  ["  ", undefined],
])("%j is split into %j", (text, words) => {
  expect(splitCommand(text)).toEqual(words);
});

const insert = (offset: number, content: string): Edit => ({ offset, length: 0, content });

test("insertions are cut out again, also after more of them, and after a change inside of one", () => {
  const text = "0123456789";
  const one = [insert(2, "ab"), insert(8, "cd")];
  const next = applyEdits(text, one);
  const two = [insert(3, "X"), insert(12, "Y"), insert(14, "Z")];
  const last = applyEdits(next, two);
  expect([next, last]).toEqual(["01ab234567cd89", "01aXb234567cdY89Z"]);
  const cuts = cutsAfter(cutsAfter([], one) ?? [], two) ?? [];
  expect(cutAll(last, cuts)).toBe(text);
  const changed = [{ offset: 2, length: 3, content: "a long one b" }];
  expect(cutAll(applyEdits(last, changed), cutsAfter(cuts, changed) ?? [])).toBe(text);
  expect(cutsAfter(cuts, [{ offset: 0, length: 1, content: "00" }])).toBeUndefined();
});

test("a table of TOML is replaced and removed as it was written, and not if somebody has laid it out anew", () => {
  const place = { kind: "table", path: "a.toml", keys: ["mcp_servers", "phasegate"] } as const;
  const table: Piece = { ...place, value: { command: "npx", args: ["-y", 'a "b"'] } };
  const { add, find, replace, remove, problem } = formOf(table);
  const text = 'model = "a" # b\n';
  const added = applyEdits(text, add(text, table, table.value).edits);
  expect(added).toBe('model = "a" # b\n\n[mcp_servers.phasegate]\ncommand = "npx"\nargs = ["-y", "a \\"b\\""]\n');
  expect(find(added, place)).toEqual({ command: "npx", args: ["-y", 'a "b"'] });
  const more = `${added}\n# of Ann\n[tools]\n`;
  expect(applyEdits(more, [replace(more, place, { command: "node" }) as Edit])).toBe(
    `${text}\n[mcp_servers.phasegate]\ncommand = "node"\n\n# of Ann\n[tools]\n`,
  );
  expect(remove(more, place, 0)).toBe(`${text}\n# of Ann\n[tools]\n`);
  const inline = 'mcp_servers.phasegate = { command = "npx" }\n';
  expect(find(inline, place)).toEqual({ command: "npx" });
  expect([replace(inline, place, {}), remove(inline, place, 0)]).toEqual([undefined, undefined]);
  const twice = applyEdits(inline, add(inline, place, { command: "x" }).edits);
  expect(problem(twice, place)).toMatch(/^it is not TOML: .+ \(line \d\)$/);
  expect(find("mcp_servers = 1\n", place)).toBeUndefined();
});
