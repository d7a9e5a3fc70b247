/**
 * `phasegate approvers`: adds approvers by their keys, invites people to register a passkey, lists the approvers, and takes them
 * out. And the approvers' file, with the invitations beside it (`FILE.invitations`). One claim, on the approvers' file, is for both: two processes never
 * write at once. A file is on the disk before the next one is written.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { InvalidArgumentError } from "commander";
import * as z from "zod";
import {
  type ApproverKey,
  type Approvers,
  acceptInvitation,
  checkApprovers,
  type Invitation,
  type InvitationState,
  type Invitations,
  invitationFor,
  isUsed,
  keysOf,
  type Passkey,
  stateOf,
} from "../approval/approvers.js";
import { keyIdOf, readPrivateKey } from "../approval/keys.js";
import { requirePasskey } from "../approval/passkey.js";
import { isPhasegateError } from "../errors.js";
import { accepting, age, argument, command, group, parsed, preset, required, text } from "./command.js";
import { CommandFailure, EXIT, usage } from "./exit-codes.js";
import { approversOption, jsonOption, readSecret } from "./options.js";
import { changeFile, followed, lastReadable, readText, writeFile } from "./shared-file.js";
import { counted, print, printable, printJson, timeText } from "./terminal.js";

const NAME_MAX = 200;
const DAYS_MAX = 30;
const DAY = 86_400_000;

const HELP = `
Keep the file where no agent can write: whoever can write it can add a key. A running server sees a change with its next
check. Invitations are beside the file, in FILE.invitations; only their digests are stored.

Examples:
  phasegate approvers add ann --key ~/.keys/ann.pem --approvers approvers.json
  phasegate approvers invite bob --approvers approvers.json --url https://gates.example.com
  phasegate approvers list --approvers approvers.json
  phasegate approvers remove ann --approvers approvers.json`;

const INVITE_HELP = `
The person who opens the link registers a passkey as an approver of that name: send it to that person alone. A person who has a
key gets another one. Browsers offer passkeys at HTTPS addresses and at http://localhost, not at IP addresses. Without
--url, the end of the link is printed, to be put after the address of the page.`;

const ADD_HELP = `
A missing file is created, with its folder. A person who has a key gets another one. The server must have the same file: --approvers FILE, or
PHASEGATE_APPROVERS.`;

const REMOVE_HELP = `
Takes out all keys and open invitations of the name, or with --key one key. Sessions that were approved with a key need it
until they are completed: without it, a server shows them as they were before that approval.`;

const approverName = accepting(
  (value) => value.trim() !== "" && value.length <= NAME_MAX,
  `It must be a name of 1 to ${NAME_MAX} characters.`,
);

const inviteCommand = command({
  name: "invite",
  summary: "print a link with which a person registers a passkey, once",
  description: "Prints a link with which a person registers a passkey as an approver. It works once.",
  arguments: [argument("<name>", "name of the approver, as gates name it", approverName)],
  options: {
    approvers: required(approversOption()),
    url: parsed("--url <url>", "address of the page that registers passkeys", pageUrl),
    expires: preset(parsed("--expires <age>", "how long the link works: 30m, 24h, 7d", lifetime), DAY, "24h"),
  },
  help: INVITE_HELP,
  async run({ approvers, url, expires }, terminal, name) {
    const { secret, expiresAt } = await new ApproversFile(approvers).invite(name, expires);
    print(terminal, `${url === undefined ? "" : `${url}/`}#invite=${secret}`);
    print(terminal, `It registers one passkey for ${printable(name)}, until ${timeText(expiresAt)}.`);
    return EXIT.ok;
  },
});

const addCommand = command({
  name: "add",
  summary: "add the Ed25519 key of a person",
  description:
    "Adds an Ed25519 key to the approvers, from the file that `phasegate keygen` has written or as it has printed it.",
  arguments: [argument("<name>", "name of the approver, as gates name it", approverName)],
  options: {
    approvers: required(approversOption()),
    key: text("--key <file>", "the person's private key: its public key is added, and nothing else"),
    publicKey: text("--public-key <key>", "the public key: ed25519:…").conflicts("key"),
  },
  help: ADD_HELP,
  async run({ approvers, key: file, publicKey }, terminal, name) {
    const key =
      file === undefined ? publicKey : (await readPrivateKey(await readSecret(file, "the private key"))).publicKey;
    if (key === undefined) throw usage("no key is given", "Give --key FILE, or --public-key ed25519:….");
    mkdirSync(dirname(approvers), { recursive: true, mode: 0o700 });
    const isNew = await new ApproversFile(approvers).add(name, key);
    print(
      terminal,
      isNew
        ? `Added a key of ${printable(name)}. A server with --approvers ${approvers} accepts it from now on.`
        : `This key of ${printable(name)} is there already.`,
    );
    return EXIT.ok;
  },
});

const listCommand = command({
  name: "list",
  summary: "list the approvers, their keys and open invitations",
  description: "Lists the approvers, their keys and the open invitations.",
  options: { approvers: required(approversOption()), json: jsonOption() },
  run({ approvers: file, json }, terminal) {
    const { approvers, invitations } = new ApproversFile(file).list();
    const people = Object.keys(approvers).map((name) => ({ name, keys: keysOf(approvers, name).map(described) }));
    const open = invitations.map(({ name, expiresAt }) => ({ name, expiresAt }));
    if (json) {
      printJson(terminal, { approvers: people, invitations: open });
      return EXIT.ok;
    }
    for (const { name, keys } of people) {
      for (const { kind, id, rpId } of keys) {
        print(terminal, `${printable(name)}  ${kind}  ${id}${rpId === undefined ? "" : `  for ${printable(rpId)}`}`);
      }
    }
    for (const { name, expiresAt } of open) print(terminal, `${printable(name)}  invited until ${timeText(expiresAt)}`);
    if (people.length + open.length === 0) print(terminal, "No approvers, and no open invitations.");
    return EXIT.ok;
  },
});

const removeCommand = command({
  name: "remove",
  summary: "take out an approver",
  description: "Takes out an approver with all keys and open invitations, or one key.",
  arguments: [argument("<name>", "name of the approver")],
  options: {
    approvers: required(approversOption()),
    key: text("--key <id>", "take out this key only, by the id that `phasegate approvers list` prints"),
  },
  help: REMOVE_HELP,
  async run({ approvers, key }, terminal, name) {
    const removed = await new ApproversFile(approvers).remove(name, key);
    if (removed.keys + removed.invitations === 0) {
      const what = key === undefined ? "is no approver, and has no invitation" : "has no such key";
      throw new CommandFailure(`${printable(name)} ${what}`, EXIT.problems, "See `phasegate approvers list`.");
    }
    const [keys, invitations] = [counted(removed.keys, "key"), counted(removed.invitations, "invitation")];
    print(terminal, `Removed ${keys} and ${invitations} of ${printable(name)}.`);
    return EXIT.ok;
  },
});

export const approversCommand = group(
  {
    name: "approvers",
    description:
      "Adds approvers by their keys, invites people to register a passkey, lists approvers, and takes them out.",
    help: HELP,
  },
  [addCommand, inviteCommand, listCommand, removeCommand],
);

function described(key: ApproverKey): { readonly kind: string; readonly id: string; readonly rpId?: string } {
  const id = keyIdOf(key);
  return typeof key === "string" ? { kind: "ed25519", id } : { kind: "passkey", id, rpId: key.rpId };
}

function lifetime(value: string): number {
  const milliseconds = age(value);
  if (milliseconds > 0 && milliseconds <= DAYS_MAX * DAY) return milliseconds;
  throw new InvalidArgumentError(`It must be more than 0, and at most ${DAYS_MAX}d.`);
}

/** Returns the address without the slash at its end. Browsers offer passkeys at no other addresses. */
function pageUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isLocal = url?.protocol === "http:" && /(?:^|\.)localhost$/.test(url.hostname);
  const isSecure = url?.protocol === "https:" && !/^\[|^[0-9.]+$/.test(url.hostname);
  if (url !== undefined && (isLocal || isSecure) && url.search === "" && url.hash === "" && url.username === "") {
    return url.href.endsWith("/") ? url.href.slice(0, -1) : url.href;
  }
  throw new InvalidArgumentError("Give an address like https://gates.example.com or http://localhost:4000.");
}

const WHAT = "the file of approvers";

const invitationsSchema = z.array(z.object({ name: z.string(), secretHash: z.string(), expiresAt: z.iso.datetime() }));

/** A change of a value in JSON: `undefined` takes it out. */
type Edit = (text: string, name: string, value: readonly ApproverKey[] | ApproverKey | undefined) => string;

interface Contents {
  readonly text: string;
  readonly approvers: Approvers;
  readonly invitations: readonly Invitation[];
}

export class ApproversFile implements Invitations {
  /** The path of the approvers' file, with links followed: a link stays a link. */
  readonly file: string;
  /** Returns the approvers: the same object until the file changes. One that can't be read any more is reported once. */
  readonly current: (report: (error: unknown) => void) => Approvers;
  readonly #invitationsFile: string;
  readonly #now: () => number;

  constructor(file: string, now: () => number = Date.now) {
    this.file = followed(file, WHAT);
    this.#invitationsFile = `${this.file}.invitations`;
    this.#now = now;
    this.current = lastReadable(this.file, WHAT, (text) => parseApprovers(this.file, text));
  }

  list(): { readonly approvers: Approvers; readonly invitations: readonly Invitation[] } {
    const { approvers, invitations } = this.#read(false);
    return { approvers, invitations: this.#left(invitations, approvers) };
  }

  async find(secret: string): Promise<InvitationState> {
    const { approvers, invitations } = this.#read();
    return stateOf(secret, invitations, checkApprovers(approvers), this.#now());
  }

  /** Creates an invitation that counts for so many milliseconds, and the approvers' file if it is missing. */
  invite(name: string, lifetime: number): Promise<{ readonly secret: string; readonly expiresAt: string }> {
    const expiresAt = new Date(this.#now() + lifetime).toISOString();
    const secret = randomBytes(32).toString("base64url");
    const invitation = invitationFor(secret, name, expiresAt);
    return this.#change(({ text, approvers, invitations }) => {
      if (text === "") writeFile(this.file, "{}\n", text);
      this.#writeInvitations([...this.#left(invitations, approvers), invitation]);
      return { secret, expiresAt };
    });
  }

  accept(secret: string, passkey: Passkey): Promise<{ readonly name: string }> {
    return this.#change(({ text, approvers, invitations }, edit) => {
      const known = checkApprovers(approvers);
      const { name, key } = acceptInvitation(secret, passkey, invitations, known, this.#now());
      const changed = { ...approvers, [name]: oneOrMore([...(known.get(name) ?? []), key]) };
      // From here on the invitation is used: its hash stands with the passkey.
      this.#writeApprovers(text, changed, name, edit);
      this.#writeInvitations(this.#left(invitations, changed));
      return { name };
    });
  }

  /** Adds a public key, and creates the file if it is missing. Returns false if the person has the key. */
  add(name: string, key: string): Promise<boolean> {
    return this.#change(({ text, approvers }, edit) => {
      const known = checkApprovers(approvers);
      const [other] = [...known].find(([, keys]) => keys.includes(key)) ?? [];
      if (other !== undefined && other !== name) {
        const hint = `Give ${printable(name)} a key of their own: phasegate keygen.`;
        throw new CommandFailure(`this key is one of ${printable(other)}`, EXIT.problems, hint);
      }
      if (other === name) return false;
      const changed = { ...approvers, [name]: oneOrMore([...(known.get(name) ?? []), key]) };
      checkApprovers(changed);
      if (text === "") writeFile(this.file, "{}\n", text);
      this.#writeApprovers(text === "" ? "{}\n" : text, changed, name, edit);
      return true;
    });
  }

  /** Takes out an approver with all keys and open invitations, or one key by its id. Returns how many of both went. */
  remove(name: string, keyId?: string): Promise<{ readonly keys: number; readonly invitations: number }> {
    return this.#change(({ text, approvers, invitations }, edit) => {
      const known = checkApprovers(approvers).get(name) ?? [];
      const kept = keyId === undefined ? [] : known.filter((key) => keyIdOf(key) !== keyId);
      // Invitations go first: one that a passkey proves to be used must not be open again without it.
      const open = this.#left(invitations, approvers);
      const left = keyId === undefined ? open.filter((one) => one.name !== name) : open;
      if (invitations.length > 0) this.#writeInvitations(left);
      if (kept.length < known.length) {
        const { [name]: _, ...others } = approvers;
        const changed = kept.length === 0 ? others : { ...approvers, [name]: oneOrMore(kept) };
        this.#writeApprovers(text, changed, name, edit);
      }
      return { keys: known.length - kept.length, invitations: open.length - left.length };
    }, false);
  }

  async #change<T>(step: (contents: Contents, edit: Edit) => T, mayBeMissing = true): Promise<T> {
    const edit = await loadEdit();
    return changeFile(this.file, () => step(this.#read(mayBeMissing), edit));
  }

  #read(mayBeMissing = true): Contents {
    const text = readText(this.file, WHAT, mayBeMissing ? "" : undefined);
    const invitations = parseInvitations(this.#invitationsFile, readText(this.#invitationsFile, WHAT, "[]"));
    return { text, approvers: text === "" ? {} : parseApprovers(this.file, text), invitations };
  }

  #left(invitations: readonly Invitation[], approvers: Approvers): Invitation[] {
    const known = checkApprovers(approvers);
    return invitations.filter(
      ({ secretHash, expiresAt }) => Date.parse(expiresAt) > this.#now() && !isUsed(secretHash, known),
    );
  }

  #writeInvitations(invitations: readonly Invitation[]): void {
    const file = this.#invitationsFile;
    writeFile(file, `${JSON.stringify(invitations, undefined, 2)}\n`, readText(file, WHAT, ""), 0o600);
  }

  /** Changes only one name in the text. */
  #writeApprovers(text: string, approvers: Approvers, name: string, edit: Edit): void {
    const changed = edit(text, name, Object.hasOwn(approvers, name) ? approvers[name] : undefined);
    // A name that is there twice would be changed in one place, and read from the other.
    if (!isDeepStrictEqual(parseApprovers(this.file, changed), normal(approvers))) {
      const hint = "See that each name is there once.";
      throw new CommandFailure(`${this.file} can't be changed: a name is there twice`, EXIT.problems, hint);
    }
    writeFile(this.file, changed, text);
  }
}

function parseApprovers(file: string, text: string): Approvers {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return normal({ ...parsed });
  } catch (error) {
    if (isPhasegateError(error)) throw new CommandFailure(`${file}: ${error.message}`, EXIT.usage, error.remedy);
    if (!(error instanceof SyntaxError)) throw error;
  }
  const hint = 'Write {"name": "ed25519:…"}, or invite a person: phasegate approvers invite NAME.';
  throw new CommandFailure(`${file} is not a file of approvers`, EXIT.usage, hint);
}

/** Checks approvers, and returns them in one form: a list for each name that has several keys. */
function normal(approvers: Readonly<Record<string, unknown>>): Approvers {
  const known = [...checkApprovers(approvers)];
  for (const [name, keys] of known) for (const key of keys) if (typeof key !== "string") requirePasskey(name, key);
  return Object.fromEntries(known.map(([name, keys]) => [name, oneOrMore(keys)]));
}

function oneOrMore(keys: readonly ApproverKey[]): ApproverKey | readonly ApproverKey[] {
  const [first] = keys;
  return keys.length === 1 && first !== undefined ? first : keys;
}

function parseInvitations(file: string, text: string): readonly Invitation[] {
  try {
    return invitationsSchema.parse(JSON.parse(text));
  } catch (cause) {
    const hint = "Delete it, and invite again: the invitations in it are then no longer valid.";
    throw new CommandFailure(`${file} is not a file of invitations`, EXIT.environment, hint, { cause });
  }
}

/** Loads what changes a value in a text of JSON and keeps the rest of the text. */
async function loadEdit(): Promise<Edit> {
  const { applyEdits, modify } = await import("jsonc-parser");
  return (text, name, value) => {
    const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
    const formattingOptions = { insertSpaces: !indent.startsWith("\t"), tabSize: indent.length, eol: "\n" };
    return applyEdits(text, modify(text, [name], value, { formattingOptions }));
  };
}
