/** The inbox in a real browser: many requests, what was opened and answered stays in sight, who asks. */
import { createApproverKeys } from "phasegate/approval";
import type { Browser, Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Inspected, inspect, PLANNED, UNDERSTOOD } from "./inspected.js";
import { launch, openTab, picture, REASON, type Tab, violations } from "./tabs.js";

let browser: Browser;
let world: Inspected;
let tab: Tab;

/** Starts sessions that wait for an approval. */
async function ask(workflowType: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { sessionId } = await world.engine.start({ workflowType, target: `src/${workflowType}/${index}.ts` });
    await world.engine.session(sessionId).completePhase(1, UNDERSTOOD);
    await world.engine.session(sessionId).completePhase(2, PLANNED);
  }
}

const request = (target: string) => tab.page.locator(".inbox > li", { hasText: target });
/** Returns the place of something on the screen. */
const placeOf = (locator: Locator) =>
  locator.evaluate((node) => {
    const { top, bottom } = node.getBoundingClientRect();
    return { top, bottom, screen: innerHeight };
  });

describe.skipIf(REASON !== "")(`the inbox${REASON}`, () => {
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    world = await inspect();
    tab = await openTab(browser, world, { viewport: { width: 1280, height: 720 } });
  });
  afterEach(async () => {
    await tab.close();
    await world.close();
    expect(tab.problems).toEqual([]);
    expect(world.errors).toEqual([]);
  });

  it("has groups by workflow and filters, if it is long", async () => {
    const { page } = tab;
    await ask("release.v2", 2);
    await ask("change", 8);
    await tab.visit("inbox");
    expect(await page.getByRole("search").count()).toBe(0);
    await ask("change", 1);
    const headings = () => page.locator("main section > h2").allInnerTexts();
    await expect.poll(headings).toEqual(["Release 2", "Change 9"]);
    await page.getByRole("list", { name: "Requests on Change, oldest first" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await picture(page, "inbox-groups");
    await page.getByLabel("Workflow").selectOption("release.v2");
    await expect.poll(headings).toEqual(["Release 2"]);
    await page.keyboard.press("/");
    await page.keyboard.type("V2/1.TS");
    await page.waitForURL(/text=V2/);
    await expect.poll(() => page.locator(".inbox > li").count()).toBe(1);
    expect(await page.locator("h1").innerText()).toBe("Inbox 1 of 11");
    await page.getByLabel("Asks for").selectOption("waiver");
    await page.getByText("No request matches these filters.").waitFor();
    await page.getByRole("link", { name: "Clear filters" }).click();
    await expect.poll(headings).toEqual(["Release 2", "Change 9"]);
  });

  it("keeps what was opened, and what was answered, in sight", async () => {
    const { page } = tab;
    await ask("change", 30);
    await tab.visit("inbox");
    const opened = request("src/change/20.ts");
    await opened.scrollIntoViewIfNeeded();
    await page.evaluate(() => scrollBy(0, -40));
    await opened.locator("summary").first().click();
    const form = opened.getByRole("form", { name: "Your answer" });
    await form.waitFor();
    const question = opened.getByText("Is this plan good enough to build?");
    await expect
      .poll(
        async () => (await placeOf(question)).bottom < (await placeOf(form)).top && (await placeOf(question)).top > 0,
      )
      .toBe(true);
    await picture(page, "inbox-opened");

    const name = form.getByLabel("Your name");
    const says = () => name.evaluate((field: HTMLSelectElement) => field.validationMessage);
    await form.getByRole("button", { name: "Approve" }).click();
    expect(await says()).toBe("Choose who you are");
    await name.selectOption("ann");
    expect(await says()).toBe("");
    await form.getByRole("button", { name: "Approve" }).click();
    const said = page.getByRole("status").filter({ hasText: "Approved as ann: src/change/20.ts" });
    await said.waitFor();
    expect(await said.getAttribute("class")).toContain("tone-good");
    await page.locator("[aria-live=polite]").getByText("Approved as ann").waitFor({ state: "attached" });
    const next = request("src/change/21.ts").locator("summary:focus");
    await next.waitFor();
    await request("src/change/21.ts").getByRole("form").waitFor();
    await expect
      .poll(async () => {
        const [{ top, bottom, screen }, below] = [await placeOf(said), await placeOf(next)];
        return top >= 0 && bottom <= below.top + 1 && below.bottom < screen / 2;
      })
      .toBe(true);
    await picture(page, "inbox-answered");
    expect(await said.getByRole("link").getAttribute("href")).toContain("change_src_change_20_ts");
  });

  it("says whose agent asks, and when, as the page of the session does", async () => {
    const { page } = tab;
    const ann = world.engine.as({ name: "ann" });
    const { sessionId } = await ann.start({ workflowType: "change", target: "src/legacy.c" });
    await ann.session(sessionId).completePhase(1, { summary: UNDERSTOOD.summary });
    await ann.session(sessionId).requestWaiver(1, { fields: ["files"], reason: "It touches none." });
    const asked = /Asked by the agent of ann, \d+ \w+ \d{4}, \d\d:\d\d:\d\d/;
    await tab.visit("inbox");
    await request("src/legacy.c").getByText(asked).waitFor();
    await tab.visit(`sessions/${sessionId}`);
    await page.locator(".waiting").getByText(asked).waitFor();
    // Of a problem whose message names its field, that is said once.
    const refused = page.locator(".waiting section", { hasText: "Why it was refused" });
    expect(await refused.innerText()).toMatch(/^Why it was refused\s+Required evidence 'files'/);
  });

  it("lets the names of known approvers be chosen for a waiver", async () => {
    await tab.close();
    await world.close();
    world = await inspect({ approvers: { ann: (await createApproverKeys()).publicKey } });
    tab = await openTab(browser, world);
    const { sessionId } = await world.engine.start({ workflowType: "change", target: "src/legacy.c" });
    await world.engine.session(sessionId).completePhase(1, { summary: UNDERSTOOD.summary });
    await world.engine.session(sessionId).requestWaiver(1, { fields: ["files"], reason: "It touches none." });
    await tab.visit(`sessions/${sessionId}`);
    expect(await tab.page.getByLabel("Your name").locator("option").allInnerTexts()).toEqual(["Choose…", "ann"]);
  });
});
