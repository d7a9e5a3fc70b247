/** A person is invited, registers a passkey in a real browser, and approves what an agent has handed in: with the bin as it is packed. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ApproversFile } from "../../src/cli/approvers.js";
import { runBin } from "../cli/bin.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { askingFiles } from "../support/approvals.js";
import { installPacked } from "../support/install-packed.js";
import { launch, REASON } from "./tabs.js";

let browser: Browser;
let bin: string;
let installed: string;
const running: ChildProcess[] = [];

/** Starts `phasegate inspect`, and returns its URL. */
async function inspect(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [bin, "inspect", ...args]);
  running.push(child);
  return new Promise((resolve, reject) => {
    child.stdout.once("data", (chunk) => resolve(String(chunk).trim()));
    child.once("exit", (code) => reject(new Error(`it has ended with ${code}`)));
  });
}

/** Gives a tab a device that has passkeys, and a person who touches it. */
async function addDevice(page: Page, isUserVerified = true): Promise<void> {
  const protocol = await page.context().newCDPSession(page);
  await protocol.send("WebAuthn.enable");
  await protocol.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      ...{ protocol: "ctap2", transport: "internal" },
      ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified, automaticPresenceSimulation: true },
    },
  });
}

describe.skipIf(REASON !== "")(`approval by passkey${REASON}`, () => {
  beforeAll(async () => {
    installed = await mkdtemp(join(tmpdir(), "phasegate-"));
    bin = await installPacked(installed, ["@simplewebauthn/server"]);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await rm(installed, { recursive: true, force: true });
  });
  afterEach(() => {
    for (const child of running.splice(0)) child.kill("SIGKILL");
  });

  it("from the invitation to the agent's next call", async () => {
    const folder = await temporaryFolder();
    const [state, approvers] = [join(folder, "state"), join(folder, "approvers.json")];
    const invited = await runBin(["approvers", "invite", "ann", "--approvers", approvers]);
    const secret = /#invite=([\w-]+)/.exec(invited.stdout)?.[1] ?? "";
    expect([invited.code, secret.length]).toEqual([0, 43]);

    const file = new ApproversFile(approvers);
    const current = () =>
      file.current((error) => {
        throw error;
      });
    const storage = await FileStorage.open(state);
    const content = new MemoryContent({ sources: { asking: askingFiles } });
    const engine = createEngine({ storage, content, approvers: current });
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    await engine.session(sessionId).completePhase(1, { tests_pass: true });

    const url = await inspect(["--state", state, "--approvers", approvers]);
    const { origin } = new URL(url);
    const context = await browser.newContext();
    const waiting = await context.newPage();
    await waiting.goto(url);
    await waiting.getByRole("link", { name: /^Inbox/ }).click();
    await waiting.getByText("no approver has a passkey").waitFor();
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(String(error)));
    await addDevice(page);
    await page.goto(`${origin}/#invite=${secret}`);
    await page.getByRole("button", { name: "Register a passkey" }).click();
    await page.getByRole("heading", { name: "Your passkey is registered" }).waitFor();
    await expect.poll(() => page.locator("strong").innerText()).toBe("ann");

    // A tab that was open before knows the approver when it is looked at.
    await waiting.bringToFront();
    await waiting.evaluate(() => dispatchEvent(new Event("focus")));
    await waiting.getByRole("option", { name: "ann" }).waitFor({ state: "attached" });

    await page.bringToFront();
    await page.getByRole("link", { name: "Go to the inbox" }).click();
    await page.getByText("Is the plan good enough to build?").waitFor();
    await page.getByLabel("Your name").selectOption("ann");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Nothing waits for a person.").waitFor();

    expect((await engine.session(sessionId).state()).currentPhase).toBe(2);
    const { approvals } = await engine.session(sessionId).audit();
    expect(approvals).toMatchObject([{ by: "ann", authenticated: true, key: { kind: "passkey" } }]);
    expect(problems).toEqual([]);

    // The invitation is used up.
    const other = await (await browser.newContext()).newPage();
    await addDevice(other);
    await other.goto(`${origin}/#invite=${secret}`);
    await other.getByRole("button", { name: "Register a passkey" }).click();
    await other.getByText("the invitation was used already").waitFor();
    await storage.close?.();
  });

  it("is refused if the device has not verified who the person is", async () => {
    const folder = await temporaryFolder();
    const [state, approvers] = [join(folder, "state"), join(folder, "approvers.json")];
    await (await FileStorage.open(state)).close?.();
    const invited = await runBin(["approvers", "invite", "ann", "--approvers", approvers]);
    const url = await inspect(["--state", state, "--approvers", approvers]);
    const page = await (await browser.newContext()).newPage();
    await addDevice(page, false);
    await page.goto(`${new URL(url).origin}/#invite=${/#invite=([\w-]+)/.exec(invited.stdout)?.[1]}`);
    await page.getByRole("button", { name: "Register a passkey" }).click();
    await page.getByRole("alert").waitFor();
    const listed = await runBin(["approvers", "list", "--approvers", approvers, "--json"]);
    expect(listed.stdout).not.toContain("credentialId");
  });
});
