import { expect, it, vi } from "vitest";
import { LogFold, type Place, type Recorded } from "../../src/log/commit.js";
import { parseSessionId, type SessionId } from "../../src/workflow/names.js";
import { adding, type CounterEvent, type CounterHead, count, ID, makeKernel, OTHER_ID } from "./counter.js";

/** Creates a fold of the added numbers, and records the commits that it reads. */
function makeFold() {
  const { kernel, storage } = makeKernel();
  const read: number[] = [];
  const fold = new LogFold<CounterEvent, CounterHead, readonly number[]>(
    kernel,
    [],
    (value, { version, events }: Recorded<CounterEvent, CounterHead>) => {
      read.push(version);
      return [...value, ...events.map(({ added }) => added)];
    },
  );
  const current = async (id = ID) => {
    const found = await kernel.find(id);
    if (found === undefined) throw new Error("there is no such session");
    return found;
  };
  return { kernel, storage, fold, read, current };
}

it("LogFold reads only the commits since the last call", async () => {
  const { kernel, fold, read, current } = makeFold();
  await count(kernel, 3);
  expect(await fold.at(await current())).toEqual([1, 2, 3]);
  const log = vi.spyOn(kernel, "log");
  expect(await fold.at(await current())).toEqual([1, 2, 3]);
  expect(log).not.toHaveBeenCalled();
  await kernel.execute(ID, adding(9));
  expect(await fold.at(await current())).toEqual([1, 2, 3, 9]);
  expect(read).toEqual([1, 2, 3, 4]);
});

it("LogFold reads no log for one commit more, of this process or of another one", async () => {
  const { kernel, storage, fold, current } = makeFold();
  const other = makeKernel({ storage }).kernel;
  await count(kernel, 1);
  const log = vi.spyOn(storage, "log");
  expect(await fold.at(await current())).toEqual([1]);
  await kernel.execute(ID, adding(7));
  expect(await fold.at(await current())).toEqual([1, 7]);
  await other.execute(ID, adding(8));
  expect(await fold.at(await current())).toEqual([1, 7, 8]);
  expect(log).not.toHaveBeenCalled();
  await kernel.execute(ID, adding(9));
  await kernel.execute(ID, adding(10));
  expect(await fold.at(await current())).toEqual([1, 7, 8, 9, 10]);
  expect(log).toHaveBeenCalledOnce();
});

it("LogFold ends at the given version, and starts again for an earlier one", async () => {
  const { kernel, fold, current } = makeFold();
  await count(kernel, 2);
  const earlier = await current();
  await kernel.execute(ID, adding(9));
  expect(await fold.at(earlier)).toEqual([1, 2]);
  expect(await fold.at(await current())).toEqual([1, 2, 9]);
  expect(await fold.at(earlier)).toEqual([1, 2]);
});

it("LogFold begins again if a restored log has another commit at the same version", async () => {
  const { kernel, fold, current } = makeFold();
  await count(kernel, 2);
  expect(await fold.at(await current())).toEqual([1, 2]);
  const other = makeKernel();
  for (const number of [1, 7]) await other.kernel.execute(ID, adding(number));
  vi.spyOn(kernel, "log").mockImplementation((id, after) => other.kernel.log(id, after));
  const restored = await other.kernel.find(ID);
  expect(restored && (await fold.at(restored))).toEqual([1, 7]);
});

it("LogFold keeps sessions apart", async () => {
  const { kernel, fold, current } = makeFold();
  await count(kernel, 2);
  await count(kernel, 1, OTHER_ID);
  expect(await fold.at(await current())).toEqual([1, 2]);
  expect(await fold.at(await current(OTHER_ID))).toEqual([1]);
});

it("LogFold begins again if the log was restored from a backup, and has gone on in another way", async () => {
  const { kernel, fold, current } = makeFold();
  await count(kernel, 2);
  expect(await fold.at(await current())).toEqual([1, 2]);
  const other = makeKernel();
  for (const number of [1, 7, 8]) await other.kernel.execute(ID, adding(number));
  vi.spyOn(kernel, "log").mockImplementation((id, after) => other.kernel.log(id, after));
  const restored = await other.kernel.find(ID);
  expect(restored && (await fold.at(restored))).toEqual([1, 7, 8]);
});

it("LogFold refuses a log that ends before the version, and passes other errors on", async () => {
  const { kernel, fold, current } = makeFold();
  await count(kernel, 2);
  await fold.at(await current());
  await kernel.execute(ID, adding(9));
  await kernel.execute(ID, adding(10));
  const log = vi.spyOn(kernel, "log").mockImplementation(async function* () {});
  await expect(fold.at(await current())).rejects.toMatchObject({ code: "TAMPERED", details: { version: 4 } });
  log.mockImplementationOnce(() => {
    throw new Error("the disk is gone");
  });
  await expect(fold.at(await current())).rejects.toThrow("the disk is gone");
  log.mockRestore();
  expect(await fold.at(await current())).toEqual([1, 2, 9, 10]);
});

it.each([
  ["7 values of logs of a million commits", 7, 1_000_000, ""],
  ["15 values of logs of 32,768 commits", 15, 32_768, ""],
  ["3 values with 8 MiB each", 3, 1, "x".repeat(8 * 1024 * 1024)],
])("LogFold keeps %s, and drops the one that was not used for longest", async (_, fitting, version, text) => {
  const first = await makeKernel().kernel.execute(ID, adding(1));
  const read: SessionId[] = [];
  const logTo = async function* ({ sessionId }: Place) {
    read.push(sessionId);
    yield { ...first, sessionId, version };
  };
  const kept = [{ text }];
  const add = (sum: number) => sum + 1;
  const fold = new LogFold({ logTo }, 0, add, () => (text === "" ? [] : kept));
  const ids = Array.from({ length: fitting + 1 }, (_, index) => parseSessionId(`counter_${index}`));
  for (const sessionId of [...ids.slice(0, -1), ...ids, ...ids.slice(0, 1)]) {
    expect(await fold.at({ sessionId, version, hash: first.hash })).toBe(1);
  }
  expect(read).toEqual([...ids, ids[0]]);
});
