/** What docs/storage/own.md shows of the contract, run: cases for a test runner, one call, and a command. */
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { run } from "../cli/run-cli.js";
import { howOften } from "../support/how-often.js";
import { collected } from "./documented/collected.ts";
import { finish } from "./documented/my-contract.ts";

const long = process.env.PHASEGATE_LONG === "1";

afterAll(() => finish());

it("the documented contract makes cases for a test runner, which hold", { timeout: 600_000 }, async () => {
  await import("./documented/cases.ts");
  expect(collected.size).toBeGreaterThan(70);
  const names = [...collected.keys()];
  const some = names.filter((name) => /^(append: stores|processes: .*other process)/.test(name));
  expect(some.length).toBeGreaterThan(0);
  for (const name of howOften(some, names)) await collected.get(name)?.();
});

it.runIf(long)("the documented call runs all of them (long only: 100 processes are killed)", async () => {
  const said: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...line: unknown[]) => void said.push(line.join(" ")));
  await import("./documented/one-call.ts");
  vi.restoreAllMocks();
  expect(said.at(-1)).toMatch(/^\d\d kept, \d+ not tried$/);
});

it("the documented command takes the module", async () => {
  const module = join(import.meta.dirname, "documented/my-contract.ts");
  const { code, stdout, stderr } = await run("test-storage", module, "--only", "append: stores");
  expect(stderr).toBe("");
  expect(stdout).toMatch(/\n[1-9]\d* kept, 0 broken, 0 not tried\n$/);
  expect(code).toBe(0);
});
