/** Reads the entries of sessions in a list from their logs. An engine would take several times as long to load. */
import type { ListedSession, LookAt } from "../engine/lists.js";
import { PhasegateError } from "../errors.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { type SessionId, shown } from "../workflow/names.js";
import { optionsOver, type Setup } from "./engine-options.js";

type Look = (id: SessionId) => Promise<ListedSession | undefined>;

/** What reads the sessions of each kind; loaded once there is one. */
const KINDS: Readonly<Record<string, (storage: StorageAdapter, setup: Setup) => Promise<Look>>> = {
  async phased(storage, setup) {
    const { createLookContext, lookAtSession } = await import("../phased/look.js");
    const { resolveOptions } = await import("../phased/options.js");
    const context = createLookContext(resolveOptions(optionsOver(storage, setup).phased));
    return (id) => lookAtSession(context, id);
  },
  async routed(storage, setup) {
    const { createRoutedContext, resolveRoutedOptions } = await import("../routed/options.js");
    const { RoutedNotifications } = await import("../routed/notifications.js");
    const { lookAtInstance } = await import("../routed/views.js");
    const options = resolveRoutedOptions(optionsOver(storage, setup).routed);
    const context = createRoutedContext(options, new RoutedNotifications());
    return (id) => lookAtInstance(context, id);
  },
  async recorded(storage, { hashKey }) {
    const { RecordedReader } = await import("../read/sources.js");
    const reader = new RecordedReader({ storage, hashKey });
    return (id) => reader.lookAt(id);
  },
};

/** Returns a function that reads the entry of a session in a list from its log, up to the first unaccepted approval. */
export function createLooker(storage: StorageAdapter, setup: Setup): LookAt {
  const looks = new Map<string, Promise<Look>>();
  return async (id, listed) => {
    // As in openSession: a changed kind makes the log fail its check.
    const kind = (listed ?? (await storage.read(id))?.summary)?.kind;
    if (kind === undefined) return undefined;
    const open = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
    if (open === undefined) throw unknownKind(kind);
    const look = looks.get(kind) ?? open(storage, setup);
    looks.set(kind, look);
    return (await look)(id);
  };
}

function unknownKind(kind: string): PhasegateError<"UNSUPPORTED"> {
  return new PhasegateError("UNSUPPORTED", `sessions of the kind ${shown(kind)} can't be read here`, {
    remedy: "Use the program that made the session.",
    details: { operation: "list" },
  });
}
