/** The verifier `command`: how a command ends, and what it writes. Only commands on the host's list are run. */
import * as z from "zod";
import type { Verifier } from "../ports/verifier.js";
import { firstFew } from "../workflow/names.js";
import type { CommandHost } from "./allowed-commands.js";
import { checkRun, faultOfEnd, faultOfOutput, runCommand, runParams, saidOf } from "./command-runs.js";
import { defineVerifier, type VerifierRules } from "./define-verifier.js";
import type { GitHost } from "./git-repository.js";
import { shownCommand, shownPath } from "./subject.js";
import { noteWritten } from "./written-files.js";

const NAME = "command";

export const params = z.strictObject({
  ...runParams,
  exit: z
    .union([z.int().min(0).max(255), z.literal("nonzero")])
    .optional()
    .describe("The expected exit code; `nonzero` for any other than 0. Default: 0."),
});

/** Checks how a command ends and what it writes. */
export function command(host: CommandHost, rules: VerifierRules, git: GitHost | undefined): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    verbatim: ["output"],
    mayWrite: true,
    checkParams: (given) => checkRun(NAME, given, host, rules),
    async verify(given, { evidence }, signal) {
      const { done: run, wrote } = await noteWritten(host.root, git, signal, () =>
        runCommand(NAME, given, host, signal),
      );
      const wrong =
        faultOfEnd(run, given.exit ?? 0, given, host) ??
        (await faultOfOutput(NAME, run, given, { evidence, rules, signal }));
      const ran = shownCommand(run.words);
      const ended = wrong === undefined ? `${ran} exited as expected` : `${ran}: ${wrong}`;
      const message = wrote.length === 0 ? ended : `${ended}; it wrote ${firstFew(wrote.map(shownPath), 5)}`;
      return { ok: wrong === undefined, message, ...saidOf(run) };
    },
  });
}
