/**
 * Records two runs of the built package, `phasegate init` and a refusal of the demo, as pictures that play once:
 *
 *     npm run build && node scripts/recordings.mjs
 *
 * They are docs/images/init.svg and docs/images/refusal.svg. The lines of the refusal are also written to
 * examples/demo/refusal.txt, which README and the site show as text.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";

const COLUMNS = 84;
const FOLDER = "docs/images";
const LINE_PX = 21;
const CHARACTER_PX = 7.83;
const PADDING_PX = 18;
/** Colours that can be read on the dark ground, by the codes of the terminal. */
const COLOURS = { 31: "#ff8787", 32: "#69db7c", 33: "#ffd43b", 36: "#66d9e8", 90: "#a6adba", 2: "#a6adba" };

mkdirSync(FOLDER, { recursive: true });

const refusal = refusalOf(run(["examples/demo/run.ts"], "."));
writeFileSync("examples/demo/refusal.txt", `${refusal.map(stripVTControlCharacters).join("\n")}\n`);
writeFileSync(
  join(FOLDER, "refusal.svg"),
  picture("An agent claims that all tests pass. The gate runs them.", refusal),
);
writeFileSync(join(FOLDER, "init.svg"), picture("phasegate init adds workflows to a project.", initOf()));

function run(args, cwd) {
  const { NO_COLOR: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    ...{ cwd, encoding: "utf8", timeout: 120_000 },
    env: { ...env, FORCE_COLOR: "1", DEMO_WIDTH: "400" },
  });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
  return stdout.trimEnd().split("\n");
}

/**
 * The claim, its refusal, the correction, and the claim again: two steps of the demo, without their explanations, and without
 * what the agent is told to do next.
 */
function refusalOf(output) {
  const step = (number) => {
    const first = output.findIndex((line) => stripVTControlCharacters(line).startsWith(`${number}. `));
    const end = output.indexOf("", first);
    if (first === -1 || end === -1) throw new Error(`the demo has no step ${number}`);
    return output.slice(first + 2, end);
  };
  const told = /^\s+\d+ checks? failed: /;
  const lines = [...step(11), ...step(13)].filter((line) => !told.test(line));
  return lines.flatMap((line) => wrapped(line.slice(2)));
}

function initOf() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "phasegate-recording-")));
  const project = join(folder, "shop");
  mkdirSync(join(project, ".git"), { recursive: true });
  const manifest = { name: "shop", private: true, type: "module", scripts: { test: "node --test" } };
  writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
  const lines = run([resolve("dist/cli/main.js"), "init", "--yes", "--client", "claude"], project);
  rmSync(folder, { recursive: true });
  const shown = lines.map((line) => line.replaceAll(project, "~/shop"));
  return ["\x1b[2m$\x1b[22m npx phasegate init --client claude", ...shown].flatMap((line) => wrapped(line));
}

/** Breaks a line at blanks. What follows is as far to the right as the first part, and two columns more. */
function wrapped(line) {
  if (stripVTControlCharacters(line).length <= COLUMNS) return [line];
  const [indent = ""] = /^\s*/.exec(line) ?? [];
  const parts = [indent];
  for (const word of line.trimStart().split(" ")) {
    const longer = parts.at(-1).trim() === "" ? parts.at(-1) + word : `${parts.at(-1)} ${word}`;
    if (stripVTControlCharacters(longer).length <= COLUMNS) parts[parts.length - 1] = longer;
    else parts.push(`${indent.padEnd(10)}  ${word}`);
  }
  return parts;
}

/** Draws lines of a terminal. Each appears after those above it; at once, where the reader wants no motion. */
function picture(title, lines) {
  const width = Math.ceil(COLUMNS * CHARACTER_PX + 2 * PADDING_PX);
  const height = lines.length * LINE_PX + 2 * PADDING_PX;
  let seconds = 0;
  const texts = lines.map((line, index) => {
    const plain = stripVTControlCharacters(line);
    // A call, and an answer to it, take their time.
    seconds += /^(?:agent|\$|\*)/.test(plain) ? 1.2 : /^tool/.test(plain) ? 0.8 : 0.12;
    const y = PADDING_PX + (index + 0.75) * LINE_PX;
    return `<text x="${PADDING_PX}" y="${y}" style="animation-delay:${seconds.toFixed(2)}s">${spans(line)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(title)}</title>
<style>
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e9ecef; white-space: pre; opacity: 0; animation: appear 1ms forwards; }
@keyframes appear { to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { text { animation: none; opacity: 1; } }
</style>
<rect width="100%" height="100%" rx="8" fill="#1a1b1e"/>
${texts.join("\n")}
</svg>
`;
}

/** Returns a line with its colours as parts of an SVG text. */
function spans(line) {
  let [colour, weight] = ["", ""];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the codes of a terminal begin with one
  const parts = line.split(/\x1b\[(\d+)m/);
  return parts
    .map((part, index) => {
      if (index % 2 === 1) {
        if (part === "1") weight = ' font-weight="600"';
        else if (part === "22") [colour, weight] = ["", ""];
        else if (part === "39") colour = "";
        else if (part in COLOURS) colour = ` fill="${COLOURS[part]}"`;
        return "";
      }
      return part === "" ? "" : `<tspan${colour}${weight}>${escaped(part)}</tspan>`;
    })
    .join("");
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
