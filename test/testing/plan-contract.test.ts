import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { FilePlans } from "../../src/content/file-plans.js";
import { MemoryPlans } from "../../src/content/memory.js";
import type { PlanSource } from "../../src/ports/content-provider.js";
import { planContract } from "../../src/testing/content-contract.js";
import { digest } from "../../src/workflow/json.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";

type Plans = Readonly<Record<string, string>>;

async function inFiles(plans: Plans): Promise<PlanSource> {
  const root = await temporaryFolder();
  for (const [path, text] of Object.entries(plans)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return new FilePlans({ root });
}

describe("MemoryPlans", () => {
  for (const { name, run } of planContract({ open: async (plans) => new MemoryPlans(plans) })) it(name, run);

  it("gives and takes texts by their paths", async () => {
    const plans = new MemoryPlans({ "a/tasks.md": "A" });
    expect(plans.get("./a/tasks.md")).toBe("A");
    expect(plans.get("a")).toBeUndefined();
    plans.set("a//tasks.md", "B");
    expect(await plans.read("a")).toEqual({ path: "a/tasks.md", text: "B", hash: digest("B") });
    plans.set("a/tasks.md", undefined);
    expect(await plans.read("a")).toBeUndefined();
    expect(() => plans.set("../a", "")).toThrow(expect.objectContaining({ code: "PATH_REFUSED" }));
  });
});

describe("FilePlans", () => {
  for (const { name, run } of planContract({ open: inFiles })) it(name, run);
});

/** Sources with one fault each, and the case that must find it. */
const FAULTS: Readonly<Record<string, readonly [found: string, change: (inner: MemoryPlans) => Partial<PlanSource>]>> =
  {
    "drops the byte order mark": [
      "read: returns a file with every character unchanged",
      (inner) => ({
        read: async (path) => {
          const found = await inner.read(path);
          return found && { ...found, text: found.text.replace("\uFEFF", "") };
        },
      }),
    ],
    "names the folder": [
      "read: returns the tasks.md of a folder, with the path of the file",
      (inner) => ({
        read: async (path) => {
          const found = await inner.read(path);
          return found && { ...found, path };
        },
      }),
    ],
    "throws where there is none": [
      "read: returns undefined if there is no plan",
      (inner) => ({
        read: async (path) => {
          const found = await inner.read(path);
          if (found === undefined) throw new Error("ENOENT");
          return found;
        },
      }),
    ],
    "takes every path": ["PATH_REFUSED", (inner) => ({ read: (path) => inner.read(path.replaceAll(/[./\0]+/g, "x")) })],
    "hashes the path": [
      "read: has the same hash for the same text, and another for another text",
      (inner) => ({
        read: async (path) => {
          const found = await inner.read(path);
          return found && { ...found, hash: digest(found.path) };
        },
      }),
    ],
    "forgets what is replaced": [
      "replace: replaces the text with the given hash",
      () => ({ replace: async () => true }),
    ],
    "replaces files only": [
      "replace: accepts the path of a folder",
      (inner) => ({ replace: async (path, hash, text) => path.endsWith(".md") && inner.replace(path, hash, text) }),
    ],
    "doesn't compare": [
      "replace: returns false and changes nothing for another hash",
      (inner) => ({
        replace: async (path, _, text) => inner.replace(path, (await inner.read(path))?.hash ?? "", text),
      }),
    ],
    "makes plans": [
      "replace: returns false and creates nothing if there is no plan",
      (inner) => ({
        replace: async (path, hash, text) => {
          if ((await inner.read(path)) !== undefined) return inner.replace(path, hash, text);
          inner.set(path, text);
          return true;
        },
      }),
    ],
    "compares, and writes later": [
      "replace: of concurrent calls with one hash, exactly one succeeds",
      (inner) => ({
        replace: async (path, hash, text) => {
          const found = await inner.read(path);
          if (found?.hash !== hash) return false;
          await Promise.resolve();
          inner.set(found.path, text);
          return true;
        },
      }),
    ],
  };

/** The names of the cases that a source fails. */
async function failures(change: (inner: MemoryPlans) => Partial<PlanSource>): Promise<string[]> {
  const names: string[] = [];
  const open = async (plans: Plans): Promise<PlanSource> => {
    const inner = new MemoryPlans(plans);
    const read = (path: string) => inner.read(path);
    const replace = (path: string, hash: string, text: string) => inner.replace(path, hash, text);
    return { read, replace, ...change(inner) };
  };
  for (const { name, run } of planContract({ open })) await run().catch(() => names.push(name));
  return names;
}

describe("planContract", () => {
  for (const [name, [found, change]] of Object.entries(FAULTS)) {
    it(`finds a source that ${name}`, async () => {
      expect(await failures(change)).toContainEqual(expect.stringContaining(found));
    });
  }

  it("passes a sound one, and names each case once", async () => {
    expect(await failures(() => ({}))).toEqual([]);
    const names = planContract({ open: inFiles }).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
