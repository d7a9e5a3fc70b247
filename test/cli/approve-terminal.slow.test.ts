import { spawn, spawnSync } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import { BIN } from "./bin.js";
import { waitingSession } from "./waiting-session.js";

/** util-linux's `script` runs a command at a new terminal; BSD's has other options. */
const hasScript = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") === true;
const REASON = hasScript ? "" : " (skipped: `script` of util-linux is not installed)";

/** Runs the bin at a real terminal, and types an answer once the expected text is shown. */
function atTerminal(args: readonly string[]) {
  const quoted = [process.execPath, BIN, ...args].map((word) => `'${word.replace(/'/g, "'\\''")}'`).join(" ");
  const child = spawn("script", ["-qec", quoted, "/dev/null"], { env: { ...process.env, TERM: "xterm" } });
  onTestFinished(() => void child.kill());
  let seen = "";
  const readers = new Set<() => void>();
  child.stdout.on("data", (chunk) => {
    seen += String(chunk);
    for (const look of readers) look();
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const until = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (seen.includes(text)) resolve();
      };
      readers.add(look);
      look();
      void ended.then(() => reject(new Error(`ended without '${text}':\n${seen}`)));
    });
  return { until, type: (text: string) => child.stdin.write(text), ended, output: () => seen };
}

async function session() {
  const made = await waitingSession();
  const args = ["--state", made.state, "--key", await made.keyFile("ann"), "--approvers", made.approvers];
  return { ...made, args: [made.sessionId, ...args] };
}

describe.skipIf(!hasScript)(`phasegate at a real terminal (by \`script\` of util-linux)${REASON}`, () => {
  it("approves the shown evidence when the person types y", async () => {
    const { args, standing } = await session();
    const terminal = atTerminal(["approve", ...args]);
    await terminal.until("Approve this as ann? [y/N] ");
    expect(terminal.output()).toContain("Is the plan good enough to build?");
    expect(terminal.output()).toContain("tests_pass: true");
    expect(await standing()).toMatchObject({ awaitingApproval: true });
    terminal.type("y\r");
    expect(await terminal.ended).toBe(0);
    expect(terminal.output()).toContain("Approved by ann: phase 1 has passed, phase 2 is next.");
    expect(await standing()).toMatchObject({ currentPhase: 2 });
  });

  for (const [name, typed] of [
    ["n", "n\r"],
    ["nothing", "\r"],
    ["something else", "yep\r"],
    ["the end of input", "\u0004"],
    ["Ctrl-C", "\u0003"],
  ] as const) {
    it(`decides nothing on ${name}`, async () => {
      const { args, standing } = await session();
      const terminal = atTerminal(["approve", ...args]);
      await terminal.until("[y/N] ");
      terminal.type(typed);
      expect(await terminal.ended).not.toBe(0);
      expect(await standing()).toMatchObject({ awaitingApproval: true, version: 2 });
    });
  }

  it("asks for the note of a denial", async () => {
    const { args, standing } = await session();
    const terminal = atTerminal(["deny", ...args]);
    await terminal.until("What is to be done instead? ");
    terminal.type("no rollback plan\r");
    await terminal.until("Deny this as ann? [y/N] ");
    terminal.type("yes\r");
    expect(await terminal.ended).toBe(0);
    expect(await standing()).toMatchObject({ denied: { by: "ann", note: "no rollback plan", authenticated: true } });
  });

  it("refuses the approval if other evidence was submitted while the person was reading", async () => {
    const { args, engine, sessionId, standing } = await session();
    const terminal = atTerminal(["approve", ...args]);
    await terminal.until("[y/N] ");
    await engine.session(sessionId).completePhase(1, { tests_pass: true, but: "other" });
    terminal.type("y\r");
    expect(await terminal.ended).toBe(1);
    expect(terminal.output()).toContain("waits for an approval of other evidence");
    expect(await standing()).toMatchObject({ awaitingApproval: true, currentPhase: 1 });
  });
});
