import { existsSync } from "node:fs";
import { PassThrough } from "node:stream";
import { FileStorage } from "phasegate/fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { printError } from "../../src/cli/cli.js";
import { CommandFailure, EXIT, exitCodeOf } from "../../src/cli/exit-codes.js";
import { durationText } from "../../src/cli/terminal.js";
import { PhasegateError } from "../../src/errors.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { run } from "./run-cli.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("phasegate", () => {
  it("prints its help", async () => {
    const { code, stdout } = await run("--help");
    expect(code).toBe(0);
    const headings = [...stdout.matchAll(/^(\w.*):$/gm)].map(([, heading]) => heading);
    const groups = ["Set up", "Run", "Look", "Answer", "Repair", "Move data"];
    expect(headings).toEqual(["Options", ...groups, "Examples", "Exit codes"]);
    expect(stdout.split("Examples:")[1]?.match(/^ {2}phasegate /gm)).toHaveLength(5);
    const serve = (await run("serve", "--help")).stdout;
    const variables = ["WORKFLOWS", "STATE", "PROJECT", "LOG_LEVEL", "ACTIONS", "MAX_ATTEMPTS", "MAX_ATTEMPTS_TOTAL"];
    for (const name of variables) expect(serve).toContain(`PHASEGATE_${name}`);
    expect(serve.split("\n").every((line) => line.length <= 120)).toBe(true);
  });

  it("understands the words of other programs for its commands, and corrects what is nearly one", async () => {
    for (const [near, name] of [
      ...[
        ["ls", "sessions"],
        ["list", "sessions"],
      ],
      ...[
        ["waiting", "inbox"],
        ["log", "show"],
      ],
    ] as const) {
      expect((await run(near, "--help")).stdout).toMatch(new RegExp(`^Usage: phasegate ${name} `));
      expect((await run("help", near)).stdout).toMatch(new RegExp(`^Usage: phasegate ${name} `));
    }
    const { code, stderr } = await run("sesions");
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("(Did you mean sessions?)") });
    expect((await run("sessions", "--state", "x", "--statu", "y")).stderr).toContain("--state, --status?)");
  });

  it("prints its version", async () => {
    expect(await run("--version")).toMatchObject({ code: 0, stdout: `${manifest.version}\n` });
  });

  it.each([
    [[]],
    [["serv"]],
    [["sessions"]],
    [["sessions", "--state", ""]],
    [["sessions", "--state", "x", "--status", "waiting"]],
    [["sessions", "--state", "x", "--limit", "0"]],
    [["serve", "--state", "x"]],
    [["serve", "--workflows", "x", "--state", "x", "--max-attempts", "3.5"]],
    [["serve", "--workflows", "x", "--state", "x", "--actions", "start,strt"]],
    [["serve", "--workflows", "x", "--state", "x", "--tool-name", "bad name !!"]],
    [["serve", "--workflows", "x", "--state", "x", "--tool-name", ""]],
    [["serve", "--workflows", "x", "--state", "x", "--tool-name", "x".repeat(65)]],
    [["show", "--state", "x"]],
    [["validate"]],
  ])("refuses wrong usage: %j", async (args) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/phasegate: error: |Usage: /);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it("names the characters allowed in a tool's name, for the variable too", async () => {
    const args = ["serve", "--workflows", "/nowhere", "--state", "x"];
    vi.stubEnv("PHASEGATE_TOOL_NAME", "naïve");
    expect((await run(...args)).stderr).toMatch(/PHASEGATE_TOOL_NAME[\s\S]*1 to 64 letters, digits, '_', '-' and '\.'/);
    vi.stubEnv("PHASEGATE_TOOL_NAME", `a-B_9.${"x".repeat(58)}`);
    expect((await run(...args)).stderr).toContain("/nowhere");
    // A refused command creates no state.
    expect(existsSync("x")).toBe(false);
  });

  it("prints a stack only at the levels debug and trace", async () => {
    const args = ["sessions", "--state", "/nowhere/at/all"];
    expect((await run(...args)).stderr).not.toMatch(/\n\s+at /);
    expect((await run(...args, "--log-level", "debug")).stderr).toMatch(/\n\s+at /);
    expect((await run(...args, "--log-level=trace")).stderr).toMatch(/ENOENT[\s\S]*\n\s+at /);
    vi.stubEnv("PHASEGATE_LOG_LEVEL", "debug");
    expect((await run(...args)).stderr).toMatch(/\n\s+at /);
  });
});

describe("the address of an error's documentation", () => {
  it("is printed with --json, and at the levels debug and trace", async () => {
    const state = await temporaryFolder();
    await (await FileStorage.open(state)).close();
    const args = ["show", "not_there_x_20260101_000000", "--state", state];
    const line = /^ {2}docs: https:\/\/\S+\/docs\/errors\.md#session_not_found$/m;
    expect((await run(...args)).stderr).toMatch(/^phasegate: error: .*\n {2}hint: .*\n$/);
    expect((await run(...args, "--json")).stderr).toMatch(line);
    expect((await run(...args, "--log-level", "debug")).stderr).toMatch(line);
  });

  it("is missing for an error without a code", async () => {
    const { stderr } = await run("sessions", "--state", "/nowhere/at/all", "--json");
    expect(stderr).toContain("hint:");
    expect(stderr).not.toContain("docs:");
  });
});

describe("errors of commands", () => {
  const print = (thrown: unknown) => {
    const stderr = new PassThrough();
    printError({ stdin: stderr, stdout: stderr, stderr }, thrown, { stack: false });
    return String(stderr.read());
  };
  const error = (code: "STORAGE_FAILED" | "TAMPERED" | "INVALID_INPUT") => {
    const details = { operation: "read", sessionId: "s", version: 1, reason: "r" };
    return new PhasegateError(code, "it failed", { remedy: "fix it", details });
  };

  it("have exit codes", () => {
    expect(exitCodeOf(error("STORAGE_FAILED"))).toBe(EXIT.environment);
    expect(exitCodeOf(error("TAMPERED"))).toBe(EXIT.problems);
    expect(exitCodeOf(error("INVALID_INPUT"))).toBe(EXIT.usage);
    expect(exitCodeOf(new CommandFailure("no", EXIT.problems))).toBe(EXIT.problems);
    expect(exitCodeOf("thrown")).toBe(EXIT.environment);
  });

  it("contain a hint", () => {
    expect(print(error("TAMPERED"))).toBe("phasegate: error: it failed\n  hint: fix it\n");
    expect(print(new Error("odd\u001b[2J"))).toMatch(
      /^phasegate: error: odd\\u001b\[2J\n {2}hint: .*--log-level debug/,
    );
    expect(print("thrown")).toContain("phasegate: error: thrown");
  });

  it("say in one line why a storage failed, once", () => {
    const failed = (message: string) => {
      const details = { operation: "append", cause: "no space\nleft (ENOSPC)" };
      return new PhasegateError("STORAGE_FAILED", message, { remedy: "fix it", details });
    };
    const printed = "phasegate: error: it failed\n  cause: no space left (ENOSPC)\n  hint: fix it\n";
    expect(print(failed("it failed"))).toBe(printed);
    expect(print(new CommandFailure("it failed", EXIT.environment, "fix it", { cause: failed("no") }))).toBe(printed);
    expect(print(failed("it failed: no space\nleft (ENOSPC)"))).not.toContain("cause:");
  });
});

describe("durations", () => {
  it.each([
    [0, "0s"],
    [59, "59s"],
    [60, "1m"],
    [3725, "1h 2m"],
    [90_000, "1d 1h"],
    [86_401, "1d"],
  ])("of %i seconds are printed as %s", (seconds, text) => {
    expect(durationText(seconds)).toBe(text);
  });
});
