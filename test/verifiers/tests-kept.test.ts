import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aProject, refused } from "./a-project.js";

const NAME = "tests_kept";

/** Creates a project at the start of a phase, and a function that looks at its tests. */
async function aPhase(files: Readonly<Record<string, string>>) {
  const project = await aProject(files);
  const snapshot = (await project.snapshot(NAME, {})) ?? null;
  return { ...project, ask: () => project.verify(NAME, {}, { snapshot }) };
}

const JS = `import { add } from "../src/add.js";

it("adds", () => {
  expect(add(1, 2)).toBe(3);
  expect(add(2, 2)).toBe(4);
});

it.each([1, 2])("adds nothing to %i", (one) => expect(add(one, 0)).toBe(one));
`;

/** The same test in several languages: how it is written, and how it is turned off. */
const LANGUAGES: readonly (readonly [file: string, text: string, off: string])[] = [
  ["test/a.test.js", JS, JS.replace("it(", "it.skip(")],
  ["test/a.test.js", JS, JS.replace("it(", "xit(")],
  ["test/a.test.js", JS, JS.replace("it(", "it.only(")],
  [
    "a.test.mjs",
    'test("adds", (t) => {\n  t.is(1, 1);\n});\n',
    'test("adds", { skip: true }, (t) => {\n  t.is(1, 1);\n});\n',
  ],
  ["test_a.py", "def test_adds():\n    assert 1\n", "@pytest.mark.skip\ndef test_adds():\n    assert 1\n"],
  [
    "tests/a.py",
    "    def test_adds(self):\n        self.assertEqual(1, 1)\n",
    "    def test_adds(self):\n        self.skipTest('x')\n        self.assertEqual(1, 1)\n",
  ],
  [
    "a_test.go",
    "func TestAdds(t *testing.T) {\n\tt.Error(1)\n}\n",
    "func TestAdds(t *testing.T) {\n\tt.Skip()\n\tt.Error(1)\n}\n",
  ],
  [
    "src/lib.rs",
    "#[test]\nfn adds() {\n  assert_eq!(1, 1);\n}\n",
    "#[test]\n#[ignore]\nfn adds() {\n  assert_eq!(1, 1);\n}\n",
  ],
  [
    "src/test/ATest.java",
    '@Test\n@DisplayName("x")\nvoid adds() {\n  assertEquals(1, 1);\n}\n',
    "@Test\n@Disabled\nvoid adds() {\n  assertEquals(1, 1);\n}\n",
  ],
  ["spec/a_spec.rb", 'it "adds" do\n  expect(1).to eq 1\nend\n', 'xit("adds") do\n  expect(1).to eq 1\nend\n'],
  [
    "tests/ATest.php",
    "public function testAdds() {\n  $this->assertSame(1, 1);\n}\n",
    "public function testAdds() {\n  $t->skip = 1; // @skip\n  // $this->assertSame(1, 1);\n}\n",
  ],
];

const IT = 'it("adds", () => {\n  expect(add(1, 2)).toBe(3);\n});\n';
const DEF = "def test_adds():\n    assert 1\n";
const SPEC = 'it "adds" do\n  expect(1).to eq 1\nend\n';

/** Tests, and the same turned off in other ways. */
const OFF: readonly (readonly [file: string, text: string, off: string])[] = [
  ["a.test.js", IT, `const a = 1; /*\n${IT}*/\n`],
  ["a.test.js", IT, IT.replace("it(", "it.concurrent.skip(")],
  ["a.test.js", IT, IT.replace('"adds", ', '"adds", { todo: true }, ')],
  ["a.test.js", IT, IT.replace('"adds", ', '"adds", { skip: 1 }, ')],
  ["a.test.js", IT, IT.replace("{\n", "{\n  this.skip();\n")],
  ["a.test.js", IT, IT.replace("{\n", "{\n  pending();\n")],
  ["test_a.py", DEF, `"""\n${DEF}"""\n`],
  ["test_a.py", DEF, `x = 1; '''\n${DEF}'''\n`],
  ["test_a.py", DEF, `pytestmark = pytest.mark.skip\n${DEF}`],
  ["test_a.py", DEF, `__test__ = False\n${DEF}`],
  ["test_a.py", DEF, DEF.replace(":\n", ":\n    raise unittest.SkipTest()\n")],
  ["a_test.go", "func TestA(tb *testing.T) {\n}\n", "func TestA(tb *testing.T) {\n\ttb.SkipNow()\n}\n"],
  ["src/a.rs", "#[test]\nfn adds() {\n}\n", "#[test]\n#[cfg_attr(all(), ignore)]\nfn adds() {\n}\n"],
  ["tests/ATest.php", "public function testA() {\n}\n", "public function testA() {\n$this->markTestSkipped();\n}\n"],
  ["a_spec.rb", SPEC, SPEC.replace("do\n", 'do\n  skip "later"\n')],
  ["a_spec.rb", SPEC, SPEC.replace(" do", ", :skip do")],
  ["a_spec.rb", SPEC, `=begin\n${SPEC}=end\n`],
  ["ATests.cs", "[Test]\npublic void A() {\n}\n", "[Ignore]\n[Test]\npublic void A() {\n}\n"],
  ["ATests.swift", "func testA() {\n}\n", "func testA() throws {\n  throw XCTSkip()\n}\n"],
  ["test/a.bats", '@test "a" {\n  run a\n}\n', '@test "a" {\n  skip\n  run a\n}\n'],
];

describe("tests_kept", () => {
  it("accepts new tests, renamed ones, moved ones, and other code", async () => {
    const { write, root, ask } = await aPhase({ "test/a.test.js": JS, "src/add.js": "", "README.md": "" });
    expect(await ask()).toMatchObject({
      ok: true,
      message: expect.stringContaining("all 2 tests are still there, and 2 now"),
    });
    await rm(join(root, "test/a.test.js"));
    await write("test/moved.test.js", `${JS.replace('"adds"', '"adds two numbers"')}\nit("subtracts", () => {});\n`);
    await write("src/add.js", "changed");
    expect(await ask()).toMatchObject({
      ok: true,
      message: expect.stringContaining("all 2 tests are still there, and 3 now"),
    });
  });

  it.each(LANGUAGES)("knows tests in %s that are gone, commented out or turned off", async (file, text, off) => {
    const { write, root, ask } = await aPhase({ [file]: text });
    expect(await ask()).toMatchObject({ ok: true });
    await write(file, off);
    expect(refused(await ask())).toMatch(/tests are turned off in |tests assert less: /);
    await write(file, text.replace(/^/gm, "// "));
    expect(refused(await ask())).toContain("tests are gone: ");
    await write(file, `/*\n${text}*/\n`);
    expect(refused(await ask())).toContain("tests are gone: ");
    await rm(join(root, file));
    expect(refused(await ask())).toContain("tests are gone: ");
    await write(file, text);
    expect(await ask()).toMatchObject({ ok: true });
  });

  it.each(OFF)("knows each other way to turn off a test in %s", async (file, text, off) => {
    const { write, ask } = await aPhase({ [file]: text });
    await write(file, off);
    expect(refused(await ask())).toMatch(/tests are turned off in |tests are gone: /);
  });

  it("reads on behind what only looks like a comment", async () => {
    const lines = 'const all = "src/**/*.ts"; // it\'s /* none\nconst quote = \'"""\';\n/* one */ /** two */\n';
    const { write, ask } = await aPhase({ "test/a.test.js": JS });
    await write("test/a.test.js", lines + JS);
    expect(await ask()).toMatchObject({ ok: true });
  });

  it("refuses a test that asserts less, and a new one in the place of an old one", async () => {
    const { write, ask } = await aPhase({ "test/a.test.js": JS });
    await write("test/a.test.js", JS.replace("  expect(add(2, 2)).toBe(4);\n", ""));
    expect(refused(await ask())).toContain('tests assert less: "adds" (1 lines with an assertion, 2 before)');
    await write("test/a.test.js", JS.replace("  expect(add(2, 2)).toBe(4);\n", "  // expect(add(2, 2)).toBe(4);\n"));
    expect(refused(await ask())).toContain('tests assert less: "adds"');
    await write(
      "test/a.test.js",
      JS.replace(/^it\("adds"[^;]*;[^;]*;\s*\}\);/m, 'it("passes", () => {\n  expect(1).toBe(1);\n});'),
    );
    expect(refused(await ask())).toContain('tests are gone: "adds" (since this phase was entered); restore');
  });

  it("refuses without a record, and says why there is none", async () => {
    const { verify, snapshot, write } = await aProject();
    expect(refused(await verify(NAME, {}))).toContain("were not recorded");
    for (let at = 0; at < 2001; at += 1) await write(`test/${at}.js`, "");
    expect(refused(await verify(NAME, {}, { snapshot: (await snapshot(NAME, {})) ?? null }))).toContain(
      "could not be recorded: more than 2000 files",
    );
  });
});
