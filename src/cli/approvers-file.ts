/**
 * The approvers' file, and the invitations beside it (`FILE.invitations`). A writer holds a claim on the approvers' file,
 * so that two processes never write at once. A file is on the disk before the next one is written. shared-file.ts reads and
 * writes files.
 */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
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
  type Passkey,
  stateOf,
} from "../approval/approvers.js";
import { keyIdOf } from "../approval/keys.js";
import { requirePasskey } from "../approval/passkey.js";
import { isPhasegateError } from "../errors.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { changeFile, followed, lastReadable, readText, writeFile } from "./shared-file.js";

/** What the file is, in messages. */
const WHAT = "the file of approvers";

const invitationsSchema = z.array(z.object({ name: z.string(), secretHash: z.string(), expiresAt: z.iso.datetime() }));

/** A change of a value in JSON: `undefined` takes it out. */
type Edit = (text: string, name: string, value: readonly ApproverKey[] | ApproverKey | undefined) => string;

/** What the file and the invitations contain. */
interface Contents {
  readonly text: string;
  readonly approvers: Approvers;
  readonly invitations: readonly Invitation[];
}

/** Approvers and invitations in files. */
export class ApproversFile implements Invitations {
  /** The path of the approvers' file, with links followed: a link stays a link. */
  readonly file: string;
  readonly #now: () => number;
  readonly #current: (report: (error: unknown) => void) => Approvers;

  /** Times are in milliseconds since 1970. */
  constructor(file: string, now: () => number = Date.now) {
    this.file = followed(file, WHAT);
    this.#now = now;
    this.#current = lastReadable(this.file, WHAT, (text) => parseApprovers(this.file, text));
  }

  /**
   * Returns the approvers in the file: the same object until it changes. A file that can't be read any more is reported
   * once, and the approvers that were read last are kept.
   * @throws {CommandFailure} when it could never be read.
   */
  current(report: (error: unknown) => void): Approvers {
    return this.#current(report);
  }

  /** Lists the approvers, and the invitations that are open. */
  list(): { readonly approvers: Approvers; readonly invitations: readonly Invitation[] } {
    const { approvers, invitations } = this.#read();
    return { approvers, invitations: this.#left(invitations, approvers) };
  }

  async find(secret: string): Promise<InvitationState> {
    const { approvers, invitations } = this.#read();
    return stateOf(secret, invitations, checkApprovers(approvers), this.#now());
  }

  /** Creates an invitation that counts for so many milliseconds, and the approvers' file if there is none. */
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

  /**
   * Takes out an approver with all keys and open invitations, or one key by its id. Returns the number of keys and
   * invitations that were taken out.
   */
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
    });
  }

  /** Changes the files while no other process does. */
  async #change<T>(step: (contents: Contents, edit: Edit) => T): Promise<T> {
    const edit = await loadEdit();
    return changeFile(this.file, () => step(this.#read(), edit));
  }

  #read(): Contents {
    const text = readText(this.file, WHAT, "");
    const invitations = parseInvitations(this.#invitationsFile, readText(this.#invitationsFile, WHAT, "[]"));
    return { text, approvers: text === "" ? {} : parseApprovers(this.file, text), invitations };
  }

  /** Returns the invitations that are open. */
  #left(invitations: readonly Invitation[], approvers: Approvers): Invitation[] {
    const known = checkApprovers(approvers);
    return invitations.filter(
      ({ secretHash, expiresAt }) => Date.parse(expiresAt) > this.#now() && !isUsed(secretHash, known),
    );
  }

  get #invitationsFile(): string {
    return `${this.file}.invitations`;
  }

  #writeInvitations(invitations: readonly Invitation[]): void {
    const file = this.#invitationsFile;
    writeFile(file, `${JSON.stringify(invitations, undefined, 2)}\n`, readText(file, WHAT, ""), 0o600);
  }

  /** Writes the approvers, changing only one name in the text. */
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

/** Reads and checks a text of approvers. */
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
