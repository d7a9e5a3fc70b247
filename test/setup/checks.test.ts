import { expect, test } from "vitest";
import {
  addToml,
  cutAll,
  findToml,
  insertAll,
  movedCuts,
  removeToml,
  replaceToml,
  resizedCuts,
  tomlProblem,
} from "../../src/setup/changes.js";
import { findChecks, packageManagerOf, splitCommand, variablesFor } from "../../src/setup/wanted.js";

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
  expect(findChecks(facts)[0]?.command).toBe(command);
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
  expect(findChecks(facts)).toEqual([]);
});

test("all commands that are found are given, with the file that says so", () => {
  const found = findChecks({ "package.json": PACKAGE, "go.mod": "", Makefile: "test:\n" });
  expect(found.map(({ from }) => from)).toEqual(["package.json", "go.mod", "Makefile"]);
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

test("insertions are cut out again, also after more of them, and after a change inside of one", () => {
  const text = "0123456789";
  const one = [
    { offset: 2, text: "ab" },
    { offset: 8, text: "cd" },
  ];
  const next = insertAll(text, one);
  const two = [
    { offset: 3, text: "X" },
    { offset: 12, text: "Y" },
    { offset: 14, text: "Z" },
  ];
  const last = insertAll(next, two);
  expect([next, last]).toEqual(["01ab234567cd89", "01aXb234567cdY89Z"]);
  const cuts = movedCuts(movedCuts([], one), two);
  expect(cutAll(last, cuts)).toBe(text);
  const changed = last.replace("aXb", "a long one b");
  expect(cutAll(changed, resizedCuts(cuts, last, changed) ?? [])).toBe(text);
  expect(resizedCuts(cuts, last, last.replace("0", "00"))).toBeUndefined();
});

const KEYS = ["mcp_servers", "phasegate"];

test("a table of TOML is replaced and removed as it was written, and not if somebody has laid it out anew", () => {
  const text = 'model = "a" # b\n';
  const added = insertAll(text, addToml(text, KEYS, { command: "npx", args: ["-y", 'a "b"'] }));
  expect(added).toBe('model = "a" # b\n\n[mcp_servers.phasegate]\ncommand = "npx"\nargs = ["-y", "a \\"b\\""]\n');
  expect(findToml(added, KEYS)).toEqual({ command: "npx", args: ["-y", 'a "b"'] });
  const more = `${added}\n# of Ann\n[tools]\n`;
  expect(replaceToml(more, KEYS, { command: "node" })).toBe(
    `${text}\n[mcp_servers.phasegate]\ncommand = "node"\n\n# of Ann\n[tools]\n`,
  );
  expect(removeToml(more, KEYS)).toBe(`${text}\n# of Ann\n[tools]\n`);
  const inline = 'mcp_servers.phasegate = { command = "npx" }\n';
  expect(findToml(inline, KEYS)).toEqual({ command: "npx" });
  expect([replaceToml(inline, KEYS, {}), removeToml(inline, KEYS)]).toEqual([undefined, undefined]);
  expect(tomlProblem(insertAll(inline, addToml(inline, KEYS, { command: "x" })))).toMatch(
    /^it is not TOML: .+ \(line \d\)$/,
  );
  expect(findToml("mcp_servers = 1\n", KEYS)).toBeUndefined();
});
