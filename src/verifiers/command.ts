/** The verifier `command`: how a command ends, and what it writes. Only commands on the host's list are run. */
import * as z from "zod";
import { checkRun, faultOfEnd, faultOfOutput, runCommand, runParams, saidOf } from "./command-runs.js";
import { defineVerifier } from "./define-verifier.js";
import { shownCommand, shownPaths } from "./subject.js";
import { noteWritten } from "./written-files.js";

/** Checks how a command ends and what it writes. */
export const command = defineVerifier({
  about: "A command that the host allows ends as expected.",
  params: z.strictObject({
    ...runParams,
    exit: z
      .union([z.int().min(0).max(255), z.literal("nonzero")])
      .optional()
      .describe("The expected exit code; `nonzero` for any other than 0. Default: 0."),
  }),
  verbatim: ["output"],
  mayWrite: true,
  check: checkRun,
  async verify(given, asked) {
    const { done: run, wrote } = await noteWritten(asked, () => runCommand(given, asked));
    const wrong = faultOfEnd(run, given.exit ?? 0, given, asked.project) ?? (await faultOfOutput(run, given, asked));
    const ran = shownCommand(run.words);
    const ended = wrong === undefined ? `${ran} exited as expected` : `${ran}: ${wrong}`;
    const message = wrote.length === 0 ? ended : `${ended}; it wrote ${shownPaths(wrote, 5)}`;
    return { ok: wrong === undefined, message, ...saidOf(run) };
  },
});
