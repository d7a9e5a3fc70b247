import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { withProgress } from "../../src/cli/progress.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function terminal(isTTY: boolean) {
  const stderr = Object.assign(new PassThrough(), { isTTY });
  return { stderr, written: () => String(stderr.read() ?? "") };
}

const work = (milliseconds: number) => async (tell: (done: string) => void) => {
  tell("12 sessions,");
  await vi.advanceTimersByTimeAsync(milliseconds);
  return "done";
};

it("long work says how far it has come, and leaves nothing behind", async () => {
  const { stderr, written } = terminal(true);
  expect(await withProgress({ stderr }, "copied", work(2100))).toBe("done");
  const [, ...lines] = written().split("\r\u001b[K");
  expect(lines).toEqual([...["1s", "1s", "2s", "2s"].map((time) => `copied 12 sessions, ${time}`), ""]);
  expect(vi.getTimerCount()).toBe(0);
});

it("the line is never wider than the terminal", async () => {
  const { stderr, written } = terminal(true);
  Object.assign(stderr, { columns: 12 });
  await withProgress({ stderr }, "copied", work(600));
  expect(written().split("\r\u001b[K")).toEqual(["", "copied 12 …", ""]);
});

it("a terminal that knows no escapes is shown nothing", async () => {
  vi.stubEnv("TERM", "dumb");
  const { stderr, written } = terminal(true);
  await withProgress({ stderr }, "copied", work(5000));
  expect(written()).toBe("");
  vi.unstubAllEnvs();
});

it("short work says nothing, nor does any work without a terminal", async () => {
  for (const [isTTY, milliseconds] of [
    [true, 400],
    [false, 5000],
  ] as const) {
    const { stderr, written } = terminal(isTTY);
    await withProgress({ stderr }, "copied", work(milliseconds));
    expect(written()).toBe("");
  }
});

it("work that fails leaves nothing behind, too", async () => {
  const { stderr, written } = terminal(true);
  const failing = withProgress({ stderr }, "copied", async (tell) => {
    await work(600)(tell);
    throw new Error("no space");
  });
  await expect(failing).rejects.toThrow("no space");
  expect(written().endsWith("\r\u001b[K")).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});
