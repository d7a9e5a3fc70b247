/** What a user's compiler must know of the package: types that are inferred, and that are no `any`. */
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

const workflow = defineWorkflow({
  type: "audit",
  revision: "1",
  name: "Audit",
  description: "Look, then report",
  phases: [
    { number: 1, name: "Look", content: "# Look", gate: { evidence: z.object({ areas: z.number() }) } },
    { number: 2, name: "Report", content: "# Report", gate: { evidence: z.object({ path: z.string() }) } },
  ],
});
const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [workflow] }) });
const { sessionId } = await engine.start({ workflowType: "audit", target: "." });
const session = engine.session(workflow, sessionId);

const answer = await session.completePhase(1, { areas: 1 });
// @ts-expect-error A text is no number.
await session.completePhase(1, { areas: "1" });
// @ts-expect-error Another phase has this field.
await session.completePhase(2, { areas: 1 });
// @ts-expect-error A message is a text.
if (!answer.passed) answer.problems[0]?.message satisfies number | undefined;
for await (const { summary } of engine.watch()) {
  // @ts-expect-error So is the id of a session.
  summary.sessionId satisfies number;
}
