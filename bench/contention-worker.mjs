/**
 * A process that contends: `contention-worker <adapter> <place> <transitions> <shared | own> <session>…`. It makes so many
 * transitions one after the other, on sessions that it shares with other processes; or on all of its own sessions at the
 * same time. Begins when its standard input ends, and prints what it needed.
 */
import { createEngine, isPhasegateError, MemoryContent } from "phasegate";
import { ADAPTERS } from "./adapters.mjs";
import { refusingWorkflow } from "./contention-workflow.mjs";

const [adapter, place, transitions, whose, ...ids] = process.argv.slice(2);
const storage = await ADAPTERS[adapter].open(place);
const append = storage.append.bind(storage);
let conflicts = 0;
let longest = 0;
let refused = 0;
storage.append = async (commit) => {
  try {
    await append(commit);
  } catch (error) {
    if (isPhasegateError(error, "CONFLICT")) conflicts += 1;
    throw error;
  }
};
const content = new MemoryContent({ workflows: [refusingWorkflow] });
const engine = createEngine({ storage, content, limits: { maxAttempts: 1e9, maxAttemptsTotal: 1e9 } });
// Each process begins elsewhere, as agents do.
const offset = process.pid;
process.stdout.write("ready\n");
for await (const _ of process.stdin);
/** Makes a transition; again, if others came first too often. */
const submit = async (id) => {
  const begun = performance.now();
  for (let isMade = false; !isMade; ) {
    try {
      await engine.session(id).completePhase(1, { done: false, note: "x".repeat(1000) });
      isMade = true;
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT")) throw error;
      refused += 1;
    }
  }
  longest = Math.max(longest, performance.now() - begun);
};
if (whose === "shared") {
  for (let index = 0; index < Number(transitions); index += 1) await submit(ids[(offset + index) % ids.length]);
} else {
  const chain = async (id) => {
    for (let index = 0; index < Number(transitions) / ids.length; index += 1) await submit(id);
  };
  await Promise.all(ids.map(chain));
}
await engine.close();
process.stdout.write(`${JSON.stringify({ conflicts, refused, longest })}\n`);
