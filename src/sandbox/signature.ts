import type { BigIntStats } from "node:fs";
/** What tells one state of a file from another without reading it. */
export interface FileSignature {
  /** Equal for an unchanged file; made of device, inode, size and the times of its last change. */
  readonly key: string;
  readonly size: number;
  /** When it was last changed, in milliseconds since 1970: a very recent time says that the key may be blind. */
  readonly changedAt: number;
}

/** The signature of a file from its `stat`. The change time is in it since a tool can set the other one back. */
export function signatureOf(stats: BigIntStats): FileSignature {
  const { dev, ino, size, mtimeNs, ctimeNs } = stats;
  return {
    key: [dev, ino, size, mtimeNs, ctimeNs].join(":"),
    size: Number(size),
    changedAt: Number((mtimeNs > ctimeNs ? mtimeNs : ctimeNs) / 1_000_000n),
  };
}

/** Tells one file from another, under whatever name; undefined where the file system doesn't number its files. */
export function identityOf({ key }: FileSignature): string | undefined {
  const [dev, ino] = key.split(":");
  return ino === undefined || ino === "0" ? undefined : `${dev}:${ino}`;
}

/** Whether two `stat`s are of the same file. */
export function isSameFile(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}
