import { Background } from "./background.js";
import { CommitReader } from "./commit-reader.js";
import type { Disk } from "./disk.js";
import { Folders } from "./folders.js";
import { Generations } from "./generations.js";
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
  const generations = new Generations(disk, layout);
  const reader = new CommitReader(disk, generations, publisher);
  const newest = new NewestVersion(reader, known, generations);
  const payloads = new PayloadFiles(disk, generations, folders, maxCommitBytes);
  const trees = new MarkerTrees(disk, layout, folders, background);
  const tidy = new MarkerTidy(disk, reader, trees, newest, background);
  const trash = new Trash(disk, layout);
  const watchers = new Watchers(disk, layout);
  const stored = { generations, known, newest, payloads, reader };
  return { ...stored, background, disk, folders, layout, publisher, tidy, trash, trees, watchers };
}
