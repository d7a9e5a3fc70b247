/** The first page of 50 active sessions among 100 to 10,000 on disk, against fifty parallel reads of such files. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStorage } from "phasegate/fs";
import { makeCommit } from "phasegate/testing";
import { pairedMedians, row, time } from "./measure.mjs";

const SIZES = [100, 1000, 10_000];
/** Sessions come into being two minutes apart, so that 10,000 of them span two weeks. */
const STEP = 2 * 60 * 1000;
const AT_ONCE = 100;
/** As long as the first commit of a workflow of a few phases. */
const BODY = JSON.stringify({ events: [], head: "x".repeat(1900) });

/** Fifty commit files, wherever the storage keeps them. */
async function someCommitFiles(root) {
  const names = await readdir(join(root, "sessions"), { recursive: true });
  return names
    .filter((name) => name.endsWith("1.json"))
    .slice(0, 50)
    .map((name) => join(root, "sessions", name));
}

export async function run() {
  const root = await mkdtemp(join(tmpdir(), "phasegate-list-"));
  const storage = await FileStorage.open(root);
  const make = (index) => {
    const at = new Date(Date.UTC(2026, 0, 1) + index * STEP).toISOString();
    const summary = { status: "active", createdAt: at, workflowType: "bench_4", target: `src/${index}.ts` };
    return storage.append(makeCommit({ sessionId: `bench_4_src_${index}_ts`, at, body: BODY, summary }));
  };
  const rows = [];
  let made = 0;
  for (const size of SIZES) {
    for (; made < size; made += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => make(made + index)));
    }
    const files = await someCommitFiles(root);
    const list = async () => {
      const page = await storage.list({ status: ["active"], limit: 50 });
      if (page.items.length !== 50) throw new Error(`a page of ${page.items.length}`);
    };
    // The compiler needs some hundred lists until it has nothing more to do.
    for (let warm = 0; warm < 300; warm += 1) await list();
    const found = await pairedMedians({
      reads: { fn: async () => Promise.all(files.map((file) => readFile(file, "utf8"))) },
      list: { fn: list },
    });
    rows.push(
      row(
        `first 50 active of ${size.toLocaleString("en")} sessions on disk`,
        time(found.list),
        `50 parallel readFile ${time(found.reads)}`,
        found.ratio,
        1.5,
      ),
    );
  }
  await rm(root, { recursive: true, force: true });
  return rows;
}
