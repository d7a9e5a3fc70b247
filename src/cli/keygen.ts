import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { Command } from "commander";
import { createApproverKeys } from "../approval/sign.js";
import { CommandFailure, EXIT, type SetExitCode } from "./exit-codes.js";
import { logLevelOption, notEmpty } from "./options.js";
import { print, type Terminal } from "./terminal.js";

const HELP = `
The private key is PKCS #8 in PEM, readable by you alone; the public one is printed. A folder that isn't
there yet is made, for you alone. Keep the private key where no agent that you run can read it: another
account, another machine.

Example:
  phasegate keygen --out ~/.keys/ann.pem
  phasegate serve --workflows workflows --state .phasegate --approver ann=ed25519:…`;

/** `phasegate keygen`. */
export function keygenCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("keygen")
    .summary("make an approver's pair of keys")
    .description("Makes an approver's pair of Ed25519 keys: writes the private one, prints the public one.")
    .requiredOption("--out <file>", "where the private key is written; a file that is there is left alone", notEmpty)
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async ({ out }: { readonly out: string }) => {
      const { publicKey, privateKey } = await createApproverKeys();
      await writeNew(out, privateKey);
      print(terminal, publicKey);
      setExitCode(EXIT.ok);
    });
}

/** The mode is there from the first byte on, and nothing that was there is lost. */
async function writeNew(file: string, text: string): Promise<void> {
  await makeFolder(dirname(file));
  const handle = await open(file, "wx", 0o600).catch((cause: unknown) => {
    const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    const message = exists ? `${file} is there already, and is left as it is` : `${file} can't be written`;
    const hint = exists ? "Name a file that isn't there yet." : "Name a file in a folder that you may write to.";
    throw new CommandFailure(message, EXIT.environment, hint, { cause });
  });
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** For its owner alone, as what goes into it; one that is there stays as it is. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    const hint = "Name a file in a folder that you may write to.";
    throw new CommandFailure(`the folder ${folder} can't be made`, EXIT.environment, hint, { cause });
  });
}
