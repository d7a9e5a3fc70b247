/** The durable adapters that processes contend over: how one opens a place, and where a new one is. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStorage } from "phasegate/fs";

const inFolder = {
  newPlace: () => mkdtemp(join(tmpdir(), "phasegate-bench-")),
  dropPlace: (place) => rm(place, { recursive: true, force: true }),
};

/** One line for each adapter. */
export const ADAPTERS = {
  FileStorage: { ...inFolder, open: (place) => FileStorage.open(place) },
};
