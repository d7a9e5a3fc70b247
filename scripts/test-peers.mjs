/**
 * `npm run test:peers -- [package…]`: installs the packed package beside the oldest and the newest version of each optional
 * package that it is said to work with, and some between, as a user would, and uses the entry point that needs it. Prints the
 * table that docs/design/dependencies.md has. Needs a build, and the registry.
 */
import { cpSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { startPostgres } from "../test/support/postgres-server.ts";
import { chosen, install, pack, run, runAll } from "./packed.mjs";

/** For each package, the versions, what else is installed, and the script in test/peers that uses it. */
const PEERS = {
  ai: { versions: ["5.0.0", "5", "6.0.0", "6", "7.0.100", "7"], script: "ai" },
  "@google/genai": { versions: ["1.0.0", "1", "2", "3"], script: "genai" },
  jose: { versions: ["6.0.8", "6"], also: ["@modelcontextprotocol/server@2"], script: "jose" },
  pg: { versions: ["8.11.0", "8"], script: "pg" },
  "@orama/orama": { versions: ["3.0.0", "3"], script: "orama" },
  "@modelcontextprotocol/server": { versions: ["2.0.0", "2.3.0", "2"], script: "server-2" },
  "@modelcontextprotocol/sdk": { versions: ["1.20.0", "1.22.0", "1.23.0", "1.25.3", "1"], script: "sdk-1" },
  "@simplewebauthn/server": { versions: ["13.0.0", "13", "14"], script: "simplewebauthn" },
  "@opentelemetry/sdk-metrics": {
    versions: ["2.0.0", "2", "3"],
    also: ["@opentelemetry/api@1", "@opentelemetry/exporter-prometheus"],
    script: "otel",
  },
  unified: { versions: ["10.0.0", "10", "11"], also: ["remark-parse"], script: "unified" },
};
/** Packages whose version must fit another one's, as `of` says for each version of it. */
const FITTING = {
  "remark-parse": (version) => (version.startsWith("10") ? "10" : "11"),
  "@opentelemetry/exporter-prometheus": (version) =>
    ({ "2.0.0": "0.200.0", 2: "<0.300.0", 3: ">=0.300.0" })[version] ?? "*",
};
const names = chosen(Object.keys(PEERS));
const { root, tarball } = pack("peers");
const postgres = names.includes("pg") ? await startPostgres() : undefined;

async function tryOut(name, version) {
  const { also = [], script } = PEERS[name];
  const others = also.map((one) => (FITTING[one] === undefined ? one : `${one}@${FITTING[one](version)}`));
  const { folder, ...installed } = await install(root, [tarball, `${name}@${version}`, ...others]);
  if (!installed.ok) return installed;
  for (const file of [`${script}.mjs`, "mcp-session.mjs"]) cpSync(resolve("test/peers", file), join(folder, file));
  cpSync(resolve("test/support/authenticator.ts"), join(folder, "authenticator.ts"));
  const env = { ...process.env, DATABASE_URL: postgres?.url, PEER_SCHEMA: `s${Date.now()}` };
  const used = await run(process.execPath, [`${script}.mjs`], { cwd: folder, env });
  rmSync(folder, { recursive: true, force: true });
  return used;
}

await runAll(
  names.flatMap((name) =>
    PEERS[name].versions.map((version) => ({ name: `${name}@${version}`, run: () => tryOut(name, version) })),
  ),
);
await postgres?.remove();
rmSync(root, { recursive: true, force: true });
