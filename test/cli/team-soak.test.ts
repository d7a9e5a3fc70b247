import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const LONG = process.env.PHASEGATE_LONG === "1";
const REASON = LONG ? "" : " (only in npm run test:long)";
const TEAM = fileURLToPath(new URL("../../bench/team.mjs", import.meta.url));

describe(`three servers for a team, ten minutes under load${REASON}`, () => {
  it.runIf(LONG)(
    "lose nothing, do nothing twice and show nobody else's sessions, while one is killed each minute",
    async () => {
      // It ends with another code than 0 if anything of this is not so, and rejects then.
      const { stdout } = await promisify(execFile)(process.execPath, [TEAM, "--greedy", "0"]);
      console.log(stdout);
      expect(stdout).toContain(" 0 faults.");
    },
  );
});
