/**
 * Keeps the code in README.md and docs/*.md equal to regions of files that are type-checked and run:
 *
 *     ```ts source=examples/hello.ts#start       in the page
 *     // #region start … // #endregion start     in the file
 *
 * Without `#…` the snippet is the whole file. With --write the pages are updated; else a difference fails.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const write = process.argv.includes("--write");
const FENCE =
  /^(?<indent>[ \t]*)(?<ticks>`{3,})(?<info>[^\n`]*\bsource=(?<source>[^\s#`]+)(?:#(?<region>[\w-]+))?[^\n`]*)\n(?<body>[\s\S]*?)^[ \t]*\k<ticks>[ \t]*$/gm;
const MARKER = /^\s*(?:\/\/|#) ?#(?:end)?region\b/;

let snippets = 0;
const problems = [];

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
}

for (const problem of problems) console.error(problem);
console.log(`${snippets} snippets, ${problems.length} wrong`);
if (problems.length > 0) process.exitCode = 1;

function pages() {
  const docs = existsSync("docs") ? readdirSync("docs").map((name) => join("docs", name)) : [];
  return ["README.md", ...docs].filter((path) => path.endsWith(".md") && existsSync(path));
}

/** The code of a region without its markers and its indentation, or what keeps it from being had. */
function snippet(source, region) {
  if (!existsSync(source)) return { problem: `there is no ${source}` };
  const lines = readFileSync(source, "utf8").replaceAll("\r\n", "\n").replace(/\n$/, "").split("\n");
  const start = region === undefined ? -1 : lines.findIndex((line) => marks(line, "region", region));
  const end = region === undefined ? lines.length : lines.findIndex((line) => marks(line, "endregion", region));
  if (region !== undefined && (start < 0 || end < start)) {
    return { problem: `${source} has no region ${region} (// #region ${region} … // #endregion ${region})` };
  }
  const inside = lines.slice(start + 1, end).filter((line) => !MARKER.test(line));
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
