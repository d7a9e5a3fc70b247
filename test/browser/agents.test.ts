/** The page of `phasegate serve --inspector` while agents work over MCP, on each storage that keeps sessions: with the bin as it is packed. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { connectToBin } from "../cli/serve-client.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { askingFiles } from "../support/approvals.js";
import { installPacked } from "../support/install-packed.js";
import { startPostgres } from "../support/postgres-server.js";
import { writeFiles } from "../support/write-files.js";
import { launch, openTab, REASON, type Tab } from "./tabs.js";

const TOKEN = "a-token-of-more-than-thirty-two-characters";
const WORKFLOWS = Object.fromEntries(
  Object.entries(askingFiles).map(([path, text]) => [`workflows/asking/${path}`, text]),
);

const UNANSWERED =
  /net::ERR_(?:CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|SOCKET_NOT_CONNECTED)/;

let browser: Browser;
let bin: string;
let installed: string;
let tab: Tab | undefined;
const afterwards: (() => Promise<void>)[] = [];

async function onPostgres(): Promise<string> {
  const server = await startPostgres();
  afterwards.push(() => server.remove());
  return server.url;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject()));
    });
  });
}

describe.skipIf(REASON !== "")(`agents at work, seen on the page${REASON}`, () => {
  beforeAll(async () => {
    installed = await mkdtemp(join(tmpdir(), "phasegate-"));
    bin = await installPacked(installed, ["@modelcontextprotocol/server", "pg"]);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    await rm(installed, { recursive: true, force: true });
  });
  afterEach(async () => {
    await tab?.close();
    for (const end of afterwards.splice(0)) await end();
  });

  it.each([
    ["files", async (folder: string) => join(folder, "state")],
    ["SQLite", async (folder: string) => `sqlite:${join(folder, "state.db")}`],
    ["PostgreSQL", onPostgres],
  ] as const)("on %s: from the first call to the last, with a server that is killed meanwhile", async (_, stateIn) => {
    const folder = await temporaryFolder();
    await writeFiles(folder, WORKFLOWS);
    const port = await freePort();
    const flags = ["--workflows", join(folder, "workflows"), "--state", await stateIn(folder)];
    const inspector = ["--inspector", String(port), "--allow-unsigned-approvals"];
    const env = { PHASEGATE_INSPECTOR_TOKEN: TOKEN };
    const first = await connectToBin([...flags, ...inspector], env, { bin });
    const second = await connectToBin(flags, {}, { bin });
    const origin = `http://localhost:${port}`;
    tab = await openTab(browser, { origin, url: `${origin}/#token=${TOKEN}`, base: "" });
    const { page, visit, problems } = tab;
    await page.getByText("There are no sessions yet.").waitFor();

    const begin = async ({ ask }: typeof first, target: string) =>
      String((await ask({ action: "start", workflow_type: "asking", target_file: target })).session_id);
    const submit = ({ ask }: typeof first, id: string, phase: number, evidence: object) =>
      ask({ action: "complete_phase", session_id: id, phase, evidence });
    const row = (target: string) => page.getByRole("row", { name: target });

    // Two agents, each with a server of its own; the page is of the first one's.
    const [mine, theirs] = await Promise.all([begin(first, "src/mine.ts"), begin(second, "src/theirs.ts")]);
    await row("src/mine.ts").getByText("1 of 3").waitFor();
    await row("src/theirs.ts").getByText("1 of 3").waitFor();
    const waits: number[] = [];
    for (let change = 1; change <= 5; change += 1) {
      await begin(second, `src/more-${change}.ts`);
      const from = performance.now();
      await row(`src/more-${change}.ts`).waitFor();
      waits.push(performance.now() - from);
    }
    // In the middle: a machine that is busy may stop everything for a moment.
    expect(waits.sort((one, other) => one - other)[2]).toBeLessThan(1000);

    await visit(`sessions/${theirs}`);
    expect(await submit(second, theirs, 1, { tests_pass: "yes" })).toMatchObject({ checkpoint_passed: false });
    await page.locator(".timeline").getByText("refused").waitFor();
    await page.locator(".attempt > summary", { hasText: "refused" }).click();
    await page.locator(".attempt[open] .problems").getByText("tests_pass").first().waitFor();
    expect(await submit(second, theirs, 1, { tests_pass: true })).toMatchObject({ awaiting_approval: true });
    await page
      .getByText(/^Waits for .+ to approve 1 /)
      .first()
      .waitFor();

    // The inbox: one is approved, the other is denied; both agents are told by their next call.
    await visit("inbox");
    await submit(first, mine, 1, { tests_pass: true });
    const asked = (target: string) => page.locator(".inbox > li", { hasText: target });
    const answer = async (target: string, button: string, note = "") => {
      const request = asked(target);
      if ((await request.locator("details[open]").count()) === 0) await request.locator("summary").first().click();
      const name = request.getByLabel("Your name");
      // A gate that names its approvers offers them.
      if ((await name.evaluate(({ tagName }) => tagName)) === "SELECT") await name.selectOption("ann");
      else await name.fill("ann");
      await request.getByLabel("Note").fill(note);
      await request.getByRole("button", { name: button }).click();
      await request.waitFor({ state: "detached" });
    };
    await answer("src/mine.ts", "Approve");
    await answer("src/theirs.ts", "Deny", "Name the files.");
    expect(await first.ask({ action: "get_state", session_id: mine })).toMatchObject({ current_phase: 2 });
    const denied = await second.ask({ action: "get_state", session_id: theirs });
    expect(JSON.stringify(denied)).toContain("Name the files.");

    // The server of the page is killed. The other agent goes on, and nothing of it is missing afterwards.
    await visit("sessions");
    expect(problems.splice(0)).toEqual([]);
    first.signal("SIGKILL");
    await page.getByText("The connection is lost.").waitFor();
    await begin(second, "src/missed.ts");
    await submit(second, theirs, 1, { tests_pass: true, files: ["src/a.ts"] });
    const again = await connectToBin([...flags, ...inspector], env, { bin });
    // The keys of the page have ended with the server that gave them: the person opens its URL again.
    await page.goto("about:blank");
    await page.goto(`${origin}/#token=${TOKEN}`);
    await row("src/missed.ts").waitFor();
    await row("src/theirs.ts").getByText("Needs you").waitFor();
    await page.getByText("The connection is lost.").waitFor({ state: "detached" });
    // The browser says itself that nobody answered: the server was gone, or was killed before it answered a request.
    for (const problem of problems.splice(0)) expect(problem).toMatch(UNANSWERED);
    await submit(again, mine, 2, { tests_pass: true });
    await row("src/mine.ts").getByText("2 of 3").waitFor();
    await row("src/mine.ts").getByText("Needs you").waitFor();
    await visit("inbox");
    await answer("src/mine.ts", "Approve");
    expect(await submit(again, mine, 3, {})).toMatchObject({ workflow_complete: true });
    await visit(`sessions/${mine}`);
    await expect.poll(() => page.locator(".timeline .state").allInnerTexts()).toEqual(["done", "done", "done"]);
    await page.getByRole("tab", { name: "Audit" }).click();
    await page.getByRole("button", { name: /audit/i }).click();
    await page
      .getByText(/intact/i)
      .first()
      .waitFor();
    expect(problems).toEqual([]);
  });
});
