import { createToken, createTokenLogin, tokensText } from "phasegate/login";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Role } from "../../src/ports/actor.js";
import { type Inspected, inspect, PLANNED, populate, UNDERSTOOD } from "./inspected.js";
import { launch, openTab, picture, REASON, settled, violations } from "./tabs.js";

let browser: Browser;
let world: Inspected;
const revoked = new Set<string>();
const people = (["ann", "amy"] as const).map((name) => {
  const roles: Role[] = name === "ann" ? ["approver", "operator"] : ["agent"];
  return { name, ...createToken({ name, roles }, Date.now()) };
});
const tokenOf = (name: string) => people.find((one) => one.name === name)?.token ?? "";

describe.skipIf(REASON !== "")(`the page behind a login${REASON}`, () => {
  beforeAll(async () => {
    browser = await launch();
    const read = () => tokensText(people.filter(({ name }) => !revoked.has(name)).map(({ entry }) => entry));
    world = await inspect({ access: { login: createTokenLogin({ read }) }, actions: ["pause"] });
    await populate(world);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  /** Opens the page without a token in its URL. */
  const open = () => openTab(browser, { origin: world.origin, url: `${world.origin}/inspector/` });

  it("asks for a token, says when it is wrong, and shows each person what they may see", async () => {
    const tab = await open();
    const { page, problems } = tab;
    expect(await violations(page)).toEqual([]);
    await picture(page, "login");
    await page.getByLabel("Your token").fill("pgt_wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").getByText("This token does not open this inspector.").waitFor();
    await page.getByLabel("Your token").fill(` ${tokenOf("amy")} `);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sessions" }).waitFor();
    await settled(page);
    await page.getByText("There are no sessions").waitFor();
    // What the browser says of answers before the login.
    for (const problem of problems.splice(0)) expect(problem).toContain("401");
    await world.engine.as({ name: "amy" }).start({ workflowType: "change", target: "src/amy.ts" });
    await page.getByRole("link", { name: "src/amy.ts" }).waitFor();
    expect(problems).toEqual([]);
    await tab.close();
  });

  it("takes answers and actions in the name of who has logged in, and asks for none", async () => {
    const { sessionId } = await world.engine
      .as({ name: "amy" })
      .start({ workflowType: "change", target: "src/asking.ts" });
    await world.engine.session(sessionId).completePhase(1, { ...UNDERSTOOD });
    await world.engine.session(sessionId).completePhase(2, { ...PLANNED });
    const tab = await open();
    const { page, problems } = tab;
    await page.getByLabel("Your token").fill(tokenOf("ann"));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sessions" }).waitFor();
    problems.splice(0);
    await tab.visit(`sessions/${sessionId}?answer=${(await world.engine.session(sessionId).approval())?.request}`);
    const answer = page.getByRole("form", { name: "Your answer" });
    expect(await answer.getByLabel("Your name").count()).toBe(0);
    await answer.getByRole("button", { name: "Approve" }).click();
    await answer.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Pause…" }).click();
    expect(await page.getByRole("dialog").getByLabel("Your name").count()).toBe(0);
    await page.getByRole("dialog").getByLabel("Reason").fill("Lunch.");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused").first().waitFor();
    const events = (await world.engine.session(sessionId).commits()).flatMap((commit) => commit.events);
    expect(events).toContainEqual(expect.objectContaining({ type: "approved", by: "ann" }));
    expect(events).toContainEqual(expect.objectContaining({ type: "paused", operator: "ann" }));
    expect(problems).toEqual([]);
    // A token that is revoked ends the login.
    revoked.add("ann");
    await tab.visit("workflows");
    await page.getByLabel("Your token").waitFor();
    revoked.clear();
    await tab.close();
  });
});
