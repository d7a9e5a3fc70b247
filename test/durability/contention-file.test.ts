import { join } from "node:path";
import { describe } from "vitest";
import { FileStorage } from "../../src/storage/files/storage.js";
import { temporaryRoots } from "../storage/files/temporary-root.js";
import { contentionTests } from "./contention.js";

describe("FileStorage", () => {
  contentionTests({
    worker: join(import.meta.dirname, "contention-file-worker.ts"),
    newPlace: temporaryRoots(),
    open: (place) => FileStorage.open(place),
  });
});
