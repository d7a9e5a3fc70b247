/**
 * What it costs to keep an answer of about 6,000 tokens within its budget and to write it: one that fits, one that is paged,
 * one that is shortened. Against JSON.stringify of the same answer.
 */
import "../scripts/run-sources.mjs";
import { mediansInTurn, row, time } from "./measure.mjs";

const { fits, shrinkAnswer } = await import("../src/tools/wire.ts");
const { maxCharsFor } = await import("../src/tools/schemas.ts");
const { pageAnswer } = await import("../src/tools/pages.ts");

const MAX = maxCharsFor();
const LINE = '- The agent says what "done" means here, and shows it: `npm test` prints 12 passed.\n';

/** An answer about a phase, with a text of so many characters. */
function answerWith(characters) {
  const text = LINE.repeat(Math.ceil(characters / LINE.length));
  const tasks = Array.from({ length: 20 }, (_, index) => ({
    number: index + 1,
    name: `Task ${index + 1}`,
    done: false,
  }));
  return { status: "success", action: "get_phase", session_id: "a_session", phase: 2, content: text, tasks, next: {} };
}

const rules = { kept: new Set(["status", "action", "session_id"]), next: () => ({ action: "get_phase" }) };
const call = { call: () => ({ action: "get_phase", session_id: "a_session" }) };

/** Each case: an answer, and what is done with it. A new object each time, as each call has its own. */
const CASES = {
  "that fits": [answerWith(20_500), (answer) => JSON.stringify(fits(answer, MAX) ? answer : {})],
  "that is paged": [answerWith(24_000), (answer) => JSON.stringify(pageAnswer(answer, MAX, call))],
  "that is shortened": [
    answerWith(24_000),
    (answer) => JSON.stringify(fits(answer, MAX) ? answer : shrinkAnswer(answer, MAX, rules)),
  ],
};

/** What is paged, and how many characters of its JSON are on the first page. */
export function pagedCase() {
  const [answer] = CASES["that is paged"];
  return { answer, end: pageAnswer({ ...answer }, MAX, call).json_range.to };
}

export async function run() {
  const rows = [];
  for (const [what, [answer, work]] of Object.entries(CASES)) {
    const { length } = JSON.stringify(answer);
    const found = await mediansInTurn({
      bare: { fn: () => JSON.stringify({ ...answer }) },
      ours: { fn: () => work({ ...answer }) },
    });
    const tokens = Math.round(length / 4).toLocaleString("en");
    rows.push(
      row(
        `an answer of ${tokens} tokens ${what}`,
        time(found.ours.median),
        `JSON.stringify ${time(found.bare.median)}`,
        found.ours.ratio,
      ),
    );
  }
  return rows;
}
