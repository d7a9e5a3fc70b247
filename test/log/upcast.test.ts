import { describe, expect, it } from "vitest";
import * as z from "zod";
import { LogFold } from "../../src/log/commit.js";
import { Kernel } from "../../src/log/log.js";
import { type Machine, type StoredState, upcast } from "../../src/log/machine.js";
import { FakeClock } from "../../src/testing/contract.js";
import { failure } from "../support/failure.js";
import { AlteredStorage } from "./altered-storage.js";
import { adding, type CounterCommand, type CounterEvent, type CounterHead, counter, ID } from "./counter.js";

interface OldHead {
  readonly sum: number;
  readonly since: string;
}
interface OldEvent {
  readonly plus: number;
}

const oldEvents = z.array(z.object({ plus: z.number() }));
const oldHead = z.object({ sum: z.number(), since: z.string() });

/** The counter of a first release: its head has `sum`, its events have `plus`. */
const first: Machine<CounterCommand, OldEvent, OldHead> = {
  kind: "counter",
  schema: 1,
  decide(head, command, { at }) {
    const plus = typeof command === "string" ? 0 : command.add;
    return { ok: true, events: [{ plus }], head: { sum: (head?.sum ?? 0) + plus, since: head?.since ?? at } };
  },
  parse: (events, head) => ({ events: oldEvents.parse(events), head: oldHead.parse(head) }),
  payloadsOf: () => [],
  summarize: ({ sum, since }) => ({
    ...{ workflowType: "counter", target: "numbers", status: "active", current: sum, createdAt: since },
  }),
};

/** The counter of today, two formats later; the third format only adds to the second. */
const today: Machine<CounterCommand, CounterEvent, CounterHead> = {
  ...counter,
  schema: 3,
  upcasts: {
    1: ({ events, head }) => {
      const { sum, since } = oldHead.parse(head);
      return {
        events: oldEvents.parse(events).map(({ plus }) => ({ added: plus })),
        head: { status: "active", total: sum, marks: [], createdAt: since },
      };
    },
  },
};

async function oldLog(storage = new AlteredStorage()) {
  const clock = new FakeClock();
  const before = new Kernel({ storage, machine: first, clock });
  for (const add of [1, 2, 3]) await before.execute(ID, () => ({ command: { add } }));
  const fresh = (machine: typeof today = today) => new Kernel({ storage, machine, clock });
  return { storage, fresh };
}

describe("a log of an older format", () => {
  it("is folded in today's format, from the log and from the commit that was read last", async () => {
    const { fresh } = await oldLog();
    const kernel = fresh();
    const fold = new LogFold(
      kernel,
      0,
      (sum: number, { events }) => sum + events.reduce((all, { added }) => all + added, 0),
    );
    const newest = await kernel.find(ID);
    const second = await kernel.at(ID, 2);
    expect(await fold.at(second)).toBe(3);
    expect(newest && (await fold.at(newest))).toBe(6);
  });

  it("is read in today's format", async () => {
    const { fresh } = await oldLog();
    expect((await fresh().find(ID))?.head).toMatchObject({ total: 6, status: "active", marks: [] });
    expect((await fresh().at(ID, 2)).events).toEqual([{ added: 2 }]);
  });

  it("continues in the new format, and passes an audit", async () => {
    const { storage, fresh } = await oldLog();
    await fresh().execute(ID, adding(4));
    const log: unknown[] = [];
    for await (const { version, events } of fresh().log(ID)) log.push([version, events]);
    expect(log).toEqual([1, 2, 3, 4].map((added) => [added, [{ added }]]));
    expect(await fresh().audit(ID)).toMatchObject({ intact: true, versions: 4 });
    const schemas: number[] = [];
    for await (const { schema } of storage.log(ID)) schemas.push(schema);
    expect(schemas).toEqual([1, 1, 1, 3]);
  });

  it("is not changed in the storage", async () => {
    const storage = new AlteredStorage();
    await oldLog(storage);
    const before = await storage.read(ID);
    await new Kernel({ storage, machine: today, clock: new FakeClock() }).find(ID);
    expect(await storage.read(ID)).toEqual(before);
  });

  it("is upcast only after its hashes were checked", async () => {
    const { storage, fresh } = await oldLog();
    const led: StoredState[] = [];
    const keeping = (stored: StoredState) => {
      led.push(stored);
      return stored;
    };
    const { body } = (await storage.read(ID)) ?? { body: "" };
    storage.edit(3, { body: body.replace('"sum":6', '"sum":99') });
    expect(await failure(fresh({ ...today, upcasts: { 1: keeping } }).find(ID))).toMatchObject({ code: "TAMPERED" });
    expect(led).toEqual([]);
  });

  it("that cannot be upcast is refused as tampered", async () => {
    const { fresh } = await oldLog();
    const cause = new Error("no such event");
    const failing = () => {
      throw cause;
    };
    expect(await failure(fresh({ ...today, upcasts: { 1: failing } }).find(ID))).toMatchObject({
      ...{ code: "TAMPERED", cause },
    });
  });

  it("is too new for the first release once it continues in the new format", async () => {
    const { storage, fresh } = await oldLog();
    await fresh().execute(ID, adding(4));
    const before = new Kernel({ storage, machine: first, clock: new FakeClock() });
    const error = await failure(before.find(ID));
    expect(error).toMatchObject({ code: "FORMAT_TOO_NEW", details: { found: 3, supported: 1 } });
  });
});

it("upcast applies every format in between, once and in order", () => {
  const seen: number[] = [];
  const step = (format: number) => (stored: StoredState) => {
    seen.push(format);
    return { ...stored, head: `${String(stored.head)}${format}` };
  };
  const upcasts = { 1: step(1), 2: step(2), 4: step(4), 5: step(5) };
  expect(upcast({ events: [], head: "h" }, 2, 5, upcasts)).toEqual({ events: [], head: "h24" });
  expect(upcast({ events: [1], head: "h" }, 5, 5, upcasts)).toEqual({ events: [1], head: "h" });
  expect(seen).toEqual([2, 4]);
});
