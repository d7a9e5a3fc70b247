import { PassThrough } from "node:stream";
import { MemoryContent } from "phasegate";
import { describe, expect, it, vi } from "vitest";
import { logRoutedWorkflows, logWorkflows } from "../../src/cli/announce.js";
import type { LogLevel } from "../../src/cli/command.js";
import { createLogger, logPhased } from "../../src/cli/log.js";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built } from "../support/workflows.js";

/** Creates a log at a level, with its lines. */
function logAt(level: LogLevel) {
  const stderr = new PassThrough();
  const log = createLogger(level, { stdin: stderr, stdout: stderr, stderr });
  const lines = (): Record<string, unknown>[] =>
    String(stderr.read() ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  return { log, lines };
}

/** An error of a host's adapter. */
class DiskError extends Error {
  readonly code = "EIO";
}

describe("the log of a server", () => {
  it("contains the events of sessions, without evidence", async () => {
    const { engine } = makeEngine();
    const { log, lines } = logAt("info");
    logPhased(engine, log);
    const id = await startTwoPhases(engine);
    await engine.session(id).completePhase(1, { summary: 42, tests_pass: "secret" });
    await engine.session(id).completePhase(1, { ...built, summary: "secret" });
    await engine.session(id).pause({ note: "lunch" });
    const found = lines();
    expect(found.map(({ level, msg }) => `${level} ${msg}`)).toEqual([
      "info started",
      "info gateFailed",
      "info gatePassed",
      "info paused",
    ]);
    expect(found[1]).toMatchObject({ sessionId: id, phase: 1, attempt: 1, problems: [{ field: "summary" }, {}] });
    expect(JSON.stringify(found)).not.toContain("secret");
  });

  it("contains warnings of security events", async () => {
    const { engine } = makeEngine();
    const { log, lines } = logAt("warn");
    logPhased(engine, log);
    await failure(startTwoPhases(engine, "../up"));
    expect(lines()).toMatchObject([{ level: "warn", msg: "security", code: "PATH_REFUSED", operation: "start" }]);
  });

  it("reports workflows that cannot be listed, and continues to serve", async () => {
    const { log, lines } = logAt("info");
    const failing = async () => {
      throw new DiskError("no disk");
    };
    await logWorkflows(Object.assign(new MemoryContent({}), { list: failing }), {}, log);
    const told = { level: "error", msg: "the workflows can't be listed", err: { message: "no disk", code: "EIO" } };
    expect(lines()).toMatchObject([told]);
    await logRoutedWorkflows({ list: failing }, {}, log);
    expect(lines()).toMatchObject([told]);
  });

  it.each([
    ["error", false],
    ["debug", true],
  ] as const)("contains failures at %s, with a stack: %s", async (level, whole) => {
    const fail = async () => {
      throw new DiskError("the disk is gone");
    };
    const { engine } = makeEngine({ content: { list: fail, definition: fail, text: fail } });
    const { log, lines } = logAt(level);
    logPhased(engine, log);
    await failure(engine.listWorkflows());
    const line = lines().find(({ msg }) => msg === "internalError");
    expect(line).toMatchObject({ level: "error", err: { message: "the disk is gone", code: "EIO" } });
    expect(JSON.stringify(line).includes("stack")).toBe(whole);
  });

  it("names broken workflows, and warns if there is nothing to serve", async () => {
    const { log, lines } = logAt("info");
    const content = new MemoryContent({ sources: { bad: { "metadata.json": "{" } } });
    const list = vi.spyOn(content, "list");
    expect(await logWorkflows(content, {}, log)).toMatchObject([{ type: "bad", status: "broken" }]);
    expect(list).toHaveBeenCalledTimes(1);
    expect(lines()).toMatchObject([
      {
        level: "warn",
        msg: "broken workflow",
        workflowType: "bad",
        errors: [expect.stringContaining("metadata.json:1")],
      },
      { level: "warn", msg: "there is no workflow that can be started" },
      { level: "info", msg: "workflows", workflows: [] },
    ]);
  });
});
