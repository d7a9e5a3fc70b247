import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isPhasegateError } from "../errors.js";
import { PLAN_MAX, planError } from "../plan/plan-error.js";
import { openChecked } from "../walls/open-checked.js";
import { readBounded } from "../walls/read-bounded.js";
import { CommandFailure, EXIT } from "./exit-codes.js";

/** A plan's file as it was found. */
export interface PlanFile {
  readonly file: string;
  readonly text: string;
}

/**
 * Reads a file, or the `tasks.md` of a folder. A pipe or a device is refused before it is opened, for nobody
 * may be at its other end, and no more is read than a plan may have. Throws `PLAN_PARSE` for what has more.
 */
export async function readPlanFile(given: string): Promise<PlanFile> {
  try {
    const file = (await stat(given)).isDirectory() ? join(given, "tasks.md") : given;
    return { file, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await readBytes(file)) };
  } catch (cause) {
    if (isPhasegateError(cause, "PLAN_PARSE")) throw cause;
    if (cause instanceof TypeError) {
      throw new CommandFailure(`${given} is not valid UTF-8`, EXIT.problems, "Save it as UTF-8.", { cause });
    }
    const hint = "Name a tasks.md, or the folder that it lies in.";
    throw new CommandFailure(`there is no plan at ${given} that can be read`, EXIT.environment, hint, { cause });
  }
}

async function readBytes(file: string): Promise<Uint8Array> {
  const real = await realpath(file);
  const { handle, stats } = await openChecked(dirname(real), basename(real));
  try {
    return await readBounded(handle, file, Number(stats.size), PLAN_MAX);
  } catch (error) {
    if (!isPhasegateError(error, "TOO_LARGE")) throw error;
    throw planError({ file }, `it has more than ${PLAN_MAX} bytes`, "Split it into several plans.");
  } finally {
    await handle.close();
  }
}
