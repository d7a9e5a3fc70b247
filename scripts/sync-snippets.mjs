/**
 * Keeps the code in the pages equal to regions of files that are type-checked and run:
 *
 *     ```ts source=examples/hello.ts#start       in the page
 *     // #region start … // #endregion start     in the file
 *
 * Without `#…` the snippet is the whole file. With --write the pages are updated; else a difference fails. A source is an
 * example, a test or a recipe of test/hosts, or a file that an example or a test names. Code without a source fails, but for
 *
 * - what test/cli/documented-runs.slow.test.ts runs: `sh`, `json call`, `json file=PATH` and `text output`;
 * - `mermaid`, which the site and test/package/drawings.test.ts draw;
 * - drawings of folders, `text folder=PATH`: this folder has each file that is drawn;
 * - what scripts/snippets-without-source.json counts: the drawing of the import directions, which import-arrows.test.ts reads.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";

const COUNTED = "scripts/snippets-without-source.json";
/** What may have no source, and only as often as it is counted. */
const UNSOURCED = new Set(["json", "text"]);
/** What a test runs or draws straight from the pages. */
const IS_RUN = /^(?:sh|mermaid|json (?:call|file=\S+)|text output)$/;
const FOLDER = /^text folder=(\S+)$/;

const write = process.argv.includes("--write");
const FENCE =
  /^(?<indent>[ \t]*)(?<ticks>`{3,})(?<info>[^\n`]*\bsource=(?<source>[^\s#`]+)(?:#(?<region>[\w-]+))?[^\n`]*)\n(?<body>[\s\S]*?)^[ \t]*\k<ticks>[ \t]*$/gm;
const MARKER = /^\s*(?:\/\/|#) ?#(?:end)?region\b/;
/** The line for editors, whose path is right only where the file is. */
const SCHEMA = /^(?:# yaml-language-server: \$schema=| *"\$schema": "(?:\.\.\/)+schemas\/)/;

const ANY_FENCE = /^[ \t]*(?<ticks>`{3,})(?<info>[^\n`]*)\n(?<body>[\s\S]*?)^[ \t]*\k<ticks>[ \t]*$/gm;

let snippets = 0;
const problems = [];
const counted = existsSync(COUNTED) ? JSON.parse(readFileSync(COUNTED, "utf8")) : {};

for (const page of pages()) {
  const text = readFileSync(page, "utf8").replaceAll("\r\n", "\n");
  const next = text.replace(FENCE, (whole, ...rest) => {
    const { indent, ticks, info, source, region, body } = rest.at(-1);
    const line = text.slice(0, rest.at(-3)).split("\n").length;
    snippets += 1;
    const code = snippet(source, region);
    if (typeof code !== "string") {
      problems.push(`${page}:${line}: ${code.problem}`);
      return whole;
    }
    const wanted = code.replace(/^(?=.)/gm, indent);
    if (body !== wanted && !write) {
      problems.push(
        `${page}:${line}: is not what ${source}${region ? `#${region}` : ""} says; run \`npm run snippets\``,
      );
    }
    return `${indent}${ticks}${info}\n${wanted}${indent}${ticks}`;
  });
  if (write && next !== text) {
    writeFileSync(page, next);
    console.log(`${page}: updated`);
  }
  checkUnsourced(page, text);
}
for (const page of Object.keys(counted).filter((page) => !pages().includes(page))) {
  problems.push(`${COUNTED}: there is no page ${page}`);
}

for (const problem of problems) console.error(problem);
console.log(`${snippets} snippets, ${problems.length} wrong`);
if (problems.length > 0) process.exitCode = 1;

function pages() {
  const docs = globSync("docs/**/*.md").map((path) => path.replaceAll("\\", "/"));
  // The pages of docs/api are made of doc comments, whose examples are few and short.
  const written = docs.filter((path) => !path.startsWith("docs/api/")).sort();
  return ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "site/home.md", ...written].filter((path) =>
    existsSync(path),
  );
}

/** Reports code without a source: of a language that needs one, or more or less often than is counted. */
function checkUnsourced(page, text) {
  const found = {};
  for (const { index, groups } of text.matchAll(ANY_FENCE)) {
    if (/\bsource=/.test(groups.info) || IS_RUN.test(groups.info)) continue;
    const drawn = FOLDER.exec(groups.info)?.[1];
    if (drawn !== undefined) {
      checkDrawing(`${page}:${text.slice(0, index).split("\n").length}`, drawn, groups.body);
      continue;
    }
    const language = groups.info.trim().split(/\s/)[0] || "text";
    const line = text.slice(0, index).split("\n").length;
    found[language] = (found[language] ?? 0) + 1;
    if (!UNSOURCED.has(language)) {
      problems.push(`${page}:${line}: ${language} code comes from no file that is run; give it a source=`);
    }
  }
  for (const language of UNSOURCED) {
    const [is = 0, allowed = 0] = [found[language], counted[page]?.[language]];
    if (is !== allowed) {
      problems.push(`${page}: ${is} snippets in ${language} have no source; ${COUNTED} counts ${allowed}`);
    }
  }
}

/**
 * Reports each path of a drawing that is not in the folder. The first line is the folder; each other one is a path in the
 * line above that is indented less, and may have a comment after two blanks.
 */
function checkDrawing(where, folder, body) {
  const [, ...lines] = body.trimEnd().split("\n");
  const above = [];
  for (const line of lines) {
    const [, indent, path] = /^( +)(\S+)(?: {2,}\S.*)?$/.exec(line) ?? [];
    if (path === undefined) {
      problems.push(`${where}: "${line.trim()}" is not a path with a comment`);
      continue;
    }
    while (above.length > 0 && above.at(-1).indent >= indent.length) above.pop();
    const whole = [folder, ...above.map((one) => one.path), path].join("/").replaceAll("//", "/");
    if (!existsSync(whole)) problems.push(`${where}: there is no ${whole}`);
    above.push({ indent: indent.length, path });
  }
}

/** Returns true if a file is an example or a test, or if one of them names it or a folder that it is in; a test an example by its path. */
function isRun(source) {
  if (/^examples\/[^/]+\.ts$|^test\/.+\.test\.ts$|^test\/hosts\//.test(source)) return true;
  const [top, area, ...rest] = source.replace(/\.ts$/, "").split("/");
  const [near, names] = top === "examples" ? ["examples/*.ts", [area]] : [`test/${area}/**/*.ts`, rest];
  const named = new RegExp(`["'\`/](?:${names.map(escaped).join("|")})["'\`/.]`);
  const isNamed = (file) => named.test(readFileSync(file, "utf8"));
  return globSync(near).some(isNamed) || globSync("test/**/*.test.ts").some((file) => namesWhole(file, source));
}

function namesWhole(test, source) {
  return readFileSync(test, "utf8").includes(`"${source}"`);
}

function escaped(name) {
  return name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The code of a region without its markers and its indentation, or what keeps it from being had. */
function snippet(source, region) {
  if (!existsSync(source)) return { problem: `there is no ${source}` };
  if (!isRun(source)) return { problem: `nothing runs ${source}: no example and no test names it` };
  const lines = readFileSync(source, "utf8").replaceAll("\r\n", "\n").replace(/\n$/, "").split("\n");
  const start = region === undefined ? -1 : lines.findIndex((line) => marks(line, "region", region));
  const end = region === undefined ? lines.length : lines.findIndex((line) => marks(line, "endregion", region));
  if (region !== undefined && (start < 0 || end < start)) {
    return { problem: `${source} has no region ${region} (// #region ${region} … // #endregion ${region})` };
  }
  const inside = lines.slice(start + 1, end).filter((line) => !MARKER.test(line) && !SCHEMA.test(line));
  const margin = Math.min(...inside.filter((line) => line.trim() !== "").map((line) => line.search(/\S/)));
  const code = inside
    .map((line) => line.slice(margin))
    .join("\n")
    .replace(/^\n+|\n+$/g, "");
  return `${code}\n`;
}

function marks(line, word, region) {
  return MARKER.test(line) && line.trim().endsWith(`#${word} ${region}`);
}
