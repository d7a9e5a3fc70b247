import type { StorageAdapter } from "../ports/storage-adapter.js";

/** An adapter in front of another one: what `replace` has goes before, all else goes through. */
export function wrapStorage(inner: StorageAdapter, replace: Partial<StorageAdapter>): StorageAdapter {
  const { settle, watch, hint, damaged, size, compact, close } = inner;
  return {
    capabilities: inner.capabilities,
    read: (id) => inner.read(id),
    append: (commit) => inner.append(commit),
    log: (id, options) => inner.log(id, options),
    payload: (id, hash) => inner.payload(id, hash),
    list: (query) => inner.list(query),
    countActive: (upTo) => inner.countActive(upTo),
    remove: (id) => inner.remove(id),
    // What the other one doesn't have, this one doesn't have.
    ...(settle === undefined ? {} : { settle: settle.bind(inner) }),
    ...(watch === undefined ? {} : { watch: watch.bind(inner) }),
    ...(hint === undefined ? {} : { hint: hint.bind(inner) }),
    ...(damaged === undefined ? {} : { damaged: damaged.bind(inner) }),
    ...(size === undefined ? {} : { size: size.bind(inner) }),
    ...(compact === undefined ? {} : { compact: compact.bind(inner) }),
    ...(close === undefined ? {} : { close: close.bind(inner) }),
    ...replace,
  };
}
