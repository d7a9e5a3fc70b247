/** The tokens file: who may call a server over HTTP with a static token. shared-file.ts reads and writes it. */

import { isPhasegateError } from "../errors.js";
import {
  createToken,
  readTokens,
  type TokenEntry,
  type TokenRequest,
  type Tokens,
  tokensText,
} from "../login/tokens.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { changeFile, followed, lastReadable, readText, writeFile } from "./shared-file.js";

/** What the file is, in messages. */
const WHAT = "the tokens file";
/** Hashes are no secrets, but names and roles are nobody else's business. */
const MODE = 0o600;

/** Tokens in a file. */
export class TokensFile {
  /** The path of the file, with links followed. */
  readonly file: string;
  readonly #now: () => number;
  readonly #current: (report: (error: unknown) => void) => string;

  /** Times are in milliseconds since 1970. */
  constructor(file: string, now: () => number = Date.now) {
    this.file = followed(file, WHAT);
    this.#now = now;
    this.#current = lastReadable(this.file, WHAT, (text) => {
      this.#parse(text);
      return text;
    });
  }

  /**
   * Returns the text of the file for `createTokenLogin`: the same text until it changes. A file that can't be read any more
   * is reported once, and the text that was read last is kept.
   * @throws {CommandFailure} when it could never be read.
   */
  current(report: (error: unknown) => void): string {
    return this.#current(report);
  }

  /** Lists the tokens. */
  list(): readonly TokenEntry[] {
    return [...this.#parse(readText(this.file, WHAT)).values()];
  }

  /** Adds a token, and the file if there is none. Returns the token, which is nowhere else. */
  add(request: TokenRequest): Promise<{ readonly token: string; readonly entry: TokenEntry }> {
    return changeFile(this.file, () => {
      const before = readText(this.file, WHAT, "");
      const entries = before === "" ? [] : [...this.#parse(before).values()];
      const created = createToken(request, this.#now());
      writeFile(this.file, tokensText([...entries, created.entry]), before, MODE);
      return created;
    });
  }

  /** Revokes the token of an id, or all of a name. Returns those that were not revoked before. */
  revoke(nameOrId: string): Promise<{ readonly found: number; readonly revoked: readonly TokenEntry[] }> {
    return changeFile(this.file, () => {
      const before = readText(this.file, WHAT);
      const entries = [...this.#parse(before).values()];
      const found = entries.filter(({ id, name }) => id === nameOrId || name === nameOrId);
      const revoked = found.filter((entry) => entry.revoked === undefined);
      const time = new Date(this.#now()).toISOString();
      const changed = entries.map((entry) => (revoked.includes(entry) ? { ...entry, revoked: time } : entry));
      if (revoked.length > 0) writeFile(this.file, tokensText(changed), before, MODE);
      return { found: found.length, revoked };
    });
  }

  #parse(text: string): Tokens {
    try {
      return readTokens(text, this.file);
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
      throw new CommandFailure(error.message, EXIT.usage, error.remedy, { cause: error });
    }
  }
}
