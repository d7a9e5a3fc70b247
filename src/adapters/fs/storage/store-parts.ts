import { Background } from "./background.js";
import { CommitReader } from "./commit-reader.js";
import type { Disk } from "./disk.js";
import { Folders } from "./folders.js";
import { Heads } from "./heads.js";
import { KnownVersions } from "./known-versions.js";
import { MarkerTidy } from "./marker-tidy.js";
import { MarkerTrees } from "./marker-trees.js";
import { NewestVersion } from "./newest-version.js";
import { PayloadFiles } from "./payload-files.js";
import type { Publisher } from "./publisher.js";
import type { StoreLayout } from "./store-layout.js";
import { Trash } from "./trash.js";
import { Watchers } from "./watchers.js";

/** What the operations of one store share. */
export type StoreParts = ReturnType<typeof createStoreParts>;

/** Puts the parts of a store together. */
export function createStoreParts(disk: Disk, layout: StoreLayout, publisher: Publisher, maxCommitBytes: number) {
  const background = new Background();
  const folders = new Folders(disk);
  const known = new KnownVersions();
  const heads = new Heads(disk, background);
  const reader = new CommitReader(disk, layout, publisher);
  const newest = new NewestVersion(disk, layout, reader, known);
  const payloads = new PayloadFiles(disk, layout, folders, maxCommitBytes);
  const trees = new MarkerTrees(disk, layout, folders, background);
  const tidy = new MarkerTidy({ disk, layout, background }, reader, trees, newest);
  const trash = new Trash(disk, layout);
  const watchers = new Watchers(disk, layout);
  const stored = { heads, known, newest, payloads, reader };
  return { ...stored, background, disk, folders, layout, publisher, tidy, trash, trees, watchers };
}
