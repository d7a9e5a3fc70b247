/** How long a fresh process takes to import phasegate, against its three largest libraries alone. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median, ratio, row, time } from "./measure.mjs";

const ROUNDS = 15;
const LIBRARIES = ["zod", "yaml", "mdast-util-from-markdown"];

/** Microseconds that one import takes in a process of its own, without the start of Node itself. */
function importOnce(specifiers) {
  const imports = specifiers.map((specifier) => `import(${JSON.stringify(specifier)})`).join(",");
  const source = `const b=performance.now();await Promise.all([${imports}]);console.log(performance.now()-b)`;
  const child = spawnSync(process.execPath, ["--input-type=module", "-e", source], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    encoding: "utf8",
  });
  if (child.status !== 0) throw new Error(child.stderr);
  return Number(child.stdout) * 1000;
}

export async function run() {
  const ours = [];
  const theirs = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    theirs.push(importOnce(LIBRARIES));
    ours.push(importOnce(["phasegate"]));
  }
  const [measured, baseline] = [median(ours), median(theirs)];
  return [
    row(
      'import "phasegate", fresh process',
      time(measured),
      `zod, yaml, mdast alone ${time(baseline)}`,
      ratio(measured, baseline),
      1.05,
    ),
  ];
}
