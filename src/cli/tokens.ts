/**
 * `phasegate tokens`: makes, lists and revokes tokens for a server over HTTP; and the tokens file, which says who may call
 * one with a static token. shared-file.ts reads and writes it.
 */
import { InvalidArgumentError } from "commander";
import {
  createToken,
  isTokenName,
  readTokens,
  type TokenEntry,
  type TokenRequest,
  tokenState,
  tokensText,
} from "../login/tokens.js";
import { ROLES } from "../ports/actor.js";
import {
  accepting,
  age,
  argument,
  command,
  type Given,
  group,
  logLevelOption,
  parsed,
  repeatedChoice,
  required,
  text,
} from "./command.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { jsonOption } from "./options.js";
import { changeFile, followed, lastReadable, readText, writeFile } from "./shared-file.js";
import { counted, print, printable, printJson, timeText } from "./terminal.js";

const HELP = `
The file has no token, only salted digests. Keep it where no agent can write: whoever can write it can add a token. A running
server sees a change with its next request.

Examples:
  phasegate tokens add ann --role approver --tokens tokens.json
  phasegate tokens add build-agent --role agent --team web --expires 90d --tokens tokens.json
  phasegate tokens list --tokens tokens.json
  phasegate tokens revoke ann --tokens tokens.json`;

const ADD_HELP = `
The token is the only line on stdout. It is not stored, and not shown again. Several tokens may have one name: they are one
actor, whose sessions are the same.

Roles: agent works on its own sessions, viewer sees all, approver sees all and answers what waits for a person, operator
does everything.`;

function tokensOption(): Given<string> {
  const what = "the tokens file: who may call a server over HTTP";
  return required(text("--tokens <file>", what).env("PHASEGATE_TOKENS"));
}

const tokenName = accepting(
  isTokenName,
  'It must have 1 to 200 visible characters, without "://" and blanks at its ends.',
);

const addCommand = command({
  name: "add",
  summary: "print a new token, once",
  description: "Adds a token to the file, and prints it. It is not shown again.",
  arguments: [argument("<name>", "name of the actor, the owner of the sessions that are started with it", tokenName)],
  options: {
    tokens: tokensOption(),
    logLevel: logLevelOption(),
    role: required(repeatedChoice("--role <role>", "what the actor may do", ROLES)),
    team: parsed("--team <team>", "team of the sessions that the actor starts", tokenName),
    expires: parsed(
      "--expires <age>",
      "how long the token counts, such as 12h or 90d; without it, until it is revoked",
      lifetime,
    ),
  },
  help: ADD_HELP,
  async run({ tokens, role: roles, team, expires: lifetime }, terminal, name) {
    const expires = lifetime === undefined ? undefined : Date.now() + lifetime;
    const { token, entry } = await new TokensFile(tokens).add({ name, roles, team, expires });
    print(terminal, token);
    terminal.stderr.write(`${described(entry, Date.now())}. It is not shown again.\n`);
    return EXIT.ok;
  },
});

const listCommand = command({
  name: "list",
  summary: "list the tokens, without the secrets",
  description: "Lists the tokens in the file: whose they are, what they allow, and whether they count.",
  options: { tokens: tokensOption(), logLevel: logLevelOption(), json: jsonOption() },
  run({ tokens, json }, terminal) {
    const [entries, now] = [new TokensFile(tokens).list(), Date.now()];
    if (json) {
      const shown = entries.map(({ salt: _, hash: __, ...entry }) => ({ ...entry, state: tokenState(entry, now) }));
      printJson(terminal, { tokens: shown });
    } else {
      for (const entry of entries) print(terminal, described(entry, now));
      if (entries.length === 0) print(terminal, "No tokens.");
    }
    return EXIT.ok;
  },
});

const revokeCommand = command({
  name: "revoke",
  summary: "revoke a token, or all of a name",
  description: "Revokes a token by its id, or all tokens of a name. A running server refuses them from then on.",
  arguments: [argument("<name-or-id>", "name of the actor, or id of one token")],
  options: { tokens: tokensOption() },
  async run({ tokens }, terminal, nameOrId) {
    const { found, revoked } = await new TokensFile(tokens).revoke(nameOrId);
    if (found === 0) {
      const hint = "See `phasegate tokens list`.";
      throw new CommandFailure(`${printable(nameOrId)} has no token`, EXIT.problems, hint);
    }
    print(terminal, `Revoked ${counted(revoked.length, "token")} of ${printable(nameOrId)}.`);
    return EXIT.ok;
  },
});

export const tokensCommand = group(
  {
    name: "tokens",
    description: "Makes, lists and revokes the tokens with which clients log in to a server over HTTP.",
    help: HELP,
  },
  [addCommand, listCommand, revokeCommand],
);

function described(entry: TokenEntry, now: number): string {
  const { id, name, roles, team, created, expires, revoked } = entry;
  const ends = { valid: "", expired: "expired ", revoked: "revoked " }[tokenState(entry, now)];
  const until = revoked ?? expires;
  return [
    printable(name),
    id,
    roles.join(", "),
    ...(team === undefined ? [] : [`team ${printable(team)}`]),
    `since ${timeText(created)}`,
    ...(until === undefined ? [] : [`${ends === "" ? "until " : ends}${timeText(until)}`]),
  ].join("  ");
}

function lifetime(value: string): number {
  const milliseconds = age(value);
  if (milliseconds > 0) return milliseconds;
  throw new InvalidArgumentError("It must be more than 0.");
}

const WHAT = "the tokens file";
/** For the owner alone: hashes are not secret, but the names and roles concern nobody else. */
const MODE = 0o600;

export class TokensFile {
  readonly file: string;
  /** Returns the text for `createTokenLogin`: the same until the file changes. One that can't be read is reported once. */
  readonly current: (report: (error: unknown) => void) => string;
  readonly #now: () => number;

  constructor(file: string, now: () => number = Date.now) {
    this.file = followed(file, WHAT);
    this.#now = now;
    this.current = lastReadable(this.file, WHAT, (text) => {
      this.#parse(text);
      return text;
    });
  }

  list(): readonly TokenEntry[] {
    return this.#parse(readText(this.file, WHAT));
  }

  /** Adds a token, and makes the file if it is missing. Returns the token, which is nowhere else. */
  add(request: TokenRequest): Promise<{ readonly token: string; readonly entry: TokenEntry }> {
    return changeFile(this.file, () => {
      const before = readText(this.file, WHAT, "");
      const entries = before === "" ? [] : this.#parse(before);
      const created = createToken(request, this.#now());
      writeFile(this.file, tokensText([...entries, created.entry]), before, MODE);
      return created;
    });
  }

  /** Revokes the token of an id, or all of a name. Returns those that were not revoked before. */
  revoke(nameOrId: string): Promise<{ readonly found: number; readonly revoked: readonly TokenEntry[] }> {
    return changeFile(this.file, () => {
      const before = readText(this.file, WHAT);
      const entries = this.#parse(before);
      const found = entries.filter(({ id, name }) => id === nameOrId || name === nameOrId);
      const revoked = found.filter((entry) => entry.revoked === undefined);
      const time = new Date(this.#now()).toISOString();
      const changed = entries.map((entry) => (revoked.includes(entry) ? { ...entry, revoked: time } : entry));
      if (revoked.length > 0) writeFile(this.file, tokensText(changed), before, MODE);
      return { found: found.length, revoked };
    });
  }

  #parse(text: string): readonly TokenEntry[] {
    return [...readTokens(text, this.file).values()];
  }
}
