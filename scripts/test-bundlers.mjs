/**
 * `npm run test:bundlers`: a host with the inspector, MCP over HTTP and a decider (test/bundlers), built by each bundler from the
 * packed package, with most optional packages missing, and run where there is no node_modules. Needs a build, and the registry.
 */
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const EXPECTED = "200 200 true true Review true";
const PORT = 3977;

const root = mkdtempSync(join(tmpdir(), "phasegate-bundlers-"));
const [host, elsewhere] = [join(root, "host"), join(root, "elsewhere")];
mkdirSync(elsewhere);
cpSync(resolve("test/bundlers"), host, { recursive: true });
const env = { ...process.env, CI: "1", NEXT_TELEMETRY_DISABLED: "1" };

function run(command, args, cwd = host) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8", timeout: 300_000 });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} has failed:\n${stdout}\n${stderr}`);
  return stdout;
}

const packing = ["pack", "--ignore-scripts", "--json", "--pack-destination", root];
const [{ filename }] = JSON.parse(run("npm", packing, resolve(".")));
run("npm", ["install", "--no-audit", "--no-fund", join(root, filename)]);
// npm does not run the script that fetches it: it is in an optional dependency.
run(process.execPath, [join(host, "node_modules/bun/install.js")], join(host, "node_modules/bun"));
const bin = (name) => join(host, "node_modules/.bin", name);

/** Copies what was built to a folder without packages, and runs it there. */
function ranElsewhere(command, path) {
  cpSync(join(host, "out"), elsewhere, { recursive: true });
  return run(command[0] ?? join(elsewhere, path), [...command.slice(1), join(elsewhere, path)], elsewhere);
}

async function next(...flags) {
  run(bin("next"), ["build", ...flags], join(host, "next"));
  const served = spawn(bin("next"), ["start", "-p", String(PORT)], { cwd: join(host, "next"), env, stdio: "ignore" });
  try {
    for (let tries = 0; tries < 50; tries += 1) {
      const answer = await fetch(`http://127.0.0.1:${PORT}/gate`).catch(() => undefined);
      if (answer !== undefined) return await answer.text();
      await delay(200);
    }
    throw new Error("next start does not answer");
  } finally {
    served.kill();
  }
}

const esbuild = (format, file) => {
  run(bin("esbuild"), ["main.ts", "--bundle", "--platform=node", `--format=${format}`, `--outfile=out/${file}`]);
  return ranElsewhere([process.execPath], file);
};
const WAYS = {
  "esbuild, ESM": () => esbuild("esm", "esm.mjs"),
  "esbuild, CommonJS": () => esbuild("cjs", "cjs.cjs"),
  webpack: () => {
    run(bin("webpack"), ["--config", "webpack.config.mjs"]);
    return ranElsewhere([process.execPath], "webpack/main.cjs");
  },
  "Vite, SSR": () => {
    run(bin("vite"), ["build"]);
    return ranElsewhere([process.execPath], "vite/main.js");
  },
  "bun build": () => {
    run(bin("bun"), ["build", "main.ts", "--target=bun", "--outfile=out/bun.js"]);
    return ranElsewhere([bin("bun")], "bun.js");
  },
  "bun build --compile": () => {
    run(bin("bun"), ["build", "main.ts", "--compile", "--outfile=out/host"]);
    cpSync(join(host, "out/host"), join(elsewhere, "host"));
    return run(join(elsewhere, "host"), [], elsewhere);
  },
  "Next.js, Turbopack": () => next("--turbopack"),
  "Next.js, webpack": () => next("--webpack"),
};

let failed = 0;
for (const [name, way] of Object.entries(WAYS)) {
  const found = await Promise.resolve()
    .then(way)
    .catch((error) => error.message);
  const ok = found.trim() === EXPECTED;
  console.log(`${ok ? "ok    " : "failed"} ${name}`);
  if (ok) continue;
  failed += 1;
  console.error(found.slice(-3000));
}
rmSync(root, { recursive: true, force: true });
if (failed > 0) process.exitCode = 1;
