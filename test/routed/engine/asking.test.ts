import { expect, it } from "vitest";
import { fullClock } from "../../../src/ports/clock.js";
import { Asking, type DeciderWait } from "../../../src/routed/asking.js";
import type { RoutedCommit } from "../../../src/routed/state/machine.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { failure } from "../../support/failure.js";

const session = { sessionId: parseSessionId("one") };
const waiting = { operation: "advance", signal: undefined, onAsk: undefined } as const;

const deadline = { clock: fullClock({ now: Date.now }), milliseconds: 60_000, missed: () => new Error("missed") };

/** Counts questions. Each waits for a decider that never answers. */
function questions() {
  const seen = { asked: 0 };
  const ask = async (wait: DeciderWait): Promise<RoutedCommit> => {
    seen.asked += 1;
    await wait.answer(() => new Promise(() => {}), deadline).finally(() => wait.close());
    throw new Error("it was answered");
  };
  return { seen, ask };
}

it("a question that was ended is not joined, even before it is forgotten; the next one is shared", async () => {
  const asking = new Asking();
  const { seen, ask } = questions();
  const callers = [new AbortController(), new AbortController(), new AbortController()];
  const [first, second, third] = callers.map(({ signal }) => ({ ...waiting, signal }));
  const one = failure(asking.answer(session, 2, ask, first ?? waiting));
  callers[0]?.abort();
  const two = failure(asking.answer(session, 2, ask, second ?? waiting));
  expect(await one).toMatchObject({ code: "CANCELLED", details: { operation: "advance", sessionId: "one" } });
  expect(seen.asked).toBe(2);
  const three = failure(asking.answer(session, 2, ask, third ?? waiting));
  expect(seen.asked).toBe(2);
  for (const caller of callers) caller.abort();
  for (const end of [two, three]) expect(await end).toMatchObject({ code: "CANCELLED" });
});

it("questions on different reports are asked apart", async () => {
  const asking = new Asking();
  const { seen, ask } = questions();
  const caller = new AbortController();
  const ended = [2, 3].map((version) =>
    failure(asking.answer(session, version, ask, { ...waiting, signal: caller.signal })),
  );
  expect(seen.asked).toBe(2);
  caller.abort();
  for (const end of ended) expect(await end).toMatchObject({ code: "CANCELLED" });
});
