import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createVerifiers } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { RUNNERS } from "./runner-outputs.js";

const file = new URL("../../starters/bug_fix/phases/1/gate-definition.yaml", import.meta.url);
const [{ output }] = parse(await readFile(file, "utf8")).verify;

/** Judges an output as the gate of bug_fix does that asks for a failing test. */
async function judge(said: string, test_name: string) {
  const root = await temporaryFolder();
  // A shell starts in a tenth of the time that Node takes.
  await Promise.all([writeFile(join(root, "print.sh"), "cat said\nexit 1\n"), writeFile(join(root, "said"), said)]);
  const { command } = await createVerifiers({ projectRoot: root, commands: ["sh print.sh"] });
  const params = { argv: ["sh", "print.sh"], exit: "nonzero", output };
  const session = { id: "s", workflowType: "bug_fix", target: ".", phase: 1 };
  return command.verify({ params, evidence: { test_name }, session }, { signal: AbortSignal.timeout(30_000) });
}

describe.each(Object.entries(RUNNERS))("the output of %s", (_, { name, failed, other }) => {
  it.each(failed.map((said) => [said.trim().split("\n")[0], said] as const))(
    "shows a failed test: %s",
    async (_, said) => {
      expect(await judge(said, name)).toMatchObject({ ok: true });
      expect(await judge(said, "another test")).toMatchObject({ ok: false });
    },
  );

  it.each(Object.entries(other))("shows none after %s", async (_, said) => {
    expect(await judge(said, name)).toMatchObject({ ok: false });
  });

  const unloaded = Object.entries(other).filter(([why]) => /syntax|missing|compile/.test(why));
  it.each(unloaded)("does not count if a test has failed and there is %s", async (_, said) => {
    expect(await judge(`${said}${failed[0]}`, name)).toMatchObject({ ok: false });
  });
});
