import { kMaxLength } from "node:buffer";
import { join } from "node:path";
import { promisify } from "node:util";
import { constants, gunzip, gzip } from "node:zlib";
import type { SessionId } from "../../../definition/names.js";
import type { Payload } from "../../../ports/storage-adapter.js";
import type { Disk } from "./disk.js";
import type { Folders } from "./folders.js";
import { asDamage, tampered } from "./fs-failure.js";
import { temporaryName } from "./publisher.js";
import type { SessionPlace, StoreLayout } from "./store-layout.js";

const compress = promisify(gzip);
const decompress = promisify(gunzip);
/** A control character is one byte, and six in JSON. */
const MAX_JSON_GROWTH = 6;
const HASH = /^[0-9a-f]{64}$/;

/** Whether a text may be a payload's hash, and so a file's name. */
export function isPayloadHash(hash: string): boolean {
  return HASH.test(hash);
}

/** Where a session's payloads are. */
export function payloadFolder({ folder }: Pick<SessionPlace, "folder">): string {
  return join(folder, "payloads");
}

/**
 * Large evidence, one compressed file for each content. The text is kept as a JSON string, as UTF-8 has no place for
 * a lone surrogate.
 */
export class PayloadFiles {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  readonly #folders: Folders;
  readonly #maxOutputLength: number;

  constructor(disk: Disk, layout: StoreLayout, folders: Folders, maxCommitBytes: number) {
    this.#disk = disk;
    this.#layout = layout;
    this.#folders = folders;
    this.#maxOutputLength = Math.min(MAX_JSON_GROWTH * maxCommitBytes + 2, kMaxLength);
  }

  /** Brings payloads to the disk; before the commit that names them. */
  async store(at: SessionPlace, payloads: readonly Payload[]): Promise<void> {
    if (payloads.length === 0) return;
    const folder = payloadFolder(at);
    await this.#folders.within(folder, async () => {
      for (const payload of payloads) await this.#storeOne(folder, payload);
      // Also for those that were there: who wrote them may have died before this.
      await this.#disk.syncFolder(folder);
    });
  }

  async #storeOne(folder: string, { hash, body }: Payload): Promise<void> {
    const path = join(folder, `${hash}.gz`);
    if (await this.#disk.exists(path)) return;
    const staged = join(folder, temporaryName());
    // The caller waits: the fastest level costs a tenth of the best one, for a quarter more space.
    await this.#disk.writeNew(staged, await compress(JSON.stringify(body), { level: constants.Z_BEST_SPEED }));
    try {
      await this.#disk.replace(staged, path);
    } catch (error) {
      await this.#disk.drop(staged);
      throw error;
    }
  }

  /** When the newest payload of a session was written, in milliseconds; undefined if it has none. */
  async newest(at: SessionPlace): Promise<number | undefined> {
    const folder = payloadFolder(at);
    const names = await this.#disk.names(folder);
    const stats = await Promise.all(names.map((name) => this.#disk.stat(join(folder, name))));
    const times = stats.filter((stat) => stat !== undefined).map(({ mtimeMs }) => mtimeMs);
    return times.length === 0 ? undefined : times.reduce((one, other) => Math.max(one, other));
  }

  /** A payload's text; undefined if the session has none of that hash. */
  async read(id: SessionId, hash: string): Promise<string | undefined> {
    if (!isPayloadHash(hash)) return undefined;
    const path = join(payloadFolder(this.#layout.place(id)), `${hash}.gz`);
    const data = await asDamage(this.#disk.read(path), id, 0);
    return data && this.#unpack(data, id, hash);
  }

  async #unpack(data: Buffer, id: SessionId, hash: string): Promise<string> {
    const text = await decompress(data, { maxOutputLength: this.#maxOutputLength }).then(parse).catch(ignore);
    if (typeof text === "string") return text;
    throw tampered(id, 0, `payload ${hash.slice(0, 12)} is damaged, or larger than maxCommitBytes lets it be`);
  }
}

function parse(json: Buffer): unknown {
  return JSON.parse(json.toString("utf8"));
}

function ignore(): void {}
