/** Much of everything for the inspector: long lists, many phases and attempts, and evidence that is large. */
import type { Inspected } from "../browser/inspected.js";

const PHASES = 60;
const ATTEMPTS = 40;

/** The workflow of the session with many phases. */
export const LONG = {
  "metadata.json": JSON.stringify({
    workflow_type: "long_march",
    name: "Long march",
    description: "More phases than fit on a screen",
    version: "1.0.0",
    phases: Array.from({ length: PHASES }, (_, index) => ({
      phase_number: index + 1,
      phase_name:
        index % 7 === 3
          ? `Part ${index + 1}, whose name is much longer than the place that is there for it`
          : `Part ${index + 1}`,
    })),
  }),
  ...Object.fromEntries(
    Array.from({ length: PHASES }, (_, index) => [`phases/${index + 1}/phase.md`, `# Part ${index + 1}\n\nDo it.\n`]),
  ),
  "phases/20/gate-definition.yaml": `evidence_schema:
  percent: {type: integer, required: true, validator: percent_gte_100, description: "how much is done"}
`,
};

/** How much of it there is. */
export interface Crowd {
  readonly sessions: number;
  readonly waiting: number;
  /** The characters of one text in evidence. */
  readonly characters: number;
  /** The fields of one piece of evidence. */
  readonly fields: number;
}

/** So much that people see what goes wrong. Evidence has 10 MB at most. */
export const CROWD: Crowd = { sessions: 5000, waiting: 200, characters: 5_000_000, fields: 10_000 };

/** Makes it. Returns the ids of the session with many phases and of the one with large evidence. */
export async function crowd({ engine }: Inspected, { sessions, waiting, characters, fields }: Crowd) {
  const begin = async (workflowType: string, target: string) =>
    (await engine.start({ workflowType, target })).sessionId;
  for (let index = 0; index < sessions; index += 1) {
    const id = await begin(
      index % 3 === 0 ? "release.v2" : "change",
      `packages/part-${index % 40}/src/file-${index}.ts`,
    );
    if (index % 50 === 0) await engine.session(id).pause({});
  }
  const understood = { summary: "A change of which one of very many has to be approved.", files: ["src/a.ts"] };
  for (let index = 0; index < waiting; index += 1) {
    const id = await begin("change", `src/waiting/${"deep/".repeat(index % 12)}file-${index}.ts`);
    await engine.session(id).completePhase(1, understood);
    await engine.session(id).completePhase(2, { plan: `1. Change ${index}\n2. Test it`, reviewed: true });
  }
  const long = await begin("long_march", "docs/everything.md");
  for (let phase = 1; phase < 20; phase += 1) await engine.session(long).completePhase(phase, { done: true });
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    await engine.session(long).completePhase(20, { percent: attempt, note: `attempt ${attempt}` });
  }
  const large = await begin("long_march", "data/large.json");
  const many = Object.fromEntries(Array.from({ length: fields }, (_, index) => [`field_${index}`, index]));
  await engine.session(large).completePhase(1, { many });
  await engine
    .session(large)
    .completePhase(2, {
      log: "All work and no play. ".repeat(characters / 22),
      lines: "one line\n".repeat(characters / 90),
    });
  return { long, large };
}
