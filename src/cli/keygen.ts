/** `phasegate keygen`: creates an approver's pair of keys. The private key is written to a new file. */
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { Command } from "commander";
import { createApproverKeys } from "../approval/sign.js";
import { CommandFailure, EXIT, type SetExitCode } from "./exit-codes.js";
import { logLevelOption, notEmpty } from "./options.js";
import { print, type Terminal } from "./terminal.js";

const HELP = `
The private key is PKCS #8 in PEM, readable by you only; the public key is printed. A missing folder is created, for
you only. Keep the private key where none of your agents can read it: in another account, or on another machine.

Example:
  phasegate keygen --out ~/.keys/ann.pem
  phasegate serve --workflows workflows --state .phasegate --approver ann=ed25519:…`;

/** Creates `phasegate keygen`. */
export function keygenCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  return new Command("keygen")
    .summary("make an approver's pair of keys")
    .description("Makes an approver's pair of Ed25519 keys: writes the private key, prints the public one.")
    .requiredOption("--out <file>", "file for the private key; an existing file is not changed", notEmpty)
    .addOption(logLevelOption())
    .addHelpText("after", HELP)
    .action(async ({ out }: { readonly out: string }) => {
      const { publicKey, privateKey } = await createApproverKeys();
      await writeNew(out, privateKey);
      print(terminal, publicKey);
      setExitCode(EXIT.ok);
    });
}

/** Writes a new file. It has its mode before it has contents, and an existing file is never overwritten. */
async function writeNew(file: string, text: string): Promise<void> {
  await makeFolder(dirname(file));
  const handle = await open(file, "wx", 0o600).catch((cause: unknown) => {
    const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    const message = exists ? `${file} already exists, and was not changed` : `${file} can't be written`;
    const hint = exists ? "Name a new file." : "Name a file in a folder that you may write to.";
    throw new CommandFailure(message, EXIT.environment, hint, { cause });
  });
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder that only its owner can read. An existing one keeps its mode. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    const hint = "Name a file in a folder that you may write to.";
    throw new CommandFailure(`the folder ${folder} can't be created`, EXIT.environment, hint, { cause });
  });
}
