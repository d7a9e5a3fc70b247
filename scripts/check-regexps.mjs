/**
 * Checks every regular expression in src: the time that it takes must grow with the text and no faster, whatever the text
 * is. "Takes" includes the search: an expression that isn't anchored is tried at each place of the text, so `/:+$/` is as
 * bad as `/(:+)+$/`. Fails on each that can take longer, with a text that shows it, and on those that it can't decide.
 *
 *     node scripts/check-regexps.mjs [file…]      these files of src alone
 *     node scripts/check-regexps.mjs --anew       proves what was proved before, too
 *
 * Expressions that are made by `new RegExp` are seen as their module is loaded: inside of a function none may be made.
 * What was proved is kept in proved-regexps.json, since the proofs take a minute and never change: commit it.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { check } from "recheck";
import ts from "typescript";

/**
 * Expressions that can take longer, and meet nothing but short texts of our own, or that can't be decided by the checker
 * and were by hand. By their file and their text; the reason stands beside each.
 */
const EXCEPTIONS = new Map([
  [
    "src/search/text-index.ts [\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]|[[\\p{L}\\p{M}\\p{N}]--[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]]+",
    "one character, or a run of characters of one class with nothing behind it; the checker doesn't know the flag v",
  ],
]);

/** Files that make expressions as they are called, and why nobody has to look at these. */
const MADE_LATER = new Map([
  [
    "src/plan/words.ts",
    "of words, some of a host; what is repeated beside them is tried by test/plan/linear-time.slow.test.ts",
  ],
  ["src/sandbox/refusals.ts", "of the folders that the host names; what is repeated in it has a bound of its own"],
  ["src/workflow/json-schema-values.ts", "of an author's schema in code, tried on short texts of our own"],
]);

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const PROVED = join(ROOT, "scripts/proved-regexps.json");
const VERSION = createRequire(import.meta.url)("recheck/package.json").version;
// Of the clock, so that a machine with other work to do needs more; the longest proof takes some 10 s.
const TIMEOUT = 120_000;

const isAnew = process.argv.includes("--anew");
const wanted = process.argv.slice(2).flatMap((path) => (path.startsWith("--") ? [] : [relative(ROOT, path)]));
const files = (wanted.length > 0 ? wanted : sources("src")).toSorted();
const { literals, makers, problems } = scan(files);
const found = [...literals, ...(await made(makers))];
const proved = isAnew ? new Set() : readProved();
const unused = new Set(wanted.length > 0 ? [] : EXCEPTIONS.keys());

await inParallel(found, async (expression) => {
  const { source, flags, where, file } = expression;
  const key = `${file} ${source}`;
  const id = nameOf(expression);
  if (proved.has(id) || !repeats(source)) return;
  const [status, why] = await decide(source, flags);
  if (status === "safe") proved.add(id);
  else if (EXCEPTIONS.has(key)) unused.delete(key);
  else problems.push(`${where}: /${source}/${flags}\n    ${why}`);
});

if (wanted.length === 0) writeProved();
for (const key of unused) problems.push(`scripts/check-regexps.mjs: this exception is needed no more: ${key}`);
for (const problem of problems.toSorted()) console.error(problem);
console.log(`${found.length} expressions in ${files.length} files, ${problems.length} that may take long`);
process.exit(problems.length === 0 ? 0 : 1);

function sources(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** The literals of files, and the files that make expressions of texts. */
function scan(paths) {
  const literals = [];
  const makers = new Set();
  const problems = [];
  for (const file of paths) {
    const tree = ts.createSourceFile(file, readFileSync(join(ROOT, file), "utf8"), ts.ScriptTarget.Latest, true);
    const visit = (node, inFunction) => {
      const where = `${file}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
      if (node.kind === ts.SyntaxKind.RegularExpressionLiteral) {
        const end = node.text.lastIndexOf("/");
        literals.push({ source: node.text.slice(1, end), flags: node.text.slice(end + 1), where, file });
      }
      const isMade = (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "RegExp";
      if (isMade && !MADE_LATER.has(file)) makers.add(file);
      if (isMade && inFunction && !MADE_LATER.has(file))
        problems.push(`${where}: make it once, as the module loads, so that it can be looked at`);
      const below = inFunction || ts.isFunctionLike(node);
      ts.forEachChild(node, (child) => visit(child, below));
    };
    visit(tree, false);
  }
  return { literals, makers, problems };
}

/** The expressions that modules make as they are loaded. */
async function made(makers) {
  registerHooks({
    resolve(specifier, context, next) {
      const isOurs = specifier.startsWith(".") && context.parentURL?.startsWith(pathToFileURL(join(ROOT, "src")).href);
      return next(isOurs ? specifier.replace(/\.js$/, ".ts") : specifier, context);
    },
  });
  const expressions = [];
  const Original = globalThis.RegExp;
  const record = (expression) => {
    const [, place] = new Error().stack.split("\n").filter((line) => !line.includes("check-regexps"));
    const [, file, line] = /\/(src\/[^():]+\.ts):(\d+)/.exec(place ?? "") ?? [];
    const { source, flags } = expression;
    if (makers.has(file)) expressions.push({ source, flags, where: `${file}:${line}`, file });
    return expression;
  };
  globalThis.RegExp = new Proxy(Original, {
    construct: (target, parameters) => record(new target(...parameters)),
    apply: (target, _, parameters) => record(target(...parameters)),
  });
  try {
    for (const file of makers) await import(pathToFileURL(join(ROOT, file)).href);
  } finally {
    globalThis.RegExp = Original;
  }
  return expressions;
}

/** Whether an expression repeats something without a bound: without that nothing can take long. */
function repeats(source) {
  return /[*+]|\{\d+,\}/.test(source.replace(/\\./g, "").replace(/\[(?:\^?\])?[^\]]*\]/g, "C"));
}

/** By an automaton, which is a proof; where that takes too long, by texts that are made to be hard for it. */
async function decide(source, flags) {
  // A sticky expression is tried at one place alone.
  const text = flags.includes("y") ? `^(?:${source})` : source;
  const plain = flags.replace(/[ydg]/g, "").replace("v", "u");
  const kept = flags.includes("y") ? plain.replace("m", "") : plain;
  let result = await check(text, kept, { checker: "auto", timeout: TIMEOUT });
  if (result.status === "unknown") result = await check(text, kept, { checker: "fuzz", timeout: TIMEOUT });
  if (result.status === "safe") return ["safe"];
  if (result.status === "unknown") return ["unknown", `can't be decided (${result.error.kind}): make it simpler`];
  // What the checker only supposes is tried: it counts more steps than are made.
  if (result.checker === "fuzz" && !grows(new RegExp(source, flags), result.attack)) return ["safe"];
  return ["vulnerable", `${result.complexity.summary}, for example on ${result.attack.pattern}`];
}

/** Whether four times the text takes much more than four times as long. */
function grows(expression, attack) {
  const [short, long] = [16, 64].map((thousands) => {
    const size = thousands * 1000;
    const pumped = attack.pumps.reduce((sum, { pump }) => sum + pump.length, 0);
    const text = attack.pumps.map(({ prefix, pump }) => prefix + pump.repeat(size / pumped)).join("") + attack.suffix;
    return fastest(expression, text);
  });
  return long > 20 && long > short * 7;
}

/** The milliseconds of processor time that an expression takes to find all that it finds in a text. */
function fastest(expression, text) {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3 && least > 1; round += 1) {
    const before = process.cpuUsage();
    text.replace(expression, "");
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

async function inParallel(items, work) {
  const rest = [...items];
  const worker = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

/** What this version of the checker has proved. */
function readProved() {
  const { recheck, expressions } = JSON.parse(readFileSync(PROVED, "utf8"));
  return new Set(recheck === VERSION ? expressions : []);
}

/** Keeps the proofs of the expressions that there are. */
function writeProved() {
  const expressions = [...new Set(found.map(nameOf))].filter((name) => proved.has(name)).toSorted();
  writeFileSync(PROVED, `${JSON.stringify({ recheck: VERSION, expressions }, undefined, 2)}\n`);
}

function nameOf({ source, flags }) {
  return `/${source}/${flags}`;
}
