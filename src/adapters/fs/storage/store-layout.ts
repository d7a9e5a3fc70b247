import { hash } from "node:crypto";
import { join } from "node:path";
import { isSessionId, parseSessionId, type SessionId } from "../../../definition/names.js";

/** The names that Windows keeps for devices. An id never begins with `_`, so the escaped name is free. */
const DEVICES = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/;

/** The folders right under the root. */
export const TOP_FOLDERS = ["sessions", "all", "active", "removed", "packed", "trash", "watching"] as const;

/** Where a session's files are; for a removed session, in the trash. */
export interface SessionPlace {
  readonly id: SessionId;
  readonly folder: string;
}

/**
 * Where things are:
 *
 * ```
 * format.json                                what this store is
 * sessions/<2 hex>/<id>/<version>.json       one commit each, never changed; 1.json may be a pack of the first commits
 * sessions/<2 hex>/<id>/head                 a hint: most of the time the newest version's number
 * sessions/<2 hex>/<id>/payloads/<hash>.gz
 * all/<day>/<time>~<id>                      markers, by the time of creation
 * active/<day>/<time>~<id>~<version>         markers of the active ones
 * removed/<2 hex>/<id>                       ids that are never used again
 * packed/<id>                                sessions that may have files of versions that are in the pack, too
 * trash/<why>~<id>~<time>~<unique>/          what was removed, until it is deleted
 * watching/<unique>                          who watches: these read removed sessions out of the trash
 * ```
 *
 * The two hexadecimal digits are the first of the id's SHA-256, so that no folder holds too many.
 *
 * A tool that copies the tree file by file, in any order and over any time, must find each session whole. So a session
 * has one folder for its whole life, files in it never change, what takes a file's place has the same name, and a file
 * whose content is elsewhere by now is deleted only after a delay.
 */
export class StoreLayout {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  /** The folder that holds a session's own. */
  shelf(id: SessionId): string {
    return join(this.root, "sessions", spread(id));
  }

  session(id: SessionId): string {
    return join(this.shelf(id), folderName(id));
  }

  place(id: SessionId): SessionPlace {
    return { id, folder: this.session(id) };
  }

  removedShelf(id: SessionId): string {
    return join(this.root, "removed", spread(id));
  }

  removed(id: SessionId): string {
    return join(this.removedShelf(id), folderName(id));
  }

  /** The note that a session was packed, and has files that are to be deleted. */
  packed(id: SessionId): string {
    return join(this.root, "packed", folderName(id));
  }

  top(name: (typeof TOP_FOLDERS)[number]): string {
    return join(this.root, name);
  }

  format(): string {
    return join(this.root, "format.json");
  }
}

/** Which session a folder's name stands for; undefined if it stands for none. */
export function sessionOf(name: string): SessionId | undefined {
  const id = name.startsWith("_") && DEVICES.test(name.slice(1)) ? name.slice(1) : name;
  return isSessionId(id) ? id : undefined;
}

function spread(id: SessionId): string {
  return hash("sha256", id, "hex").slice(0, 2);
}

// The id was checked at the door; a path is made of it here, so a caller without types is stopped here too.
function folderName(id: SessionId): string {
  return DEVICES.test(parseSessionId(id)) ? `_${id}` : id;
}
