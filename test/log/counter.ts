import * as z from "zod";
import { PhasegateError } from "../../src/errors.js";
import { Kernel, type KernelOptions, type Prepared } from "../../src/log/log.js";
import type { Machine } from "../../src/log/machine.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { FakeClock } from "../../src/testing/contract.js";
import { parseSessionId } from "../../src/workflow/names.js";
/** The smallest machine that can refuse a command: a counter that never goes below zero. */
export type CounterCommand = { readonly add: number } | "close" | "open" | "bury";

const eventSchema = z.object({ added: z.number(), note: z.string().optional() });
const headSchema = z.object({
  status: z.enum(["active", "completed", "deleted"]),
  total: z.number(),
  marks: z.array(z.object({ at: z.string() })),
  createdAt: z.string(),
});
export type CounterEvent = z.infer<typeof eventSchema>;
export type CounterHead = z.infer<typeof headSchema>;
export type CounterKernel = Kernel<CounterCommand, CounterEvent, CounterHead>;

const STATUS = { close: "completed", open: "active", bury: "deleted" } as const;

export const counter: Machine<CounterCommand, CounterEvent, CounterHead> = {
  kind: "counter",
  schema: 2,
  decide(head = { status: "active", total: 0, marks: [], createdAt: "" }, command, { at, version }) {
    const added = typeof command === "string" ? 0 : command.add;
    const total = head.total + added;
    if (total < 0) {
      const details = { field: "add" };
      return { ok: false, error: new PhasegateError("INVALID_INPUT", "below zero", { remedy: "Add more.", details }) };
    }
    const status = typeof command === "string" ? STATUS[command] : head.status;
    const createdAt = version === 1 ? at : head.createdAt;
    return { ok: true, events: [{ added }], head: { status, total, marks: [{ at }], createdAt } };
  },
  parse: (events, head) => ({ events: z.array(eventSchema).parse(events), head: headSchema.parse(head) }),
  payloadsOf: ({ note }) => (note?.startsWith("payload ") ? [note.slice(8)] : []),
  summarize: ({ status, total, createdAt }) => ({
    ...{ workflowType: "counter", target: "numbers", status, createdAt, current: total },
    ...(status === "completed" ? { completedAt: createdAt } : {}),
  }),
};

export const ID = parseSessionId("counter_1");
export const OTHER_ID = parseSessionId("counter_2");

/** Creates a kernel of counters, with its storage and its clock. */
export function makeKernel(options: Partial<KernelOptions<CounterCommand, CounterEvent, CounterHead>> = {}) {
  const storage = options.storage ?? new MemoryStorage();
  const clock = new FakeClock();
  return { kernel: new Kernel({ machine: counter, clock, ...options, storage }), storage, clock };
}

/** Returns a `prepare` that always gives the same command. */
export const adding = (add: number) => (): Prepared<CounterCommand> => ({ command: { add } });
export const doing = (command: CounterCommand) => (): Prepared<CounterCommand> => ({ command });

/** Creates a session with the given number of commits, each of which adds its own version. */
export async function count(kernel: CounterKernel, versions: number, id = ID): Promise<void> {
  for (let version = 1; version <= versions; version += 1) await kernel.execute(id, adding(version));
}
