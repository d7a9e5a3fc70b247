/** The browser of tests: Debian's package `chromium`, or what `CHROMIUM` names. */
import { existsSync } from "node:fs";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Finds the browser's program; undefined if there is none. `scripts/install-debian.mjs chromium` installs it. */
export function findChromium(): string | undefined {
  return [process.env.CHROMIUM ?? "", ...PLACES].find((path) => path !== "" && existsSync(path));
}
