import { createEngine, defineWorkflow, MemoryContent } from "phasegate";
import { ScriptedDecider } from "phasegate/ai";
import { FileStorage } from "phasegate/fs";
import { createRoutedEngine } from "phasegate/routed";
import * as z from "zod";
import { DEPTH_GATE, gardenWith } from "../support/gated-garden.js";
import { CountingClock } from "../support/make-engine.js";

/** Three phases; a person approves the first, and of the second the coverage can be waived. */
const release = defineWorkflow({
  type: "release_v1",
  revision: "1",
  name: "Release",
  description: "A release",
  phases: [
    {
      number: 1,
      name: "Plan",
      content: "Plan it.",
      skippable: true,
      gate: {
        evidence: z.object({ plan: z.string().min(10) }),
        approval: { prompt: "Is this plan good enough to build on it for a whole month, with all of its risks?" },
      },
    },
    {
      number: 2,
      name: "Build and measure",
      content: "Build it.",
      gate: { evidence: z.object({ built: z.literal(true), coverage: z.number().min(80) }) },
    },
    { number: 3, name: "Ship", content: "Ship it." },
  ],
});

const LONG_PATH = "services/payment/gateway/adapters/legacy/src/main/java/com/example/Checkout.java";
const ARABIC = "docs/مرحبا بالعالم.md";
const CHINESE = "文档/支付网关设计说明书.md";

/** Creates in a folder sessions in every state, a minute apart from 05:07 on, and returns their ids by their state. */
export async function sessionsOfAllKinds(folder: string) {
  const clock = new CountingClock("2026-03-04T05:06:07.000Z");
  const storage = await FileStorage.open(folder);
  const content = new MemoryContent({ workflows: [release] });
  const engine = createEngine({ storage, content, clock, limits: { maxActiveSessions: 100 } });
  const skipped = { by: "me", note: "known" } as const;
  const start = async (target: string, position: 1 | 2 = 2) => {
    clock.advance(60_000);
    const session = engine.session((await engine.start({ workflowType: "release_v1", target })).sessionId);
    if (position === 2) await session.skipPhase(1, skipped);
    return session;
  };
  const refuse = async (session: Awaited<ReturnType<typeof start>>, times: number) => {
    for (let time = 1; time <= times; time += 1) await session.completePhase(2, { built: true, coverage: 40 + time });
  };
  const working = await start(LONG_PATH, 1);
  const refused = await start(ARABIC);
  await refuse(refused, 2);
  const approval = await start(CHINESE, 1);
  await approval.completePhase(1, { plan: "First the schema.\nThen the service.\nAt last the page, with its tests." });
  const waiver = await start("src/legacy.c");
  await refuse(waiver, 1);
  await waiver.requestWaiver(2, { fields: ["coverage"], reason: "no tool for this language" });
  const paused = await start("src/paused.ts");
  await paused.pause({ note: "waits for a key" });
  const failed = await start("src/failed.ts");
  await refuse(failed, 3);
  const done = await start("src/done.ts");
  await done.completePhase(2, { built: true, coverage: 90 });
  await done.completePhase(3, {});

  clock.advance(60_000);
  const routed = createRoutedEngine({
    storage,
    clock,
    workflows: gardenWith({ ...DEPTH_GATE, approval: { prompt: "Deep enough?", approvers: ["ann"] } }),
    decider: new ScriptedDecider([]),
  });
  const { sessionId: garden } = await routed.start({ workflow: "GARDEN" });
  await routed.session(garden).advance({ report: { status: "success", details: { depth: 20 } } });
  const ids = {
    ...{ working: working.id, refused: refused.id, approval: approval.id, waiver: waiver.id },
    ...{ paused: paused.id, failed: failed.id, done: done.id, garden },
  };
  return { engine, clock, ids, start, close: () => engine.close() };
}
