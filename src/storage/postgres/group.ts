/**
 * Commits of concurrent sessions share a statement, and so its round trip and the server's sync. A commit that comes alone
 * is sent at once. Those that come while others are under way wait until one of these is answered, and go together.
 *
 * A group does not wait for rows that somebody else has locked, so a session that is held up does not hold up the others. It
 * waits only for somebody who is just now beginning one of its sessions. What it has not written is sent alone, which tells why.
 */
import { setImmediate as endOfTurn } from "node:timers/promises";
import type { SessionId } from "../../workflow/names.js";
import { type Connections, withStandby } from "./connections.js";
import { isAnswered } from "./failures.js";
import type { PgClient } from "./options.js";
import type { ColumnValue, Statements } from "./rows.js";

/** How many statements are under way before commits wait: while the server writes one group, this process makes the next. */
const UNDER_WAY_MAX = 2;
/** The most commits in a statement, and characters of their bodies: others go with the next one. */
const COMMITS_MAX = 256;
const CHARACTERS_MAX = 1024 * 1024;
/**
 * If there are more commits than this, a group has half of those that are sent or wait. One with all of them would keep the
 * server waiting for this process, and then this process for the server.
 */
const FEW = 16;

/** What came of a sent commit; `unconfirmed` if the server did not wait for its standbys. */
export type Sent = "written" | "unconfirmed" | "refused";

/** A commit with the parameters of its statement. */
export interface Outgoing {
  readonly sessionId: SessionId;
  /** The number of characters of its body. */
  readonly characters: number;
  readonly values: ColumnValue[];
}

/** A commit that waits. */
interface Waiting<Item> {
  readonly item: Item;
  resolve(sent: Sent | "left"): void;
  reject(error: unknown): void;
}

/** Sends commits, those of the same time together. */
export class CommitGroups<Item extends Outgoing> {
  readonly #connections: Connections;
  readonly #appendAll: Statements["appendAll"];
  readonly #sendAlone: (item: Item) => Promise<Sent>;
  /** Empty unless as many statements are under way as may be. */
  #waiting: Waiting<Item>[] = [];
  #underWay = 0;
  /** How many commits are in the statements under way. */
  #sent = 0;
  readonly #onSettled: (() => void)[] = [];

  constructor(connections: Connections, appendAll: Statements["appendAll"], sendAlone: (item: Item) => Promise<Sent>) {
    this.#connections = connections;
    this.#appendAll = appendAll;
    this.#sendAlone = sendAlone;
  }

  /**
   * Sends a commit, at once or with others. Returns `left` if a group has not written it, for whatever reason: it must be sent
   * alone then. Throws what sending it alone would throw, and `isLost` errors of a group, which may have been written.
   */
  send(item: Item): Promise<Sent | "left"> {
    if (this.#underWay < UNDER_WAY_MAX) return this.#send(1, () => this.#sendAlone(item));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
    });
  }

  /** Resolves when no commit waits any more, and none is under way. */
  async settled(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#onSettled.push(resolve));
  }

  async #send<T>(commits: number, sending: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    this.#sent += commits;
    try {
      return await sending();
    } finally {
      this.#underWay -= 1;
      this.#sent -= commits;
      if (this.#waiting.length > 0) this.#sendNext();
      if (this.#underWay === 0) for (const settle of this.#onSettled.splice(0)) settle();
    }
  }

  #sendNext(): void {
    const group = this.#takeGroup();
    const [first, ...others] = group;
    if (first === undefined) return;
    if (others.length > 0) void this.#send(group.length, () => this.#sendGroup(group));
    else this.#send(1, () => this.#sendAlone(first.item)).then(first.resolve, first.reject);
  }

  /** Takes the commits of the next statement, at most one of a session: the next one follows it. */
  #takeGroup(): Waiting<Item>[] {
    const group = new Map<SessionId, Waiting<Item>>();
    const left: Waiting<Item>[] = [];
    let total = 0;
    const share = Math.ceil((this.#sent + this.#waiting.length) / UNDER_WAY_MAX);
    const max = Math.min(COMMITS_MAX, Math.max(FEW, share));
    for (const waiting of this.#waiting) {
      const { sessionId, characters } = waiting.item;
      const isFull = group.size === max || (group.size > 0 && total + characters > CHARACTERS_MAX);
      if (isFull || group.has(sessionId)) left.push(waiting);
      else {
        group.set(sessionId, waiting);
        total += characters;
      }
    }
    this.#waiting = left;
    return [...group.values()];
  }

  /** Sends commits together. Never rejects. */
  async #sendGroup(group: readonly Waiting<Item>[]): Promise<void> {
    try {
      const query = this.#appendAll(columnsOf(group.map(({ item }) => item.values)));
      const write = (client: PgClient) => withStandby(client, () => client.query<{ session_id: SessionId }>(query));
      const { result, waited } = await this.#connections.use(write);
      const written = new Set(result.rows.map(({ session_id }) => session_id));
      for (const { item, resolve } of group) {
        resolve(!written.has(item.sessionId) ? "left" : waited ? "written" : "unconfirmed");
      }
    } catch (error) {
      // What the server refuses is rolled back. The reason may be another commit of the group.
      for (const { resolve, reject } of group) isAnswered(error) ? resolve("left") : reject(error);
    }
    // Who was answered goes on in this turn: what they append next goes together again.
    await endOfTurn();
  }
}

/** Returns the columns of rows as parameters: an array of numbers as the driver sends it, and one of texts in binary. */
function columnsOf(rows: readonly ColumnValue[][]): unknown[] {
  const [first = []] = rows;
  return first.map((value, index) => {
    const column = rows.map((row) => row[index] ?? null);
    return typeof value === "number" ? column : binaryArray(column);
  });
}

/** The number of the type `text` in PostgreSQL's catalog. */
const TEXT_OID = 25;
/** The bytes before all elements of an array, and before each one. */
const [ARRAY_HEAD, ELEMENT_HEAD] = [20, 4];

/**
 * Encodes an array of texts as PostgreSQL's `array_recv` reads it: the number of dimensions, whether there are NULLs, the type
 * of the elements, how many they are, the number of the first, and each element after its length, which is -1 for NULL.
 * The driver would write the array as a text with escaped elements: both sides together then take a tenth longer for a commit.
 */
function binaryArray(texts: readonly ColumnValue[]): Buffer {
  const lengths = texts.map((text) => (text === null ? -1 : Buffer.byteLength(`${text}`)));
  const bytes = lengths.reduce((sum, length) => sum + ELEMENT_HEAD + Math.max(length, 0), ARRAY_HEAD);
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const number of [1, lengths.includes(-1) ? 1 : 0, TEXT_OID, texts.length, 1])
    at = buffer.writeInt32BE(number, at);
  for (const [index, length] of lengths.entries()) {
    at = buffer.writeInt32BE(length, at);
    at += buffer.write(`${texts[index] ?? ""}`, at);
  }
  return buffer;
}
