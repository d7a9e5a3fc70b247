import { describe, expect, it } from "vitest";
import { howOften } from "../../../support/how-often.js";
import { chanceFrom } from "./chance.js";
import { PowerDisk, type Sync } from "./power-fs.js";
import { powerRound } from "./storage-work.js";

const ROUNDS = howOften(15, 1000);
/** Number of rounds that is enough to detect a missing sync. */
const FINDING_ROUNDS = 400;

describe("when the power fails", () => {
  it(`no acknowledged commit is lost, in ${ROUNDS} rounds`, { timeout: 7_200_000 }, async () => {
    for (let seed = 1; seed <= ROUNDS; seed++) await playRound(seed);
  });

  const KINDS: Readonly<Record<string, (sync: Sync) => boolean>> = {
    "a commit's file": ({ path, kind }) =>
      kind === "file" && /^\/store\/sessions\/..\/\w+\/tmp-(?!pack-)[^/]+$/.test(path),
    "the folder of a version": ({ path, kind }) => kind === "folder" && /^\/store\/sessions\/..\/\w+$/.test(path),
    "the folder of a session": ({ path, kind }) => kind === "folder" && /^\/store\/sessions\/..$/.test(path),
    "a payload": ({ path, kind }) => kind === "file" && /\/payloads\/tmp-/.test(path),
    "the folder of payloads": ({ path, kind }) => kind === "folder" && /sessions\/..\/\w+\/payloads$/.test(path),
    "the folder of markers": ({ path, kind }) => kind === "folder" && /^\/store\/(all|active)\/[^/]+$/.test(path),
    "the mark of a removed id": ({ path, kind }) => kind === "folder" && /^\/store\/removed\/..$/.test(path),
    "a pack": ({ path }) => /\/tmp-pack-[^/]+$/.test(path),
  };
  for (const [name, skips] of Object.entries(KINDS)) {
    it(`a missing sync of ${name} is detected`, { timeout: 120_000 }, async () => {
      let found: unknown;
      for (let seed = 1; seed <= FINDING_ROUNDS && found === undefined; seed++) {
        found = await playRound(seed, skips).then(
          () => undefined,
          (error: unknown) => error,
        );
      }
      expect(found).toBeDefined();
    });
  }
});

async function playRound(seed: number, skips?: (sync: Sync) => boolean): Promise<void> {
  const chance = chanceFrom(seed);
  try {
    await powerRound(new PowerDisk(chance, skips), chance);
  } catch (error) {
    throw new Error(`Seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
