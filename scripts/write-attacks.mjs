/**
 * Writes docs/attacks.md: the names of the tests that attack, one line each. Without --write a difference fails.
 *
 * These are all tests in test/adversarial and in the files of `OTHERS`, except those of honest agents.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import ts from "typescript";

const PAGE = "docs/attacks.md";
/** Files outside of test/adversarial whose tests are attacks. */
const OTHERS = ["test/storage/files/hostile-store.test.ts", "test/workspace/attacks.test.ts"];
const HEAD = `# Attacks

Each line is the name of a test that attacks phasegate as an agent, or somebody who controls it, could: with false evidence at
gates, forged approvals, hostile files, folders and texts, or in another person's name. They work with real files, processes,
repositories and servers. In most of them an honest agent then passes the same gate. \`…\` stands for each of several cases.

This page is made from the tests by \`npm run attacks\`. [Another page](security.md#what-is-not-protected) says what is not protected.
`;

/** Returns the names of the tests in a file, without those of honest agents. */
function testsIn(file) {
  const names = [];
  const visit = (node) => {
    const [name] = ts.isCallExpression(node) && rootOf(node.expression) === "it" ? node.arguments : [];
    if (name !== undefined && ts.isStringLiteralLike(name) && !/honest agent/.test(name.text)) names.push(name.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest));
  return names;
}

/** Returns `it` for `it`, `it.runIf(…)` and `it.each(…)`. */
function rootOf(node) {
  if (ts.isIdentifier(node)) return node.text;
  return ts.isCallExpression(node) || ts.isPropertyAccessExpression(node) ? rootOf(node.expression) : undefined;
}

/** Returns a name as Markdown, with `…` for the places of values. */
function text(name) {
  return name
    .replace(/:? ?"?%(?:\.\d+)?[sdjo]"?$/, (end) => (end.startsWith(":") ? "" : " …"))
    .replace(/"?%(?:\.\d+)?[sdjo]"?/g, "…")
    .replace(/[\\`*_<>$[\]]/g, "\\$&");
}

const inAdversarial = globSync("test/adversarial/*.test.ts").map((file) => file.replaceAll("\\", "/"));
const sections = [...inAdversarial.sort(), ...OTHERS].map((file) => {
  const name = basename(file, ".test.ts").replaceAll("-", " ");
  const folder = basename(dirname(file));
  const title = folder === "adversarial" ? name : `${folder}: ${name}`;
  return [
    `\n## ${title[0].toUpperCase()}${title.slice(1)}`,
    "",
    ...testsIn(file).map((each) => `- ${text(each)}`),
  ].join("\n");
});
const wanted = `${[HEAD.trimEnd(), ...sections].join("\n")}\n`;

if (process.argv.includes("--write")) {
  writeFileSync(PAGE, wanted);
} else if (readFileSync(PAGE, "utf8").replaceAll("\r\n", "\n") !== wanted) {
  console.error(`${PAGE} does not list the tests as they are; run \`npm run attacks\``);
  process.exit(1);
}
