/** How far long work has come: a line on stderr, at a terminal with escapes only, that is gone once the work is done. */
import process from "node:process";
import { columnsOf, cut, USUAL_COLUMNS } from "./layout.js";
import { durationText, isTty, type Terminal } from "./terminal.js";

/** The time between two looks. Work that is done sooner shows nothing. */
const EVERY_MS = 500;
const CLEAR = "\r\u001b[K";

/** Does work that tells how far it has come, such as `12 sessions`. */
export async function withProgress<T>(
  { stderr }: Pick<Terminal, "stderr">,
  doing: string,
  work: (tell: (done: string) => void) => Promise<T>,
): Promise<T> {
  if (!isTty(stderr) || process.env.TERM === "dumb") return work(() => {});
  const begun = performance.now();
  let text = "";
  let isShown = false;
  const timer = setInterval(() => {
    isShown = true;
    const seconds = Math.round((performance.now() - begun) / 1000);
    const line = `${doing} ${text} ${durationText(seconds)}`.replace(/ {2}/, " ");
    // A line that is too long stays: only its last row is cleared. The last column is the cursor's.
    stderr.write(CLEAR + cut(line, (columnsOf(stderr) ?? USUAL_COLUMNS) - 1));
  }, EVERY_MS);
  try {
    return await work((done) => {
      text = done;
    });
  } finally {
    clearInterval(timer);
    if (isShown) stderr.write(CLEAR);
  }
}
