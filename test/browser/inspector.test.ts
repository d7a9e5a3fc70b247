/** The inspector's page in a real browser, on a real server: what people see, filter, follow and answer. */

import { MemoryStorage, type StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { held, type Inspected, type InspectedOptions, inspect, PLANNED, populate, UNDERSTOOD } from "./inspected.js";
import { launch, openTab, picture, REASON, settled, type Tab, violations } from "./tabs.js";

let browser: Browser;
let world: Inspected;
let tab: Tab;
let ids: Awaited<ReturnType<typeof populate>>;

const ACTIONS = ["retry", "skip", "override", "pause", "resume", "delete"] as const;

async function begin(options: InspectedOptions = {}): Promise<void> {
  world = await inspect(options);
  ids = await populate(world);
  tab = await openTab(browser, world);
}

async function end(): Promise<void> {
  await tab?.close();
  await world?.close();
}

const start = async (target: string) => (await world.engine.start({ workflowType: "change", target })).sessionId;
/** Waits until the list shows these sessions. */
const shows = (targets: readonly string[]) =>
  expect.poll(() => rows().allInnerTexts(), { timeout: 10_000 }).toEqual(targets);
const rows = () => tab.page.locator(".sessions tbody th a");

describe.skipIf(REASON !== "")(`the inspector's page${REASON}`, () => {
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  describe("shows", () => {
    beforeAll(() => begin({ actions: ACTIONS }));
    afterAll(end);
    afterEach(() => {
      expect(tab.problems.splice(0)).toEqual([]);
      expect(world.errors.splice(0)).toEqual([]);
    });

    it("sessions of all kinds, the last changed first, and takes the token out of the URL", async () => {
      expect(new URL(tab.page.url()).hash).toBe("");
      await tab.visit("sessions");
      await expect.poll(() => rows().count()).toBe(8);
      // Which of those that are written in the same millisecond is the last is not said.
      expect(await tab.page.locator("[aria-sort]").allInnerTexts()).toEqual(["Last change"]);
      expect(await rows().last().innerText()).toBe("src/new-thing.ts");
      const row = tab.page.getByRole("row", { name: "src/tables/rows.ts" });
      await expect.poll(() => row.innerText()).toMatch(/Needs you.*2 Plan.*Change/s);
      await expect.poll(() => tab.page.locator(".standing").allInnerTexts()).toContain("Refused 2 of 100");
      await tab.page.getByRole("link", { name: "Target" }).click();
      await expect.poll(() => rows().first().innerText()).toMatch(/^[0-9a-f]{8}|^docs/);
      expect(new URL(tab.page.url()).search).toBe("?sort=target");
      await expect.poll(() => tab.page.locator("[aria-sort=ascending]").allInnerTexts()).toEqual(["Target"]);
      await expect.poll(() => tab.page.locator("header .badge").innerText()).toMatch(/^2/);
    });

    it("a phased session: phases, attempts with evidence and differences, log, audit and graph", async () => {
      const { page } = tab;
      await tab.visit(`sessions/${ids.refused}`);
      await page.waitForSelector(".attempt[open] .tree");
      await expect
        .poll(() => page.locator(".timeline .state").allInnerTexts())
        .toEqual(["done", "done", "refused", "ahead"]);
      await expect
        .poll(() => page.locator(".attempt > summary .state").allInnerTexts())
        .toEqual(["next", "refused", "refused", "passed", "passed", "refused", "refused"]);
      const newest = await page.locator(".attempt[open]").innerText();
      expect(newest).toContain("1 test fails");
      expect(newest).toContain("expected 3 rows, got 2");
      expect(newest).toContain("cost: 0.25");
      expect(newest).toMatch(/coverage\s+was\s+71\s+is\s+84/);
      await page.locator(".attempt > summary").last().click();
      await expect.poll(() => page.locator(".attempt").last().innerText()).toContain("files");
      await picture(page, "session");

      await page.getByRole("tab", { name: "Log" }).click();
      await page.waitForSelector(".log tbody tr");
      await expect.poll(() => page.locator(".log tbody tr").count()).toBe(8);
      expect(new URL(page.url()).search).toBe("?tab=log");
      await page.getByRole("tab", { name: "Audit" }).click();
      await page.getByRole("button", { name: "Run the audit" }).click();
      await page.waitForSelector(".approvals li");
      await expect
        .poll(() => page.locator("#tab-panel").innerText())
        .toMatch(/intact: 8 commits.*Phase 2: approval by ann, not signed/s);
      await page.getByRole("tab", { name: "Graph" }).click();
      await expect.poll(() => page.locator(".picture .node-done").count()).toBe(2);
      await expect
        .poll(() => page.locator(".picture .node-current text").first().textContent())
        .toBe("3. Build and test");
    });

    it("a routed session: entries, the path and its reasons; a recorded one: its acts", async () => {
      const { page } = tab;
      await tab.visit(`sessions/${ids.instance}`);
      await expect.poll(() => page.locator(".entries > li").count()).toBe(3);
      await expect.poll(() => page.locator(".entries").innerText()).toContain("The report says so.");
      await page.getByRole("tab", { name: "Graph" }).click();
      await expect.poll(() => page.locator(".picture .taken").count()).toBe(3);
      await page.getByRole("tab", { name: "Context" }).click();
      await expect.poll(() => page.locator("#tab-panel").innerText()).toContain("Åsa");
      await tab.visit(`sessions/${ids.recorded}`);
      await expect
        .poll(() => page.locator(".entries").innerText())
        .toMatch(/completed.*saved.*out\/report\.md.*read.*opened/s);
    });

    it("workflows, broken ones with their reasons, and a graph that can be copied", async () => {
      const { page } = tab;
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await tab.visit("workflows");
      // The broken one stands first, in one line.
      await expect
        .poll(() => page.locator(".workflows > li").allInnerTexts())
        .toEqual([
          expect.stringMatching(/^half_done \d+ errors?/),
          expect.stringContaining("Change"),
          expect.stringMatching(/^Release \d+ warnings /),
          expect.stringMatching(/^Release train \d+ warnings /),
          expect.stringMatching(/^SUPPORT ok /),
        ]);
      await page.getByRole("link", { name: "half_done" }).click();
      await page.getByText("No session can start on it until this is mended.").waitFor();
      await page.getByText('there is no "phases/2/phase.md"').waitFor();
      await picture(page, "workflow-broken");
      await page.goBack();
      await page.getByRole("link", { name: "Release", exact: true }).click();
      await settled(page);
      await expect.poll(() => page.locator("h1").innerText()).toBe("Release");
      await expect
        .poll(() => page.locator(".definitions").innerText())
        .toMatch(/percent of lines coverage: a number\n+Rule: percent_gte_80\n.*Checked by tests\n+Parameters/s);
      await page.getByRole("button", { name: "Copy as Mermaid" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^flowchart TD\n/);
      // A name with a dot is no file.
      await page.reload();
      await settled(page);
      await expect.poll(() => page.locator("h1").innerText()).toBe("Release");
    });

    it("a gate in the author's words, its parameters on demand, and a link to the workflow that a phase is", async () => {
      const { page } = tab;
      await tab.visit("workflows/train");
      const phases = page.locator(".definitions > li");
      const gate = phases.first().locator(".gate");
      await expect
        .poll(() => gate.innerText())
        .toMatch(
          /^The files to change\. files: a list\n+No more files than one train can carry\. Rule: few\n+Parameters\n/,
        );
      expect(await gate.innerText()).toContain("As many files as planned. Rule: size(");
      expect(await gate.innerText()).toMatch(/All tests pass\. Checked by tests\n+Parameters$/);
      expect(await gate.innerText()).not.toContain("test:all");
      await gate.getByText("Parameters").last().click();
      await expect.poll(() => gate.innerText()).toContain("test:all");
      await picture(page, "gate");
      expect(await phases.last().innerText()).toContain("is completed, once for each item of artifacts.collect.files.");
      await phases.last().getByRole("link", { name: "change" }).click();
      await expect.poll(() => page.locator("h1").innerText()).toBe("Change");
    });

    it("statistics, whose numbers lead to the sessions", async () => {
      await tab.visit("statistics");
      await expect
        .poll(() => tab.page.locator(".tiles").innerText())
        .toMatch(
          /^1\nDone in 7 days\n66 %\nPassed at the first attempt\n.*\nMedian time from start to end\n2\nWaiting for a person$/,
        );
      expect(await tab.page.locator(".chart svg").getAttribute("role")).toBe("img");
      expect(await tab.page.locator(".chart title").first().textContent()).toContain("6 started, 1 completed");
      expect(await tab.page.locator(".chart rect:is(.started, .completed)").count()).toBe(2);
      await expect.poll(() => tab.page.locator(".by-phase").first().innerText()).toMatch(/Build and test.*coverage/s);
      expect(await tab.page.locator(".by-phase").first().innerText()).toContain("cost: 0.25 in all, median 0.25");
      await tab.page.getByLabel("Workflow").selectOption("release.v2");
      await tab.page.waitForFunction(() => document.querySelectorAll(".by-phase").length === 1);
      expect(new URL(tab.page.url()).search).toBe("?workflow=release.v2");
      await tab.visit("statistics?workflow=change");
      const rows = () => tab.page.locator(".sessions tbody tr").count();
      await tab.page
        .getByRole("row", { name: /^2\. Plan/ })
        .getByRole("link", { name: "1" })
        .click();
      await settled(tab.page);
      expect(await tab.page.locator(".sessions .c-phase").last().innerText()).toContain("Plan");
      await expect.poll(rows).toBe(1);
      await tab.page.goBack();
      await tab.page.locator(".tiles").getByRole("link", { name: "2" }).click();
      await settled(tab.page);
      await expect
        .poll(() => tab.page.locator(".sessions .c-status").allInnerTexts())
        .toEqual(["Status", "Needs you", "Needs you"]);
    });

    it("filters that stand in the URL, and goes back and forward", async () => {
      const { page } = tab;
      await tab.visit("sessions?status=paused");
      await shows(["docs/start.md"]);
      await page.getByRole("button", { name: "Filter" }).click();
      await page.getByLabel("Paused").uncheck();
      await page.waitForFunction(() => document.querySelectorAll(".sessions tbody th").length === 8);
      await page.getByLabel("Waits for").selectOption("approval");
      await page.waitForFunction(() => document.querySelectorAll(".sessions tbody th").length === 1);
      expect(new URL(page.url()).search).toBe("?waiting=approval");
      await page.getByLabel("Search").fill("ROWS");
      await page.waitForURL(/text=ROWS/);
      await shows(["src/tables/rows.ts"]);
      await page.getByLabel("Search").fill("nothing has this");
      await page.getByText("No session matches these filters.").waitFor();
      // A chip takes its filter away.
      await page.getByLabel("Search").fill("");
      await page.getByRole("link", { name: "Waits for: anything" }).waitFor({ state: "detached" });
      await page.getByRole("link", { name: "Waits for: an approval" }).click();
      await page.waitForFunction(() => document.querySelectorAll(".sessions tbody th").length === 8);
      // A tab is a filter with a number.
      await page.getByRole("link", { name: "Needs you 2" }).click();
      await page.waitForFunction(() => document.querySelectorAll(".sessions tbody th").length === 2);
      expect(new URL(page.url()).search).toBe("?status=needs_you");
      await page.goBack();
      await page.goBack();
      await page.goBack();
      await page.goBack();
      await shows(["docs/start.md"]);
      await rows().first().click();
      await settled(page);
      await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
      await page.goBack();
      await page.waitForSelector(".sessions tbody th a");
      expect(new URL(page.url()).search).toBe("?status=paused");
    });

    it("the list by keys: the search, the rows, what the keys are", async () => {
      const { page } = tab;
      const focused = () => page.evaluate(() => document.activeElement?.textContent || document.activeElement?.id);
      await tab.visit("sessions?sort=target");
      for (const _ of [1, 2]) await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
      const first = await rows().first().innerText();
      await expect.poll(focused).toBe(first.replaceAll("\n", ""));
      await page.keyboard.press("j");
      await expect.poll(focused).not.toBe(first);
      await page.keyboard.press("k");
      await expect.poll(focused).toBe(first.replaceAll("\n", ""));
      await page.keyboard.press("/");
      await expect.poll(focused).toBe("search");
      // In a text it is a letter.
      await page.keyboard.type("docs/?j");
      expect(await page.getByLabel("Search").inputValue()).toBe("docs/?j");
      await page.waitForURL(/text=docs/);
      await tab.visit("statistics");
      await page.keyboard.press("Control+k");
      await expect.poll(focused).toBe("search");
      await tab.visit("statistics");
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).getByText("Open the session").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });

    it("why a session stands where it stands, the time it took, and an attempt by its URL", async () => {
      const { page } = tab;
      await tab.visit(`sessions/${ids.refused}`);
      await expect
        .poll(() => page.locator(".why").innerText())
        .toContain("Refused at 3 Build and test: npm test exits 1, parser.test.ts:41. 2 of 100 attempts");
      await expect.poll(() => page.locator(".strip li").count()).toBe(3);
      await expect.poll(() => page.locator(".strip .refusal").count()).toBeGreaterThanOrEqual(4);
      await page.locator(".attempt > summary").last().click();
      await page.locator(".attempt").last().getByRole("link", { name: "Link to this attempt" }).click();
      expect(new URL(page.url()).search).toBe("?attempt=0");
      await page.reload();
      await page.locator("li:last-child > .attempt[open] > summary:focus").waitFor();
      expect(await page.locator(".attempt[open]").count()).toBe(1);
      await tab.visit(`sessions/${ids.paused}`);
      await page.locator(".why").getByText("Paused by cat: The release comes first.").waitFor();
      await expect.poll(() => page.locator(".attempt > summary .state").allInnerTexts()).toEqual(["paused"]);
      await tab.visit(`sessions/${ids.instance}`);
      await expect.poll(() => page.locator("h1").innerText()).toBe(`SUPPORT ${ids.instance.split("-").at(-1)}`);
    });

    it("under an empty tab why it is empty, with the way to sessions that are refused", async () => {
      const { page } = tab;
      await tab.visit("sessions?status=failed");
      await page.getByText("No session has failed.").waitFor();
      await page.getByRole("link", { name: "1 is refused." }).click();
      await shows(["src/parser.ts"]);
      await tab.visit("sessions?stuck=3600");
      await page.getByText("No session is stuck.").waitFor();
      await tab.visit("sessions?status=failed&text=parser");
      await page.getByText("No session matches these filters.").waitFor();
    });

    it("what a session waits for under its deep link, with the focus on it", async () => {
      await tab.visit(`sessions/${ids.waiver}?answer=${(await world.engine.session(ids.waiver).waiver())?.request}`);
      await tab.page.waitForFunction(() => document.activeElement?.id === "waiting");
      await expect
        .poll(() => tab.page.locator(".waiting").innerText())
        .toMatch(/No tool measures this language\..*coverage.*9bd0c11/s);
      // A request that was answered meanwhile.
      await tab.visit(`sessions/${ids.waiver}?answer=${"0".repeat(64)}`);
      await tab.page.getByText("The request that this link leads to does not wait any more.").waitFor();
    });

    it("that there is nothing under a wrong URL, and no session of an unknown id", async () => {
      await tab.visit("elsewhere");
      await expect.poll(() => tab.page.locator("h1").innerText()).toBe("Nothing here");
      await tab.visit("sessions/unknown");
      await tab.page.getByRole("alert").waitFor();
      await expect.poll(() => tab.page.getByRole("alert").innerText()).toContain("there is none");
      await tab.visit("elsewhere");
      await expect.poll(() => tab.page.locator("h1").innerText()).toBe("Nothing here");
      // The browser itself says that the server has answered 404. The page asks again when its stream of changes opens.
      expect(new Set(tab.problems.splice(0))).toEqual(new Set([expect.stringContaining("404")]));
    });
  });

  describe.each([
    ["MemoryStorage", async () => new MemoryStorage()],
    ["FileStorage", async () => FileStorage.open(await temporaryFolder())],
  ] as const)("on %s", (_, storageOf) => {
    beforeEach(async () => {
      const storage: StorageAdapter = await storageOf();
      await begin({ actions: ACTIONS, storage });
    });
    afterEach(async () => {
      await end();
      expect(tab.problems).toEqual([]);
      expect(world.errors).toEqual([]);
    });

    it("changes as sessions change, in the list and on a session's page", async () => {
      const { page } = tab;
      await tab.visit("sessions");
      const fresh = await start("src/later.ts");
      await page.getByRole("link", { name: "src/later.ts" }).waitFor();
      await expect.poll(() => rows().first().innerText()).toBe("src/later.ts");
      await world.engine.session(fresh).pause({ by: "cat", note: "Not now." });
      await page
        .getByRole("row", { name: /src\/later\.ts/ })
        .getByText("Paused")
        .waitFor();
      await page.getByRole("link", { name: "src/later.ts" }).click();
      await settled(page);
      await world.engine.session(fresh).resume({ by: "cat" });
      await world.engine.session(fresh).completePhase(1, { summary: "short" });
      await page.locator(".timeline").getByText("refused").waitFor();
      await page.locator(".attempt > summary").getByText("refused").waitFor();
    });

    it("shows checks while they run, and marks what was answered again", async () => {
      const { page } = tab;
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      held.set("slow", released);
      await tab.visit(`sessions/${ids.refused}`);
      const evidence = { commit: "slow", coverage: 91 };
      const submit = () => world.engine.session(ids.refused).completePhase(3, evidence, { idempotencyKey: "slow" });
      const submitting = submit();
      await page.locator(".timeline").getByText("verifying").waitFor();
      await page.locator(".attempt > summary").getByText("verifying").waitFor();
      await page.getByText("runs tests").waitFor();
      await picture(page, "verifying");
      release();
      await submitting;
      await page.locator(".timeline").getByText("verifying").waitFor({ state: "detached" });
      await submit();
      await page.getByRole("tab", { name: "Log" }).click();
      await page.getByText("answered again 1 time").waitFor();
    });

    it("approves, denies and grants from the inbox; the agent's next call sees it", async () => {
      const { page } = tab;
      await tab.visit("inbox");
      await expect.poll(() => page.locator(".inbox > li").count()).toBe(2);
      const first = page.locator(".inbox > li").first();
      await expect
        .poll(() => first.innerText())
        .toMatch(/Is this plan good enough to build\?.*-3\. Look for others.*\+3\. Search for/s);
      await first.getByLabel("Your name").selectOption("ann");
      // A denial needs a note.
      await first.getByRole("button", { name: "Deny" }).click();
      expect(
        await first.getByRole("textbox").evaluate((field: HTMLTextAreaElement) => field.validity.customError),
      ).toBe(true);
      expect((await world.engine.session(ids.waiting).approval())?.phase).toBe(2);
      await first.getByRole("textbox").fill("Name the files.");
      await first.getByRole("button", { name: "Deny" }).click();
      await page.waitForFunction(() => document.querySelectorAll(".inbox > li").length === 1);
      const state = await world.engine.session(ids.waiting).fullState();
      expect(JSON.stringify(state)).toContain("Name the files.");
      // What was done is said, with the way to it; the next request is open and has the focus.
      await page.getByRole("status").getByText("Denied as ann").waitFor();
      expect(await page.getByRole("status").getByRole("link").getAttribute("href")).toContain(ids.waiting);
      await page.locator(".inbox > li details[open] summary:focus").waitFor();

      await world.engine.session(ids.waiting).completePhase(2, { ...PLANNED, plan: "1. src/rows.ts" });
      await page.getByText("src/tables/rows.ts").waitFor();
      await page.locator(".inbox > li", { hasText: "src/tables/rows.ts" }).locator("summary").first().click();
      const again = page.locator(".inbox > li", { hasText: "src/tables/rows.ts" });
      await again.getByLabel("Your name").selectOption("bob");
      await again.getByRole("button", { name: "Approve" }).click();
      await page.waitForFunction(() => document.querySelectorAll(".inbox > li").length === 1);
      expect((await world.engine.session(ids.waiting).state()).head.phase).toBe(3);

      const waiver = page.locator(".inbox > li");
      if (!(await waiver.getByRole("button", { name: "Grant the waiver" }).isVisible()))
        await waiver.locator("summary").first().click();
      await waiver.getByLabel("Your name").fill("cat");
      await waiver.getByRole("button", { name: "Grant the waiver" }).click();
      await page.getByText("Nothing waits for a person.").waitFor();
      const passed = await world.engine.session(ids.waiver).completePhase(3, { commit: "9bd0c11" });
      expect(passed.passed).toBe(true);
    });

    it("finds what was waived: by the word, the field, and who has granted it", async () => {
      const { page } = tab;
      await tab.visit("sessions?text=waived");
      await page.getByText("No session matches these filters.").waitFor();
      const asked = await world.engine.session(ids.waiver).waiver();
      await world.engine.session(ids.waiver).waive({ by: "Zoë", request: asked?.request ?? "", note: "Once." });
      // What is waived now comes into the list that asks for it.
      await shows(["src/legacy/driver.c"]);
      await page.locator(".tag").getByText("waived").waitFor();
      for (const text of ["waiver", "coverage", "zoë"]) {
        await page.getByLabel("Search").fill(text);
        await page.waitForURL((url) => url.searchParams.get("text") === text);
        await shows(["src/legacy/driver.c"]);
      }
      await world.engine.session(ids.waiver).completePhase(3, { commit: "9bd0c11" });
      await tab.visit("sessions?text=coverage");
      await shows(["src/legacy/driver.c"]);
      await tab.visit(`sessions/${ids.waiver}`);
      const said =
        /coverage waived by Zoë, .*The agent’s reason: No tool measures this language\.\s+Zoë’s note: Once\./s;
      await expect.poll(() => page.locator(".timeline").innerText()).toMatch(said);
      const words = page.locator(".attempt > summary");
      await expect.poll(() => words.first().innerText()).toMatch(/^working\s+Phase 4 Ship/);
      expect(await words.nth(1).innerText()).toMatch(/^waived\s+Phase 3 .* attempt 2, passed without coverage/);
    });

    it("does what the host may do, once it has asked who and why", async () => {
      const { page } = tab;
      await tab.visit(`sessions/${ids.fresh}`);
      await page.getByRole("button", { name: "Pause…" }).click();
      const dialog = page.getByRole("dialog", { name: "Pause the session?" });
      await dialog.getByRole("button", { name: "Pause" }).click();
      expect((await world.engine.session(ids.fresh).state()).status).toBe("active"); // nothing was filled in
      await dialog.getByLabel("Your name").fill("cat");
      await dialog.getByLabel("Reason").fill("The release comes first.");
      await dialog.getByRole("button", { name: "Pause" }).click();
      await page.getByRole("button", { name: "Resume…" }).waitFor();
      expect((await world.engine.session(ids.fresh).state()).status).toBe("paused");
      await page.getByRole("button", { name: "Delete…" }).click();
      await page.getByRole("dialog").getByLabel("Reason").fill("Begun by mistake.");
      expect(tab.problems).toEqual([]);
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.waitForURL(/\/sessions$/);
      await page.waitForFunction(() => document.querySelectorAll(".sessions tbody th a").length === 7);
      // What the page was reading of the session when that was deleted.
      for (const problem of tab.problems.splice(0)) expect(problem).toContain("404");
    });
  });

  describe("a session on which nothing has changed", () => {
    afterEach(end);

    it("for an hour says so, in its row and on its page; no age is cut", async () => {
      let ago = 4 * 86_400_000 + 60_000;
      world = await inspect({ clock: { now: () => Date.now() - ago } });
      const old = await start("src/old.ts");
      ago = 119.5 * 60_000;
      await start("src/later.ts");
      ago = 60_000;
      const fresh = await start("src/fresh.ts");
      tab = await openTab(browser, world, { viewport: { width: 1440, height: 900 } });
      const { page } = tab;
      const status = (target: string) => page.getByRole("row", { name: target }).locator(".c-status").innerText();
      await tab.visit("sessions");
      await expect.poll(() => status("src/old.ts")).toMatch(/^Working\s+no change for 4 d$/);
      expect(await status("src/later.ts")).toMatch(/^Working\s+no change for 1 h 59 min$/);
      expect(await status("src/fresh.ts")).toBe("Working");
      expect(await page.getByRole("link", { name: "Stuck 2" }).getAttribute("title")).toContain(
        "no change for an hour",
      );
      for (const width of [1440, 1200, 800, 390]) {
        await page.setViewportSize({ width, height: 900 });
        const cells = page.locator("tbody :is(.c-changed, .c-started, .c-status)");
        const cut = await cells.evaluateAll((all) =>
          all.flatMap((cell) => (cell.scrollWidth > cell.clientWidth ? [cell.textContent] : [])),
        );
        expect(cut, `at ${width} px`).toEqual([]);
        const heights = await page
          .locator("tbody tr:not(.space)")
          .evaluateAll((all) => all.map((row) => row.getBoundingClientRect().height));
        // The rows that are not in the document are counted with this height.
        expect(new Set(heights)).toEqual(new Set([width < 760 ? 76 : 38]));
      }
      await tab.visit(`sessions/${old}`);
      const sentence = () => page.locator(".why .standing").innerText();
      await expect.poll(sentence).toBe("Works on 1 Understand the change; no change for 4 days");
      expect(await page.locator(".attempt > summary").innerText()).toContain("since 4 d ago");
      await tab.visit(`sessions/${fresh}`);
      await expect.poll(sentence).toBe("Works on 1 Understand the change");
    });

    it("shows in the bar of time only names of which some letters fit, and whole times", async () => {
      let ago = 3 * 3_600_000;
      world = await inspect({ clock: { now: () => Date.now() - ago } });
      const id = await start("src/old.ts");
      ago -= 60_000;
      await world.engine.session(id).completePhase(1, UNDERSTOOD);
      tab = await openTab(browser, world);
      await tab.visit(`sessions/${id}`);
      const shown = () =>
        tab.page
          .locator(".strip-name")
          .evaluateAll((all) =>
            all.map((name) =>
              getComputedStyle(name).visibility === "hidden"
                ? []
                : [...name.children].flatMap((part) =>
                    part.getBoundingClientRect().top < name.getBoundingClientRect().bottom &&
                    !part.classList.contains("unseen")
                      ? [part.textContent]
                      : [],
                  ),
            ),
          );
      await expect.poll(shown).toEqual([[], ["2 Plan", "2 h 59 min"]]);
    });
  });

  describe("keeps up", () => {
    afterEach(end);

    it("with a server that goes and comes back, without a gap", async () => {
      await begin();
      await tab.visit("sessions");
      await world.stop();
      await tab.page.getByText("The connection is lost.").waitFor();
      const missed = await start("src/missed.ts");
      await world.engine.session(missed).completePhase(1, { ...UNDERSTOOD });
      await world.start();
      await tab.page
        .getByRole("row", { name: /src\/missed\.ts/ })
        .getByText("Plan")
        .waitFor();
      await tab.page.getByText("The connection is lost.").waitFor({ state: "detached" });
      await start("src/after.ts");
      await tab.page.getByRole("link", { name: "src/after.ts" }).waitFor();
    });

    it("from the start: the list does not wait for the stream of changes, and nothing is missed in between", async () => {
      await begin();
      const { page } = tab;
      let release = () => {};
      const isReleased = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route("**/api/events", async (route) => {
        await isReleased;
        await route.continue();
      });
      await tab.visit("sessions");
      await expect.poll(() => rows().count()).toBe(8);
      await start("src/meanwhile.ts");
      await new Promise((resolve) => setTimeout(resolve, 400));
      expect(await rows().count()).toBe(8);
      release();
      await page.getByRole("link", { name: "src/meanwhile.ts" }).waitFor();
      expect(tab.problems).toEqual([]);
    });

    it("in a tab that nobody sees without a connection, which is opened again when it is looked at", async () => {
      await begin();
      const { page } = tab;
      await page.clock.install();
      await tab.visit("sessions");
      const streams: string[] = [];
      page.on("request", (request) => {
        if (request.url().endsWith("/api/events")) streams.push("opened");
      });
      page.on("requestfailed", (request) => {
        if (request.url().endsWith("/api/events")) streams.push("closed");
      });
      const look = (state: string) =>
        page.evaluate((visibility) => {
          Object.defineProperty(document, "visibilityState", { value: visibility, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }, state);
      // A glance at another tab is no reason.
      await look("hidden");
      await page.clock.runFor(2000);
      await look("visible");
      await page.clock.runFor(6000);
      expect(streams).toEqual([]);
      await look("hidden");
      await page.clock.runFor(6000);
      await expect.poll(() => streams, { timeout: 20_000 }).toEqual(["closed"]);
      await start("src/unseen.ts");
      await look("visible");
      await page.clock.resume();
      await page.getByRole("link", { name: "src/unseen.ts" }).waitFor();
      expect(streams).toEqual(["closed", "opened"]);
      expect(tab.problems).toEqual([]);
    });

    it("with many changes: what waits appears while other sessions go on", async () => {
      await begin();
      await tab.visit("inbox");
      const busy = await start("src/busy.ts");
      let reads = 0;
      tab.page.on("request", (request) => {
        if (request.url().endsWith("/api/inbox")) reads += 1;
      });
      const end = new AbortController();
      const work = async () => {
        while (!end.signal.aborted) {
          await world.engine.session(busy).pause({ by: "cat" });
          await world.engine.session(busy).resume({ by: "cat" });
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      };
      const working = work();
      await world.engine.session(ids.fresh).completePhase(1, { ...UNDERSTOOD });
      await world.engine.session(ids.fresh).completePhase(2, { ...PLANNED });
      try {
        await tab.page.getByText("src/new-thing.ts").waitFor({ timeout: 5000 });
        // What goes on elsewhere is no reason to look at every active session again.
        reads = 0;
        await new Promise((resolve) => setTimeout(resolve, 1500));
        expect(reads).toBeLessThanOrEqual(1);
      } finally {
        end.abort();
        await working;
      }
      expect(tab.problems).toEqual([]);
    });

    it("with sessions that can't be shown: each stands with its reason", async () => {
      const storage = new MemoryStorage();
      const before = await inspect({ storage });
      await populate(before);
      // A host that accepts signed approvals alone.
      world = await inspect({ storage, isSigned: true });
      tab = await openTab(browser, world);
      await tab.visit("sessions");
      const broken = tab.page.locator(".damaged");
      await expect.poll(() => broken.count()).toBe(3);
      await expect.poll(() => broken.first().innerText()).toMatch(/Not shown.*approv/s);
      await tab.page.getByText("3 sessions can’t be trusted:").waitFor();
      await picture(tab.page, "broken");
      expect(await violations(tab.page)).toEqual([]);
      await broken.getByRole("link").first().click();
      await tab.page.getByText("This session can’t be shown: APPROVAL_REFUSED").waitFor();
      await tab.page.getByRole("button", { name: "Run the audit" }).click();
      await tab.page.getByText("not accepted").first().waitFor();
      await picture(tab.page, "broken-session");
      expect(await violations(tab.page)).toEqual([]);
      await before.close();
      expect(tab.problems).toEqual([]);
    });

    it("with logs that are damaged before their last commit: each is marked once the logs are read", async () => {
      class DamagedStorage extends MemoryStorage {
        readonly changed = new Set<string>();
        override async *log(...given: Parameters<MemoryStorage["log"]>) {
          for await (const commit of super.log(...given)) {
            const isDamaged = commit.version === 2 && this.changed.has(commit.sessionId);
            yield isDamaged ? { ...commit, body: `${commit.body} ` } : commit;
          }
        }
      }
      const storage = new DamagedStorage();
      world = await inspect({ storage });
      ids = await populate(world);
      storage.changed.add(ids.refused).add(ids.instance).add(ids.recorded);
      tab = await openTab(browser, world);
      await tab.visit("sessions");
      await tab.page.getByText("3 sessions can’t be trusted:").waitFor();
      const damaged = tab.page.locator(".damaged");
      await expect.poll(() => damaged.count()).toBe(3);
      await expect.poll(() => rows().count()).toBe(8);
      expect(await damaged.first().innerText()).toMatch(/Damaged.*commit 2 of session .* was changed/s);
      // A change of it does not hide the damage.
      await world.engine.session(ids.refused).pause({ by: "cat" });
      await start("src/later.ts");
      await tab.page.getByRole("link", { name: "src/later.ts" }).waitFor();
      await expect.poll(() => damaged.count()).toBe(3);
      await damaged.getByRole("link", { name: ids.refused }).click();
      await tab.page.getByText("This session can’t be shown: TAMPERED").waitFor();
      expect(tab.problems).toEqual([]);
      expect(world.errors).toEqual([]);
    });

    it("with phases that the newest revision does not have: they are gone, and their sessions are found by name", async () => {
      const storage = new MemoryStorage();
      const moved = (names: readonly string[]) => ({
        "metadata.json": JSON.stringify({
          ...{ workflow_type: "moved", name: "Moved", description: "Changes", version: "1.0.0" },
          phases: names.map((phase_name, index) => ({ phase_number: index + 1, phase_name })),
        }),
        ...Object.fromEntries(names.map((name, index) => [`phases/${index + 1}/phase.md`, `# ${name}\n`])),
      });
      const before = await inspect({ storage, sources: { moved: moved(["Build", "Check", "Ship"]) } });
      for (const target of ["src/old.ts", "src/older.ts"]) {
        const { sessionId } = await before.engine.start({ workflowType: "moved", target });
        await before.engine.session(sessionId).completePhase(1, { done: true });
      }
      await before.close();
      world = await inspect({ storage, sources: { moved: moved(["Build", "Ship"]) } });
      const { sessionId } = await world.engine.start({ workflowType: "moved", target: "src/new.ts" });
      await world.engine.session(sessionId).completePhase(1, { done: true });
      tab = await openTab(browser, world);
      await tab.visit("statistics");
      await expect
        .poll(() => tab.page.locator(".by-phase tbody th").allInnerTexts())
        .toEqual(["1. Build", "2. Check gone", "2. Ship"]);
      await tab.page.getByRole("row", { name: /gone/ }).getByRole("link", { name: "2" }).click();
      await shows(["src/older.ts", "src/old.ts"]);
      expect(tab.problems).toEqual([]);
    });

    it("with a server that still reads, and says so until all sessions are there", async () => {
      let release = () => {};
      const isReleased = new Promise<void>((resolve) => {
        release = resolve;
      });
      class SlowStorage extends MemoryStorage {
        override async list(query: Parameters<MemoryStorage["list"]>[0]) {
          if (query.cursor !== undefined) await isReleased;
          return super.list(query);
        }
      }
      await begin({ storage: new SlowStorage() });
      for (let index = 0; index < 220; index += 1) await start(`src/file-${index}.ts`);
      await tab.visit("sessions");
      const status = tab.page.locator("main .reading");
      await expect.poll(() => status.innerText()).toBe("Reading older sessions…");
      expect(await tab.page.locator(".sessions tbody tr").count()).toBeGreaterThan(10);
      expect(await violations(tab.page)).toEqual([]);
      await picture(tab.page, "reading");
      release();
      await expect.poll(() => status.innerText()).toBe("");
      await expect.poll(() => tab.page.locator("h1 .count").innerText()).toBe("228");
      expect(tab.problems).toEqual([]);
    });

    it("with more sessions than it reads: it says how many these are", async () => {
      await begin();
      await start("src/a.ts");
      await tab.page.route("**/api/sessions?*", async (route) => {
        const answer = await (await route.fetch()).json();
        await route.fulfill({ json: { ...answer, read: { state: "cut", sessions: 20_000 } } });
      });
      await tab.visit("sessions");
      await tab.page
        .getByText("These are the newest 20,000 sessions, of which the list checks the last commits alone.")
        .waitFor();
      expect(tab.problems).toEqual([]);
    });

    it("with a list of thousands: few rows are in the document, and the rest comes by scrolling", async () => {
      await begin();
      for (let index = 0; index < 2000; index += 1) await start(`src/file-${index}.ts`);
      const { page } = tab;
      await tab.visit("sessions");
      await expect.poll(() => page.locator("h1").innerText()).toMatch(/2,008/);
      for (let step = 0; step < 300; step += 1) {
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
        if ((await page.getByRole("button", { name: /^(?:More|Reading more…)$/ }).count()) === 0) break;
        await page.waitForTimeout(50);
      }
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      await page.getByRole("link", { name: "src/new-thing.ts" }).waitFor();
      expect(await rows().count()).toBeLessThan(80);
      // The place is found again.
      const y = await page.evaluate(() => scrollY);
      await rows().last().click();
      await settled(page);
      await page.goBack();
      await page.waitForFunction((before) => Math.abs(scrollY - before) < 100, y);
      expect(tab.problems).toEqual([]);
    });

    it("is silent without a login, and says what to do", async () => {
      await begin();
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(`${world.origin}/inspector/sessions`);
      await page.getByRole("heading", { name: "Log in" }).waitFor();
      expect(await page.locator("body").innerText()).not.toContain("src/");
      await page.goto(`${world.origin}/inspector/#token=wrong`);
      await page.getByRole("heading", { name: "Log in" }).waitFor();
      // The URL with the token, pasted into the tab that asks for it.
      await page.evaluate((hash) => {
        location.hash = hash;
      }, new URL(world.url).hash);
      await page.getByRole("link", { name: "src/new-thing.ts" }).waitFor();
      expect(page.url()).not.toContain("token");
      // An old URL does not end the login of this browser.
      await page.goto(`${world.origin}/inspector/#token=old`);
      await page.getByRole("link", { name: "src/new-thing.ts" }).waitFor();
      await context.close();
    });

    it("says that an answer needs a key where only signed ones count", async () => {
      await begin({ unsigned: false, approvers: { ann: "ed25519:key" } });
      await tab.visit("inbox");
      await expect.poll(() => tab.page.locator(".inbox").innerText()).toContain("phasegate approve --key");
      expect(await tab.page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    });

    it("says that there is nothing yet, in every view", async () => {
      world = await inspect();
      tab = await openTab(browser, world);
      for (const [path, text] of [
        ["sessions", "There are no sessions yet."],
        ["inbox", "Nothing waits for a person."],
        ["statistics", "There are no phased sessions to count."],
      ] as const) {
        await tab.visit(path);
        await tab.page.getByText(text).waitFor();
        await picture(tab.page, `empty-${path}`);
      }
      expect(tab.problems).toEqual([]);
    });
  });
});
