/**
 * `phasegate approvers`: invites people to register a passkey, lists the approvers, and takes them out. approvers-file.ts
 * reads and writes the files.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { type ApproverKey, keysOf } from "../approval/approvers.js";
import { keyIdOf } from "../approval/keys.js";
import { ApproversFile } from "./approvers-file.js";
import { CommandFailure, EXIT, type SetExitCode } from "./exit-codes.js";
import { age, jsonOption, logLevelOption, notEmpty } from "./options.js";
import { counted, print, printable, printJson, type Terminal, timeText } from "./terminal.js";
import { approversOption } from "./trust.js";

/** The longest name of an approver, in characters. */
const NAME_MAX = 200;
/** The longest life of an invitation, in days. */
const DAYS_MAX = 30;
const DAY = 86_400_000;

const HELP = `
Keep the file where no agent can write: whoever can write it can add a key. A running server sees a change with its next
check. Invitations are beside the file, in FILE.invitations; only their digests are stored.

Examples:
  phasegate approvers invite ann --approvers approvers.json --url https://gates.example.com
  phasegate approvers list --approvers approvers.json
  phasegate approvers remove ann --approvers approvers.json`;

const INVITE_HELP = `
Whoever opens the link registers a passkey as an approver of that name: send it to that person alone. A person who has a
key gets another one. Browsers offer passkeys at HTTPS addresses and at http://localhost, not at IP addresses. Without
--url, the end of the link is printed, to be put after the address of the page.`;

const REMOVE_HELP = `
Takes out all keys and open invitations of the name, or with --key one key. Sessions that were approved with a key need it
until they are completed: without it, a server shows them as they were before that approval.`;

interface FileOptions {
  readonly approvers: string;
}

/** Creates `phasegate approvers`. */
export function approversCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("approvers")
    .summary("invite approvers who use a passkey, list and remove approvers")
    .description("Invites people to register a passkey, lists the approvers in a file, and takes them out.")
    .addHelpText("after", HELP);
  command
    .command("invite")
    .summary("print a link with which a person registers a passkey, once")
    .description("Prints a link with which a person registers a passkey as an approver. It works once.")
    .argument("<name>", "name of the approver, as gates name it", approverName)
    .addOption(approversOption().makeOptionMandatory())
    .option("--url <url>", "address of the page that registers passkeys", pageUrl)
    .addOption(
      new Option("--expires <age>", "how long the link works: 30m, 24h, 7d").argParser(lifetime).default(DAY, "24h"),
    )
    .addOption(logLevelOption())
    .addHelpText("after", INVITE_HELP)
    .action(async (name: string, { approvers, url, expires }: FileOptions & { url?: string; expires: number }) => {
      const { secret, expiresAt } = await new ApproversFile(approvers).invite(name, expires);
      print(terminal, `${url === undefined ? "" : `${url}/`}#invite=${secret}`);
      print(terminal, `It registers one passkey for ${printable(name)}, until ${timeText(expiresAt)}.`);
      setExitCode(EXIT.ok);
    });
  command
    .command("list")
    .summary("list the approvers, their keys and open invitations")
    .description("Lists the approvers, their keys and the open invitations.")
    .addOption(approversOption().makeOptionMandatory())
    .addOption(jsonOption())
    .addOption(logLevelOption())
    .action(({ approvers, json }: FileOptions & { json?: true }) => {
      list(new ApproversFile(approvers), json === true, terminal);
      setExitCode(EXIT.ok);
    });
  command
    .command("remove")
    .summary("take out an approver")
    .description("Takes out an approver with all keys and open invitations, or one key.")
    .argument("<name>", "name of the approver")
    .addOption(approversOption().makeOptionMandatory())
    .option("--key <id>", "take out this key only, by the id that `phasegate approvers list` prints", notEmpty)
    .addOption(logLevelOption())
    .addHelpText("after", REMOVE_HELP)
    .action(async (name: string, { approvers, key }: FileOptions & { key?: string }) => {
      const removed = await new ApproversFile(approvers).remove(name, key);
      if (removed.keys + removed.invitations === 0) {
        const what = key === undefined ? "is no approver, and has no invitation" : "has no such key";
        throw new CommandFailure(`${printable(name)} ${what}`, EXIT.problems, "See `phasegate approvers list`.");
      }
      const [keys, invitations] = [counted(removed.keys, "key"), counted(removed.invitations, "invitation")];
      print(terminal, `Removed ${keys} and ${invitations} of ${printable(name)}.`);
      setExitCode(EXIT.ok);
    });
  return command;
}

function list(file: ApproversFile, asJson: boolean, terminal: Terminal): void {
  const { approvers, invitations } = file.list();
  const people = Object.keys(approvers).map((name) => ({ name, keys: keysOf(approvers, name).map(described) }));
  const open = invitations.map(({ name, expiresAt }) => ({ name, expiresAt }));
  if (asJson) return printJson(terminal, { approvers: people, invitations: open });
  for (const { name, keys } of people) {
    for (const { kind, id, rpId } of keys) {
      print(terminal, `${printable(name)}  ${kind}  ${id}${rpId === undefined ? "" : `  for ${printable(rpId)}`}`);
    }
  }
  for (const { name, expiresAt } of open) print(terminal, `${printable(name)}  invited until ${timeText(expiresAt)}`);
  if (people.length + open.length === 0) print(terminal, "No approvers, and no open invitations.");
}

/** Returns what is shown of a key. */
function described(key: ApproverKey): { readonly kind: string; readonly id: string; readonly rpId?: string } {
  const id = keyIdOf(key);
  return typeof key === "string" ? { kind: "ed25519", id } : { kind: "passkey", id, rpId: key.rpId };
}

function approverName(value: string): string {
  if (value.trim() !== "" && value.length <= NAME_MAX) return value;
  throw new InvalidArgumentError(`It must be a name of 1 to ${NAME_MAX} characters.`);
}

function lifetime(value: string): number {
  const milliseconds = age(value);
  if (milliseconds > 0 && milliseconds <= DAYS_MAX * DAY) return milliseconds;
  throw new InvalidArgumentError(`It must be more than 0, and at most ${DAYS_MAX}d.`);
}

/** Returns the address of a page without the slash at its end. Browsers offer passkeys at no others. */
function pageUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isLocal = url?.protocol === "http:" && /(?:^|\.)localhost$/.test(url.hostname);
  const isSecure = url?.protocol === "https:" && !/^\[|^[0-9.]+$/.test(url.hostname);
  if (url !== undefined && (isLocal || isSecure) && url.search === "" && url.hash === "" && url.username === "") {
    return url.href.endsWith("/") ? url.href.slice(0, -1) : url.href;
  }
  throw new InvalidArgumentError("Give an address like https://gates.example.com or http://localhost:4000.");
}
