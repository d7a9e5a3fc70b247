/** The verifier `command`: how a command ends, and what it writes. Only commands on the host's list are run. */
import * as z from "zod";
import type { Verifier } from "../ports/verifier.js";
import type { CommandHost } from "./allowed-commands.js";
import { checkRun, faultOfEnd, faultOfOutput, runCommand, runParams, saidOf } from "./command-runs.js";
import { defineVerifier, type VerifierRules } from "./define-verifier.js";
import { shownCommand } from "./subject.js";

const NAME = "command";

export const params = z.strictObject({
  ...runParams,
  exit: z
    .union([z.int().min(0).max(255), z.literal("nonzero")])
    .optional()
    .describe("The expected exit code; `nonzero` for any other than 0. Default: 0."),
});

/** Checks how a command ends and what it writes. */
export function command(host: CommandHost, rules: VerifierRules): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    verbatim: ["output"],
    checkParams: (given) => checkRun(NAME, given, host, rules),
    async verify(given, { evidence }, signal) {
      const run = await runCommand(NAME, given, host, signal);
      const wrong =
        faultOfEnd(run, given.exit ?? 0, given, host) ??
        (await faultOfOutput(NAME, run, given, { evidence, rules, signal }));
      const ran = shownCommand(run.words);
      const message = wrong === undefined ? `${ran} exited as expected` : `${ran}: ${wrong}`;
      return { ok: wrong === undefined, message, ...saidOf(run) };
    },
  });
}
