/**
 * Installs what some tests need and no npm package has, from Debian's packages. Does nothing if it is there; says so if it
 * can't be installed, and those tests are then skipped.
 *
 *     node scripts/install-debian.mjs postgres    PostgreSQL and pgbouncer, for the failovers of `npm run test:long`
 *     node scripts/install-debian.mjs chromium    a browser, for `npm run test:browser`
 */
import { spawnSync } from "node:child_process";
import { findChromium } from "../test/support/chromium.ts";
import { findDebianPostgres } from "../test/support/debian-postgres.ts";

const KINDS = {
  postgres: { packages: ["postgresql", "pgbouncer"], find: findDebianPostgres, tests: "failover tests" },
  chromium: { packages: ["chromium"], find: findChromium, tests: "browser tests" },
};

/** Runs the commands, as root or by sudo without a password. Returns the reason if one fails. */
function install({ packages, find }) {
  const commands = [
    ["apt-get", "update"],
    ["apt-get", "install", "--yes", "--no-install-recommends", ...packages],
  ];
  for (const command of commands) {
    const [program, ...args] = process.getuid?.() === 0 ? command : ["sudo", "-n", ...command];
    const { error, status } = spawnSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
    if (error !== undefined) return `${program} can't be run (${error.code})`;
    if (status !== 0) return `${command.join(" ")} failed with exit code ${status}`;
  }
  return find() === undefined ? "not found where Debian's packages put it" : undefined;
}

const [name = ""] = process.argv.slice(2);
const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
if (kind === undefined) {
  console.error(`Name one of: ${Object.keys(KINDS).join(", ")}.`);
  process.exitCode = 2;
} else if (kind.find() === undefined) {
  const reason = install(kind);
  const packages = kind.packages.join(" and ");
  console.log(
    reason === undefined
      ? `Installed ${packages}.`
      : `Can't install ${packages}: ${reason}. The ${kind.tests} are skipped.`,
  );
}
