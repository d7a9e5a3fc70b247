/** Who uses the inspector's page without a mouse, without sight, in the dark or on a phone; and texts that attack it. */
import { MemoryStorage } from "phasegate";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { LONG } from "../support/crowded.js";
import { type Inspected, inspect, populate, UNDERSTOOD } from "./inspected.js";
import { launch, openTab, picture, REASON, settled, type Tab, violations } from "./tabs.js";

const ACTIONS = ["retry", "skip", "override", "pause", "resume", "delete"] as const;

let browser: Browser;
let world: Inspected;
let ids: Awaited<ReturnType<typeof populate>>;

/** Every view by a name. */
function views(): readonly (readonly [name: string, path: string])[] {
  return [
    ["sessions", "sessions"],
    ["filtered", "sessions?status=failed"],
    ["refused", `sessions/${ids.refused}`],
    ["waiting", `sessions/${ids.waiting}`],
    ["log", `sessions/${ids.refused}?tab=log`],
    ["audit", `sessions/${ids.refused}?tab=audit`],
    ["graph", `sessions/${ids.refused}?tab=graph`],
    ["routed", `sessions/${ids.instance}`],
    ["routed-graph", `sessions/${ids.instance}?tab=graph`],
    ["recorded", `sessions/${ids.recorded}`],
    ["inbox", "inbox"],
    ["workflows", "workflows"],
    ["workflow", "workflows/change"],
    ["workflow-composed", "workflows/train"],
    ["workflow-broken", "workflows/half_done"],
    ["workflow-routed", "workflows/SUPPORT"],
    ["answered", `sessions/${ids.waiting}?answer=${"0".repeat(64)}`],
    ["statistics", "statistics"],
    ["nothing", "elsewhere"],
  ];
}

/** Lines of a file with a caret below the place, as the bin gives them: the caret must stay below it. */
const FRAME = `  3 |   "name": "Half done",\n> 4 |   "phases": [{ "phase_number": 2, "phase_name": "${"long ".repeat(30)}" }]\n    |             ^`;

const HOSTILE = {
  script: "<script>window.hacked = 1</script>",
  handler: '"><img src=x onerror="window.hacked = 1"><svg onload="window.hacked = 1">',
  link: "javascript:window.hacked=1",
  style: "<style>body { display: none }</style>",
  bidi: "user\u202Egnp.exe\u202C \u2066hidden\u2069 zero\u200Bwidth \u{E0041}tag \u3164filler \u2800blank",
  ansi: "\u001B[31mred\u001B[0m \u0007\u0000",
  template: "{{constructor.constructor('window.hacked=1')()}}",
};

describe.skipIf(REASON !== "")(`the inspector's page${REASON}`, () => {
  beforeAll(async () => {
    browser = await launch();
    world = await inspect({ actions: ACTIONS, codeFrame: async () => FRAME });
    ids = await populate(world);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  it.each(["light", "dark"] as const)("has no violation that axe-core finds, in %s", async (colorScheme) => {
    const tab = await openTab(browser, world, { colorScheme, reducedMotion: "reduce" });
    const found: string[] = [];
    for (const [name, path] of views()) {
      await tab.visit(path);
      await picture(tab.page, `${name}-${colorScheme}`);
      found.push(...(await violations(tab.page)).map((violation) => `${name}: ${violation}`));
    }
    await tab.visit("sessions?waiting=any");
    await tab.page.getByRole("button", { name: "Filter" }).click();
    await tab.page.getByLabel("Sorted by").waitFor();
    found.push(...(await violations(tab.page)).map((violation) => `filters: ${violation}`));
    await picture(tab.page, `filters-${colorScheme}`);
    await tab.page.locator("body").press("?");
    found.push(...(await violations(tab.page)).map((violation) => `keys: ${violation}`));
    await picture(tab.page, `keys-${colorScheme}`);
    await tab.visit(`sessions/${ids.fresh}`);
    await tab.page.getByRole("button", { name: "Delete…" }).click();
    found.push(...(await violations(tab.page)).map((violation) => `dialog: ${violation}`));
    await picture(tab.page, `dialog-${colorScheme}`);
    expect(found).toEqual([]);
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it("fits a phone: nothing is wider than the screen", async () => {
    const tab = await openTab(browser, world, { viewport: { width: 360, height: 740 } });
    const wide: string[] = [];
    for (const [name, path] of views()) {
      await tab.visit(path);
      await picture(tab.page, `${name}-phone`);
      const over = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) wide.push(`${name}: ${over} pixels`);
    }
    expect(wide).toEqual([]);
    await tab.close();
  });

  it("is used with the keyboard alone, from the list to an answer", async () => {
    const tab = await openTab(browser, world);
    const { page } = tab;
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
    const press = (key: string) => page.keyboard.press(key);
    /** Moves on until the focus is on something with this text; every stop must be visible. */
    const tabTo = async (text: string) => {
      for (let step = 0; step < 60; step += 1) {
        await press("Tab");
        const outline = await page.evaluate(() => {
          const at = document.activeElement;
          const row = at?.closest("tr") ?? at;
          return at === null || row === null
            ? ""
            : getComputedStyle(at).outlineStyle + getComputedStyle(row).outlineStyle;
        });
        expect(outline).not.toBe("nonenone");
        if ((await focused()).includes(text)) return;
      }
      throw new Error(`the focus never comes to ${text}`);
    };
    await tab.visit("sessions");
    await press("Tab");
    await expect.poll(focused).toBe("Skip to the content");
    await press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
    await tabTo("intake-20261123-a1b2");
    for (let step = 0; step < 10 && (await focused()) !== "src/parser.ts"; step += 1) await press("ArrowDown");
    await press("Enter");
    await settled(page);
    await tabTo("Attempts");
    await press("ArrowRight");
    await expect.poll(() => page.locator("[aria-selected=true]").innerText()).toBe("Log");
    await press("End");
    await expect.poll(() => page.locator("[aria-selected=true]").innerText()).toBe("Graph");

    await tab.visit(`sessions/${ids.fresh}`);
    await tabTo("Pause…");
    await press("Enter");
    await page.getByRole("dialog").waitFor();
    // The focus stays in the dialog, and comes back to the button.
    for (let step = 0; step < 8; step += 1) {
      await press("Tab");
      expect(
        await page.evaluate(
          () => document.activeElement === document.body || document.activeElement?.closest("dialog") !== null,
        ),
      ).toBe(true);
    }
    await press("Escape");
    await expect.poll(focused).toBe("Pause…");

    await tab.visit(`sessions/${ids.waiver}?answer=${(await world.engine.session(ids.waiver).waiver())?.request}`);
    await page.waitForFunction(() => document.activeElement?.id === "waiting");
    for (let step = 0; step < 20 && (await page.evaluate(() => document.activeElement?.tagName)) !== "INPUT"; step += 1)
      await press("Tab");
    await page.keyboard.type("cat");
    await press("Tab");
    await page.keyboard.type("Measure it with gcov.");
    await tabTo("Deny the waiver");
    await press("Enter");
    await page.waitForFunction(() => document.querySelector(".waiting") === null);
    expect(await world.engine.session(ids.waiver).waiver()).toBeUndefined();
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  describe("with long names, many phases and a damaged log", () => {
    let other: Inspected;
    let path: string;
    let long: string;
    let waived: string;
    const target = `packages/${"very-deep-folder/".repeat(9)}the-file-at-the-end.ts`;

    beforeAll(async () => {
      const storage = new (class extends MemoryStorage {
        override async *log(...given: Parameters<MemoryStorage["log"]>) {
          for await (const commit of super.log(...given)) {
            const isDamaged = commit.version === 2 && commit.summary.target === "src/damaged.ts";
            yield isDamaged ? { ...commit, body: `${commit.body} ` } : commit;
          }
        }
      })();
      other = await inspect({ storage, sources: { long_march: LONG } });
      const begin = async (workflowType: string, on: string) =>
        (await other.engine.start({ workflowType, target: on })).sessionId;
      [path, waived, long] = [
        await begin("change", target),
        await begin("change", "src/waived.c"),
        await begin("long_march", "docs/everything.md"),
      ];
      const damaged = await begin("change", "src/damaged.ts");
      await other.engine.session(damaged).completePhase(1, UNDERSTOOD);
      for (let phase = 1; phase < 20; phase += 1) await other.engine.session(long).completePhase(phase, { done: true });
      await other.engine.session(waived).completePhase(1, { summary: UNDERSTOOD.summary });
      await other.engine
        .session(waived)
        .requestWaiver(1, { fields: ["files"], reason: "It touches no file. ".repeat(90) });
      const asked = await other.engine.session(waived).waiver();
      await other.engine.session(waived).waive({ by: "Zoë", request: asked?.request ?? "" });
    });
    afterAll(() => other?.close());

    it.each([390, 1024])("has room for all on a screen of %i pixels", async (width) => {
      const tab = await openTab(browser, other, { viewport: { width, height: 800 } });
      const wide: string[] = [];
      for (const view of ["sessions", "workflows", ...[path, long, waived].map((id) => `sessions/${id}`)]) {
        await tab.visit(view);
        if (view === "sessions") await tab.page.locator(".damaged").waitFor();
        const over = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (over > 0) wide.push(`${view}: ${over} pixels`);
        await picture(tab.page, `names-${view.slice(0, 20).replace("/", "-")}-${width}`);
      }
      expect(wide).toEqual([]);
      await tab.visit("sessions");
      await tab.page.locator(".damaged").waitFor();
      const short = await tab.page.getByRole("link", { name: "src/waived.c" }).evaluate((link) => {
        return link.scrollWidth > link.clientWidth || (link.closest("th")?.clientWidth ?? 0) < 150;
      });
      expect(short).toBe(false);
      await tab.visit(`sessions/${path}`);
      expect(await tab.page.locator("h1").innerText()).toMatch(/^packages\/.*….*\/the-file-at-the-end\.ts\s*$/);
      expect(tab.problems).toEqual([]);
      await tab.close();
    });

    it("has the same word for a session, its phase and its attempt, once something was waived", async () => {
      const tab = await openTab(browser, other);
      await tab.visit(`sessions/${waived}`);
      await tab.page.locator(".why").getByText("Works on 1 Understand the change").waitFor();
      expect(await tab.page.locator(".timeline .state").first().innerText()).toBe("working");
      expect(await tab.page.locator(".attempt > summary .state").allInnerTexts()).toEqual(["working", "refused"]);
      await tab.close();
    });
  });

  describe("with hostile texts", () => {
    let tab: Tab;
    let other: Inspected;
    const text = Object.values(HOSTILE).join("\n");

    beforeAll(async () => {
      other = await inspect({ title: HOSTILE.handler, actions: ACTIONS });
      tab = await openTab(browser, other);
    });
    afterEach(async () => {
      expect(await tab.page.evaluate(() => Reflect.get(window, "hacked"))).toBeUndefined();
      expect(await tab.page.locator("main img, main script, main style, a[href^=javascript]").count()).toBe(0);
      expect(tab.problems.splice(0)).toEqual([]);
    });
    afterAll(async () => {
      await tab?.close();
      await other?.close();
    });

    it("shows evidence, names, notes and targets as they are written, and makes what is hidden visible", async () => {
      const { engine, routed, recorder } = other;
      const { sessionId } = await engine.start({ workflowType: "change", target: HOSTILE.handler });
      await engine
        .session(sessionId)
        .completePhase(1, { ...UNDERSTOOD, summary: text, files: Object.values(HOSTILE), risk: 7 });
      await engine.session(sessionId).completePhase(1, { ...UNDERSTOOD, summary: text, files: Object.values(HOSTILE) });
      await engine.session(sessionId).completePhase(2, { plan: text, reviewed: true });
      const asked = await engine.session(sessionId).approval();
      await engine.session(sessionId).deny({ by: "ann", note: text, evidenceHash: asked?.evidenceHash ?? "" });
      await engine.session(sessionId).completePhase(2, { plan: `${text}!`, reviewed: true });
      await engine.session(sessionId).pause({ by: HOSTILE.script, note: text });
      await engine.session(sessionId).resume({ by: HOSTILE.script });
      const { sessionId: routedId } = await routed.start({ workflow: "SUPPORT", context: { [HOSTILE.script]: text } });
      await routed.session(routedId).advance({ report: { status: HOSTILE.script, message: "Answer", error: text } });
      const recorded = "intake-20261123-hostile";
      await recorder.open(recorded, {
        workflow: HOSTILE.script,
        agent: HOSTILE.handler,
        inputs: { a: text },
        acts: [],
      });
      const { page } = tab;
      for (const path of [
        "sessions",
        "inbox",
        `sessions/${sessionId}`,
        `sessions/${sessionId}?tab=log`,
        `sessions/${routedId}`,
        `sessions/${routedId}?tab=context`,
        `sessions/${recorded}`,
      ]) {
        await tab.visit(path);
        const closed = page.locator("details:not([open]) > summary");
        while ((await closed.count()) > 0) await closed.first().click();
        await picture(page, `hostile-${path.replaceAll(/\W/g, "-").slice(0, 20)}-${path.split("=")[1] ?? ""}`);
        await expect.poll(() => page.locator("body").innerText()).toContain("onerror=");
      }
      await tab.visit("inbox");
      const shown = await page.locator(".inbox").innerText();
      expect(shown).toContain("<script>window.hacked = 1</script>");
      expect(shown).toContain("user[U+202E]gnp.exe");
      expect(shown).toContain("[U+200B]");
      expect(shown).toContain("[U+E0041]");
      expect(shown).toContain("[U+001B][31mred");
      for (const hidden of ["\u202E", "\u2066", "\u200B", "\u3164", "\u2800", "\u001B", "\u0000"])
        expect(shown).not.toContain(hidden);
    });

    it("stays quick with a value of 10 MB and with 10,000 fields", async () => {
      const { engine } = other;
      const big = "long text without an end ".repeat(400_000);
      const { sessionId } = await engine.start({ workflowType: "change", target: "src/big.ts" });
      const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field_${index}`, index]));
      const { routed } = other;
      await engine.session(sessionId).completePhase(1, { ...UNDERSTOOD, summary: big });
      const { page } = tab;
      await tab.visit(`sessions/${sessionId}`);
      await page
        .getByRole("button", { name: /^Show more/ })
        .first()
        .waitFor();
      expect((await page.locator("main").innerText()).length).toBeLessThan(30_000);
      await page
        .getByRole("button", { name: /^Show more/ })
        .first()
        .click();
      expect((await page.locator("main").innerText()).length).toBeGreaterThan(20_000);
      const { sessionId: routedId } = await routed.start({ workflow: "SUPPORT", context: many });
      await tab.visit(`sessions/${routedId}?tab=context`);
      expect(await page.locator(".tree li").count()).toBeLessThan(100);
      await page.getByRole("button", { name: /^Show more \(9,950 members left\)$/ }).click();
      await page.getByText("field_400", { exact: true }).waitFor();
    });
  });
});
