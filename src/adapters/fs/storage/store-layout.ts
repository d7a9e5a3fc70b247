import { hash } from "node:crypto";
import { join } from "node:path";
import { parseSessionId, type SessionId } from "../../../definition/names.js";

/** The names that Windows keeps for devices. An id never begins with `_`, so the escaped name is free. */
const DEVICES = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/;

/** The folders right under the root. */
export const TOP_FOLDERS = ["sessions", "compacted", "all", "active", "removed", "trash", "watching"] as const;

/**
 * Where things are:
 *
 * ```
 * format.json                                what this store is
 * sessions/<2 hex>/<id>/<version>.json       one commit each, never changed
 * sessions/<2 hex>/<id>/head                 a hint: most of the time the newest commit
 * sessions/<2 hex>/<id>/payloads/<hash>.gz
 * compacted/<2 hex>/<id>/<generation>/        the same, where the first versions are one file, `log`
 * all/<day>/<time>~<id>                      markers, by the time of creation
 * active/<day>/<time>~<id>~<version>         markers of the active ones
 * removed/<2 hex>/<id>                       ids that never begin again: of removed and of compacted sessions
 * trash/<why>~<id>~<time>~<unique>/          what was removed or compacted, until it is deleted
 * watching/<unique>                          who watches: these read removed sessions out of the trash
 * ```
 *
 * The two hexadecimal digits are the first of the id's SHA-256, so that no folder holds too many.
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

  compactedShelf(id: SessionId): string {
    return join(this.root, "compacted", spread(id));
  }

  /** The folder of a compacted session's generations. */
  generations(id: SessionId): string {
    return join(this.compactedShelf(id), folderName(id));
  }

  /** The folder of one generation: 0 is the session's own folder. */
  generation(id: SessionId, number: number): string {
    return number === 0 ? this.session(id) : join(this.generations(id), String(number));
  }

  removedShelf(id: SessionId): string {
    return join(this.root, "removed", spread(id));
  }

  removed(id: SessionId): string {
    return join(this.removedShelf(id), folderName(id));
  }

  top(name: (typeof TOP_FOLDERS)[number]): string {
    return join(this.root, name);
  }

  format(): string {
    return join(this.root, "format.json");
  }
}

function spread(id: SessionId): string {
  return hash("sha256", id, "hex").slice(0, 2);
}

// The id was checked at the door; a path is made of it here, so a caller without types is stopped here too.
function folderName(id: SessionId): string {
  return DEVICES.test(parseSessionId(id)) ? `_${id}` : id;
}
