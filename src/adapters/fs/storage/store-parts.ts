import { Background } from "./background.js";
import { CommitReader } from "./commit-reader.js";
import type { Disk } from "./disk.js";
import { Folders } from "./folders.js";
import { KnownVersions } from "./known-versions.js";
import { MarkerTidy } from "./marker-tidy.js";
import { MarkerTrees } from "./marker-trees.js";
import { NewestVersion } from "./newest-version.js";
import { PayloadFiles } from "./payload-files.js";
import type { Publisher } from "./publisher.js";
import type { StoreLayout } from "./store-layout.js";

/** What the operations of one store share. */
export type StoreParts = ReturnType<typeof createStoreParts>;

/** Puts the parts of a store together. */
export function createStoreParts(disk: Disk, layout: StoreLayout, publisher: Publisher, maxCommitBytes: number) {
  const background = new Background();
  const folders = new Folders(disk);
  const known = new KnownVersions();
  const reader = new CommitReader(disk, layout, publisher);
  const newest = new NewestVersion(reader, known);
  const payloads = new PayloadFiles(disk, layout, folders, maxCommitBytes);
  const trees = new MarkerTrees(disk, layout, folders, background);
  const tidy = new MarkerTidy(disk, layout, trees, newest, background);
  return { background, disk, folders, known, layout, newest, payloads, publisher, reader, tidy, trees };
}
